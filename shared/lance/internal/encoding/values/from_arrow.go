package values

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance"
)

// A Span is a run of slots of an array: [from, to).
type Span struct{ From, To int }

// Storage returns the array below all extension types of an array.
func Storage(arr arrow.Array) arrow.Array {
	for {
		ext, ok := arr.(array.ExtensionArray)
		if !ok {
			return arr
		}
		arr = ext.Storage()
	}
}

// SlotBytes estimates the memory of the values in these slots.
func SlotBytes(arr arrow.Array, s *Shape, spans []Span) int {
	size := 0
	for _, sp := range spans {
		size += (sp.To - sp.From) * (s.ValueBits() + 7) / 8
		if s.Kind == Variable && sp.From < sp.To {
			size += 4*(sp.To-sp.From) + stringBytes(arr, sp)
		}
	}
	return size
}

// stringBytes returns the total length of the strings or binaries in a span.
func stringBytes(arr arrow.Array, sp Span) int {
	at := arr.Data().Offset()
	switch a := arr.(type) {
	case array.ViewLike:
		size := 0
		for i := sp.From; i < sp.To; i++ {
			size += a.ValueHeader(i).Len()
		}
		return size
	case *array.LargeString, *array.LargeBinary:
		offsets := ViewAs[int64](BufferBytes(arr, 1))[at:]
		return int(offsets[sp.To] - offsets[sp.From])
	default:
		offsets := ViewAs[int32](BufferBytes(arr, 1))[at:]
		return int(offsets[sp.To] - offsets[sp.From])
	}
}

// AppendArray appends the values in the given slots of arr. cut holds a level per slot; a level
// other than 0 marks a null or cut-off value, for which zeros or an empty string are appended. Nil
// means all levels are 0.
func (v *Values) AppendArray(arr arrow.Array, spans []Span, cut []uint16) error {
	first := v.N
	for _, sp := range spans {
		switch v.Shape.Kind {
		case Null:
			v.N += sp.To - sp.From
		case Fixed:
			v.appendFixedArray(arr, sp)
		case Variable:
			n := sp.To - sp.From
			if err := v.appendStringArray(arr, sp, cut); err != nil {
				return err
			}
			if cut != nil {
				cut = cut[n:]
			}
		}
	}
	if v.Shape.Kind == Fixed && cut != nil {
		v.clearCut(first, cut)
	}
	return nil
}

// appendFixedArray appends a run of fixed values, with the validity of list items.
func (v *Values) appendFixedArray(arr arrow.Array, sp Span) {
	n, from := sp.To-sp.From, arr.Data().Offset()+sp.From
	items := 1
	for depth, dim := range v.Shape.Dims {
		list := arr.(*array.FixedSizeList)
		arr = Storage(list.ListValues())
		items *= dim
		from = arr.Data().Offset() + from*dim
		if arr.NullN() > 0 {
			v.NeedValidity()
			v.Valid[depth].AppendBits(arr.NullBitmapBytes(), from, from+n*items)
		} else if v.Valid != nil {
			v.Valid[depth].AppendOnes(n * items)
		}
	}
	src := BufferBytes(arr, 1)
	if v.Shape.Bits == 1 {
		v.AppendFixedBits(src, from, n*items)
		v.N += n
		return
	}
	size := v.Shape.Bits / 8
	v.AppendFixed(src[from*size:(from+n*items)*size], n)
}

// BufferBytes returns the i-th buffer of an array, or nil if the array has none.
func BufferBytes(arr arrow.Array, i int) []byte {
	if b := arr.Data().Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

// clearCut zeroes the cut-off values. cut begins with the level of value first.
func (v *Values) clearCut(first int, cut []uint16) {
	bits := v.Shape.ValueBits()
	for i, level := range cut {
		switch {
		case level == 0:
		case v.Shape.Bits == 1:
			bitutil.SetBitsTo(v.Fixed, int64((first+i)*bits), int64(bits), false)
		default:
			clear(v.Fixed[(first+i)*bits/8:][:bits/8])
		}
	}
}

// appendStringArray appends a run of variable values.
func (v *Values) appendStringArray(arr arrow.Array, sp Span, cut []uint16) error {
	switch a := arr.(type) {
	case array.ViewLike:
		return v.appendEach(sp, cut, func(i int) []byte { return viewBytes(a, i) })
	case *array.LargeString, *array.LargeBinary:
		return appendOffsets(v, ViewAs[int64](BufferBytes(arr, 1)), arr, sp, cut)
	default:
		return appendOffsets(v, ViewAs[int32](BufferBytes(arr, 1)), arr, sp, cut)
	}
}

func viewBytes(a array.ViewLike, i int) []byte {
	switch a := a.(type) {
	case *array.StringView:
		return []byte(a.Value(i))
	case *array.BinaryView:
		return a.Value(i)
	}
	return nil
}

// appendOffsets appends strings with offsets: a whole span at once if no cut-off value has bytes.
func appendOffsets[O int32 | int64](v *Values, offsets []O, arr arrow.Array, sp Span, cut []uint16) error {
	if sp.From == sp.To {
		return nil
	}
	data := BufferBytes(arr, 2)
	offsets = offsets[arr.Data().Offset():]
	if cut != nil && !allEmpty(offsets[sp.From:sp.To+1], cut) {
		return v.appendEach(sp, cut, func(i int) []byte { return data[offsets[i]:offsets[i+1]] })
	}
	start, end := offsets[sp.From], offsets[sp.To]
	if int64(end-start)+int64(len(v.Data)) > math.MaxInt32 {
		return errPageTooLarge
	}
	shift := len(v.Data) - int(start)
	v.Data = append(v.Data, data[start:end]...)
	v.N += sp.To - sp.From
	v.Offsets = slices.Grow(v.Offsets, sp.To-sp.From)[:v.N+1]
	ends := v.Offsets[v.N+1-(sp.To-sp.From):]
	for i, end := range offsets[sp.From+1 : sp.To+1] {
		ends[i] = int32(int(end) + shift)
	}
	return nil
}

// allEmpty reports whether all values that are cut off have no bytes, which is the usual case.
func allEmpty[O int32 | int64](offsets []O, cut []uint16) bool {
	for i, level := range cut[:len(offsets)-1] {
		if level != 0 && offsets[i] != offsets[i+1] {
			return false
		}
	}
	return true
}

var errPageTooLarge = fmt.Errorf("%w: a row of more than 2 GiB", lance.ErrUnsupported)

// appendEach appends the values of a span one by one, empty where cut marks them.
func (v *Values) appendEach(sp Span, cut []uint16, value func(i int) []byte) error {
	for i := sp.From; i < sp.To; i++ {
		if cut == nil || cut[i-sp.From] == 0 {
			b := value(i)
			if len(v.Data)+len(b) > math.MaxInt32 {
				return errPageTooLarge
			}
			v.Data = append(v.Data, b...)
		}
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
		v.N++
	}
	return nil
}
