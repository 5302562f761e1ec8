package sortkey

import (
	"bytes"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Bytes returns an upper bound of the total size of the keys of an array. It may exceed the size of an
// array with dictionaries many times, because each row counts with its value.
func Bytes(a arrow.Array) int64 {
	n := int64(a.Len())
	switch a := a.(type) {
	case *array.Dictionary:
		return n + dictionaryBytes(a)
	case array.ExtensionArray:
		return Bytes(a.Storage())
	case *array.Struct:
		for i := range a.NumField() {
			n += Bytes(a.Field(i))
		}
		return n
	case array.ListLike:
		of := items(a)
		return 2*n + int64(of.Len()) + Bytes(of)
	case *array.String:
		return textBytes(n, a.ValueBytes())
	case *array.LargeString:
		return textBytes(n, a.ValueBytes())
	case *array.Binary:
		return textBytes(n, a.ValueBytes())
	case *array.LargeBinary:
		return textBytes(n, a.ValueBytes())
	}
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		return n * int64(1+fixed.Bytes())
	}
	return n
}

// Keys returns the keys of n rows, and their approximate memory. write appends the key of a row to a block
// of at most most bytes.
func Keys(n int, most int64, write func(block []byte, row int) []byte) (keys [][]byte, bytes int64) {
	block, ends := make([]byte, 0, most), make([]int, n)
	for i := range n {
		block = write(block, i)
		ends[i] = len(block)
	}
	if cap(block) > 2*len(block) { // many values are NULL, and a Sorter counts the bytes of keys alone
		block = slices.Clone(block)
	}
	keys, start := make([][]byte, n), 0
	for i, end := range ends {
		keys[i], start = block[start:end:end], end
	}
	return keys, int64(cap(block)) + int64(n)*Overhead
}

// textBytes is Bytes for n texts.
func textBytes(n int64, text []byte) int64 {
	return 3*n + int64(len(text)) + int64(bytes.Count(text, []byte{0}))
}

// dictionaryBytes is Bytes for a dictionary array, without NULLs. It measures each used value once.
func dictionaryBytes(d *array.Dictionary) int64 {
	if fixed, ok := d.Dictionary().DataType().(arrow.FixedWidthDataType); ok && !arrow.IsNested(fixed.ID()) {
		return int64(d.Len()) * int64(1+fixed.Bytes())
	}
	uses := map[int]int64{}
	for i := range d.Len() {
		if d.IsValid(i) {
			uses[d.GetValueIndex(i)]++
		}
	}
	total := int64(0)
	for at, rows := range uses {
		total += rows * Bytes(array.NewSlice(d.Dictionary(), int64(at), int64(at+1)))
	}
	return total
}

// items returns the items of the lists in an array.
func items(a array.ListLike) arrow.Array {
	if a.Len() == 0 {
		return array.NewSlice(a.ListValues(), 0, 0)
	}
	from, _ := a.ValueOffsets(0)
	_, to := a.ValueOffsets(a.Len() - 1)
	return array.NewSlice(a.ListValues(), from, to)
}
