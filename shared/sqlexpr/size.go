package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// shortText is the length up to which texts are no work that counts, other than by the slice.
const shortText = 64

// areLong says whether n texts are longer than that on average.
func (t text) areLong(n int) bool { return t.views != nil || t.bytes() > (shortText+8)*n }

// rowWork is about how much work a row of a call is that looks at its arguments once.
func rowWork(args []vec) int {
	work := 16
	for _, a := range args {
		switch a.data.(type) {
		case text, lists:
			work += a.bytes() / max(a.n, 1)
		}
	}
	return work
}

// bytes is how much memory the values hold, be it shared with others or not.
func (v vec) bytes() int {
	size := 8 * len(v.valid)
	switch d := v.data.(type) {
	case nil:
	case bitset:
		size += 8 * len(d)
	case text:
		size += d.bytes()
	case lists:
		size += 8*len(d.off) + d.elems.bytes()
	case *array.Struct:
		size += int(d.Data().SizeInBytes())
	case []half:
		size += 2 * len(d)
	default:
		size += len(fixedBytes(v.data))
	}
	return size
}

func (t text) bytes() int {
	switch {
	case t.off32 != nil:
		return 4*len(t.off32) + int(t.off32[len(t.off32)-1]-t.off32[0])
	case t.off64 != nil:
		return 8*len(t.off64) + int(t.off64[len(t.off64)-1]-t.off64[0])
	case t.views != nil:
		return viewBytes * len(t.views)
	}
	return len(t.data)
}

// viewBytes is what a text that is elsewhere takes.
const viewBytes = 24

// slotBits is how much a value of a type takes in a vec beside its text or elements, with
// whether it is NULL, and whether that is all.
func slotBits(typ arrow.DataType) (bits int, fixed bool) {
	switch t := typ.(type) {
	case *arrow.BooleanType:
		return 2, true
	case *arrow.FixedSizeBinaryType:
		return t.BitWidth() + 1, true
	case arrow.FixedWidthDataType:
		if !isNested(typ) {
			return t.BitWidth() + 1, true
		}
	case *arrow.NullType:
		return 1, true
	}
	return 65, false
}
