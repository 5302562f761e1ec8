package arrowipc

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// This file decodes the layouts of arrays, except views. Each function consumes the buffers
// after the validity bitmap, and the children.

// fixed decodes values that take size bytes together.
func (d *decoder) fixed(a *arrayParts, size int64) error {
	buf, err := d.buffer(a.node, size)
	if err != nil {
		return err
	}
	a.add(buf[:size])
	return checkDecimals(a, buf[:size])
}

// checkDecimals refuses values with more digits than the precision of their type, because other readers may
// misread them or fail.
func checkDecimals(a *arrayParts, buf []byte) error {
	var precision int32
	var fits func(at int) bool
	switch t := a.dtype.(type) {
	case *arrow.Decimal128Type:
		values, bound := arrow.Decimal128Traits.CastFromBytes(buf), decimal128.GetScaleMultiplier(int(t.Precision))
		low := bound.Negate() // the smallest number has no absolute value
		precision, fits = t.Precision, func(at int) bool { return low.Less(values[at]) && values[at].Less(bound) }
	case *arrow.Decimal256Type:
		values, bound := arrow.Decimal256Traits.CastFromBytes(buf), decimal256.GetScaleMultiplier(int(t.Precision))
		low := bound.Negate()
		precision, fits = t.Precision, func(at int) bool { return low.Less(values[at]) && values[at].Less(bound) }
	default:
		return nil
	}
	for i := range int(a.length) {
		if !a.isNull(i) && !fits(i) {
			return invalid(a.node, "value %d has more than the %d digits of its type", i, precision)
		}
	}
	return nil
}

// offsets decodes length+1 ascending offsets, and returns the last. The first need not be 0. An empty array
// without offsets gets an offset of 0, because much code reads the first offset without a check.
func (d *decoder) offsets(a *arrayParts) (buf []byte, last int64, err error) {
	size := (a.length + 1) * a.width
	if a.length == 0 {
		_, err = d.buffer(a.node, 0)
		buf = make([]byte, size)
	} else {
		buf, err = d.buffer(a.node, size)
	}
	if err != nil {
		return nil, 0, err
	}
	buf = buf[:size]
	var bad int
	if a.width == 4 {
		last, bad = checkOffsets(typed[int32](buf))
	} else {
		last, bad = checkOffsets(typed[int64](buf))
	}
	if bad >= 0 {
		return nil, 0, invalid(a.node, "offset %d is negative or smaller than the one before it", bad)
	}
	a.add(buf)
	return buf, last, nil
}

// binary decodes strings or bytes.
func (d *decoder) binary(a *arrayParts) error {
	offsets, last, err := d.offsets(a)
	if err != nil {
		return err
	}
	data, err := d.buffer(a.node, last)
	if err != nil {
		return err
	}
	data = data[:last]
	if a.text && a.width == 4 {
		data, err = checkText(d, a, data, typed[int32](offsets))
	} else if a.text {
		data, err = checkText(d, a, data, typed[int64](offsets))
	}
	if err != nil {
		return err
	}
	a.add(data)
	return nil
}

// checkText returns the data of strings after a check that they are UTF-8. The bytes of null slots are
// arbitrary; invalid ones are replaced by zeros in a copy.
func checkText[T offset](d *decoder, a *arrayParts, data []byte, offsets []T) ([]byte, error) {
	if wholeUTF8(data, offsets) {
		return data, nil
	}
	own := false
	for i := findInvalid(data, offsets, 0); i >= 0; i = findInvalid(data, offsets, i+1) {
		if !a.isNull(i) {
			return nil, invalid(a.node, "the string in row %d is not valid UTF-8", i)
		}
		if !own {
			c, err := d.copied(a.node, data)
			if err != nil {
				return nil, err
			}
			data, own = c, true
		}
		clear(data[offsets[i]:offsets[i+1]])
	}
	return data, nil
}

