package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ShortText is the maximal length of texts whose work is counted per slice instead of per text.
const ShortText = 64

// AreLong reports whether n texts are longer than ShortText on average.
func (t Text) AreLong(n int) bool { return t.views != nil || t.Bytes() > (ShortText+8)*n }

// RowWork estimates the work for one row of a call that reads its arguments once.
func RowWork(args []Vec) int {
	work := 16
	for _, a := range args {
		switch a.Data.(type) {
		case Text, Lists:
			work += a.Bytes() / max(a.N, 1)
		}
	}
	return work
}

// Bytes returns the memory of the values, including memory shared with other values.
func (v Vec) Bytes() int {
	size := 8 * len(v.Valid)
	switch d := v.Data.(type) {
	case nil:
	case Bitset:
		size += 8 * len(d)
	case Text:
		size += d.Bytes()
	case Lists:
		size += 8*len(d.Off) + d.Elems.Bytes()
	case *array.Struct:
		size += int(d.Data().SizeInBytes())
	case []Half:
		size += 2 * len(d)
	default:
		size += len(fixedBytes(v.Data))
	}
	return size
}

// Bytes returns the memory of the texts.
func (t Text) Bytes() int {
	switch {
	case t.off32 != nil:
		return 4*len(t.off32) + int(t.off32[len(t.off32)-1]-t.off32[0])
	case t.off64 != nil:
		return 8*len(t.off64) + int(t.off64[len(t.off64)-1]-t.off64[0])
	case t.views != nil:
		return ViewBytes * len(t.views)
	}
	return len(t.data)
}

// ViewBytes is the size of the reference to a text that is stored elsewhere.
const ViewBytes = 24

// SlotBits returns the size of a value of a type in a Vec, with its validity bit but
// without its text or elements. fixed reports whether that is all of it.
func SlotBits(typ arrow.DataType) (bits int, fixed bool) {
	switch t := typ.(type) {
	case *arrow.BooleanType:
		return 2, true
	case *arrow.FixedSizeBinaryType:
		return t.BitWidth() + 1, true
	case arrow.FixedWidthDataType:
		if !IsNested(typ) {
			return t.BitWidth() + 1, true
		}
	case *arrow.NullType:
		return 1, true
	}
	return 65, false
}
