package take

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// Bytes estimates the memory of the result of [Array] for a at the given positions, without the values of
// dictionaries, which are shared.
func Bytes(a arrow.Array, positions []int32) int64 {
	total := int64(0)
	for i := 0; i < len(positions); {
		n := 1
		for i+n < len(positions) && positions[i+n] == positions[i] {
			n++
		}
		if p := int(positions[i]); positions[i] != Null {
			total += int64(n) * span(a.Data(), p, p+1)
		} else {
			total += int64(n) * wordBytes
		}
		i += n
	}
	return total
}

// SliceBytes is Bytes for all positions of an array, which may be a slice of a larger one.
func SliceBytes(a arrow.Array) int64 { return span(a.Data(), 0, a.Len()) }

// wordBytes is the overhead of a value beside its content: its offset and its validity.
const wordBytes = 8

// span estimates the bytes of the values in [from, to).
func span(d arrow.ArrayData, from, to int) int64 {
	n := int64(to - from)
	switch t := d.DataType().(type) {
	case *arrow.NullType:
		return 0
	case *arrow.StringType, *arrow.BinaryType:
		offsets := offsetsOf[int32](d)
		return n*wordBytes + int64(offsets[to]-offsets[from])
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		offsets := offsetsOf[int64](d)
		return n*2*wordBytes + offsets[to] - offsets[from]
	case *arrow.ListType, *arrow.MapType:
		offsets := offsetsOf[int32](d)
		return n*wordBytes + span(d.Children()[0], int(offsets[from]), int(offsets[to]))
	case *arrow.LargeListType:
		offsets := offsetsOf[int64](d)
		return n*2*wordBytes + span(d.Children()[0], int(offsets[from]), int(offsets[to]))
	case *arrow.FixedSizeListType:
		width := int(t.Len())
		return n + span(d.Children()[0], (d.Offset()+from)*width, (d.Offset()+to)*width)
	case *arrow.StructType:
		total := n
		for _, child := range d.Children() {
			total += span(child, d.Offset()+from, d.Offset()+to)
		}
		return total
	case arrow.FixedWidthDataType:
		return n + n*int64(max(t.BitWidth(), 8)/8)
	}
	return n * wordBytes
}