// list decodes lists and maps.
func (d *decoder) list(a *arrayParts) error {
	_, last, err := d.offsets(a)
	if err != nil {
		return err
	}
	if err := d.child(a, a.children[0], last); err != nil {
		return err
	}
	if a.layout != layoutMap {
		return nil
	}
	// The format forbids these nulls, and the library panics on them.
	entries := a.childData[0]
	if entries.NullN() != 0 || entries.Children()[0].NullN() != 0 {
		return invalid(a.node, "a map with null entries or null keys")
	}
	return nil
}

func (d *decoder) child(a *arrayParts, n *node, length int64) error {
	data, err := d.array(n, length)
	if err != nil {
		return err
	}
	a.childData = append(a.childData, data)
	return nil
}

// indices decodes the indices of a dictionary-encoded array.
func (d *decoder) indices(a *arrayParts) error {
	size, err := product(a.node, a.length, a.width)
	if err != nil {
		return err
	}
	buf, err := d.buffer(a.node, size)
	if err != nil {
		return err
	}
	values, err := d.dictionary(a)
	if err != nil {
		return err
	}
	a.dictionary = values.(*array.Data)
	if buf, err = d.checkIndices(a, buf[:size], values.Len()); err != nil {
		return err
	}
	a.add(buf)
	return nil
}

// dictionary returns the values of the dictionary of a. A column of nulls may lack a dictionary, and then
// gets an empty one.
func (d *decoder) dictionary(a *arrayParts) (arrow.ArrayData, error) {
	if a.dict.data != nil {
		return a.dict.data, nil
	}
	if int64(a.nulls) != a.length {
		return nil, invalid(a.node, "its dictionary has not been sent")
	}
	nothing := decoder{reader: d.reader, absent: true}
	return nothing.array(a.dict.values, 0)
}

// checkIndices returns the indices after a check that all are below n, the size of the dictionary. The
// indices of nulls are arbitrary; invalid ones are replaced by 0 in a copy, in case other code reads them.
func (d *decoder) checkIndices(a *arrayParts, buf []byte, n int) ([]byte, error) {
	find := finder(buf, a.dtype.(*arrow.DictionaryType).IndexType, uint64(n))
	own := false
	for i := find(0); i >= 0; i = find(i + 1) {
		if !a.isNull(i) {
			return nil, invalid(a.node, "the index in row %d is outside its dictionary of %d values", i, n)
		}
		if !own {
			c, err := d.copied(a.node, buf)
			if err != nil {
				return nil, err
			}
			buf, own = c, true
			find = finder(buf, a.dtype.(*arrow.DictionaryType).IndexType, uint64(n))
		}
		clear(buf[int64(i)*a.width:][:a.width])
	}
	return buf, nil
}

// finder returns a function that finds the first index outside [0, n), beginning at a position. That
// function returns the index's position, or -1.
func finder(buf []byte, index arrow.DataType, n uint64) func(from int) int {
	switch index.ID() {
	case arrow.INT8:
		return func(from int) int { return findOutside(typed[int8](buf), from, n) }
	case arrow.INT16:
		return func(from int) int { return findOutside(typed[int16](buf), from, n) }
	case arrow.INT32:
		return func(from int) int { return findOutside(typed[int32](buf), from, n) }
	case arrow.INT64:
		return func(from int) int { return findOutside(typed[int64](buf), from, n) }
	case arrow.UINT8:
		return func(from int) int { return findOutside(buf, from, n) }
	case arrow.UINT16:
		return func(from int) int { return findOutside(typed[uint16](buf), from, n) }
	case arrow.UINT32:
		return func(from int) int { return findOutside(typed[uint32](buf), from, n) }
	}
	return func(from int) int { return findOutside(typed[uint64](buf), from, n) }
}

// typed returns buf, which must be aligned, as a slice of T.
func typed[T integer](buf []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(buf))), len(buf)/int(unsafe.Sizeof(zero)))
}
