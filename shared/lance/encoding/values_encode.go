package encoding

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance"
)

// checkLeaf makes sure that an array has the type of the leaf it is for; views stand in
// for the types of strings that they are stored as.
func checkLeaf(arr arrow.Array, leaf *Leaf) error {
	if sameLeafType(arr.DataType(), leaf.Type) {
		return nil
	}
	return fmt.Errorf("field %q: array of type %s does not fit the schema's %s", leaf.Name, arr.DataType(), leaf.Type)
}

func sameLeafType(got, want arrow.DataType) bool {
	if list, ok := want.(*arrow.FixedSizeListType); ok {
		// The names and the nullability of items do not matter.
		gotList, ok := got.(*arrow.FixedSizeListType)
		return ok && gotList.Len() == list.Len() && sameLeafType(storageType(gotList.Elem()), storageType(list.Elem()))
	}
	if st, ok := want.(*arrow.StructType); ok {
		return sameMembers(got, st)
	}
	switch got.ID() {
	case arrow.STRING_VIEW:
		got = arrow.BinaryTypes.String
	case arrow.BINARY_VIEW:
		got = arrow.BinaryTypes.Binary
	}
	return arrow.TypeEqual(got, want)
}

// sameMembers is sameLeafType for packed structs.
func sameMembers(got arrow.DataType, want *arrow.StructType) bool {
	gotStruct, ok := got.(*arrow.StructType)
	if !ok || gotStruct.NumFields() != want.NumFields() {
		return false
	}
	for i, f := range want.Fields() {
		member := gotStruct.Field(i)
		if member.Name != f.Name || !sameLeafType(storageType(member.Type), storageType(f.Type)) {
			return false
		}
	}
	return true
}

func storageType(t arrow.DataType) arrow.DataType {
	for {
		ext, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = ext.StorageType()
	}
}

// slotBytes returns how much memory the values in these slots take, about.
func slotBytes(arr arrow.Array, s *shape, spans []span) int {
	size := 0
	for _, sp := range spans {
		size += (sp.to - sp.from) * (s.valueBits() + 7) / 8
		if s.kind == shapeVariable && sp.from < sp.to {
			size += 4*(sp.to-sp.from) + stringBytes(arr, sp)
		}
	}
	return size
}

func stringBytes(arr arrow.Array, sp span) int {
	at := arr.Data().Offset()
	switch a := arr.(type) {
	case array.ViewLike:
		size := 0
		for i := sp.from; i < sp.to; i++ {
			size += a.ValueHeader(i).Len()
		}
		return size
	case *array.LargeString, *array.LargeBinary:
		offsets := viewAs[int64](bufferBytes(arr, 1))[at:]
		return int(offsets[sp.to] - offsets[sp.from])
	default:
		offsets := viewAs[int32](bufferBytes(arr, 1))[at:]
		return int(offsets[sp.to] - offsets[sp.from])
	}
}

// appendArray appends the values in the given slots of arr. cut has a level for each
// slot, other than 0 where the value is null or cut off: what is stored there is zeros
// or an empty string, whatever arr holds. A nil cut is all 0.
func (v *values) appendArray(arr arrow.Array, spans []span, cut []uint16) error {
	first := v.n
	for _, sp := range spans {
		switch v.shape.kind {
		case shapeNull:
			v.n += sp.to - sp.from
		case shapeFixed:
			v.appendFixedArray(arr, sp)
		case shapeVariable:
			n := sp.to - sp.from
			if err := v.appendStringArray(arr, sp, cut); err != nil {
				return err
			}
			if cut != nil {
				cut = cut[n:]
			}
		}
	}
	if v.shape.kind == shapeFixed && cut != nil {
		v.clearCut(first, cut)
	}
	return nil
}

// appendFixedArray appends a run of fixed values, with the validity of list items.
func (v *values) appendFixedArray(arr arrow.Array, sp span) {
	n, from := sp.to-sp.from, arr.Data().Offset()+sp.from
	items := 1
	for depth, dim := range v.shape.dims {
		list := arr.(*array.FixedSizeList)
		arr = storage(list.ListValues())
		items *= dim
		from = arr.Data().Offset() + from*dim
		if arr.NullN() > 0 {
			v.needValidity()
			v.valid[depth].appendBits(arr.NullBitmapBytes(), from, from+n*items)
		} else if v.valid != nil {
			v.valid[depth].appendOnes(n * items)
		}
	}
	src := bufferBytes(arr, 1)
	if v.shape.bits == 1 {
		v.appendFixedBits(src, from, n*items)
		v.n += n
		return
	}
	size := v.shape.bits / 8
	v.appendFixed(src[from*size:(from+n*items)*size], n)
}

func bufferBytes(arr arrow.Array, i int) []byte {
	if b := arr.Data().Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

// clearCut puts zeros where a value, counted from first, is cut off.
func (v *values) clearCut(first int, cut []uint16) {
	bits := v.shape.valueBits()
	for i, level := range cut {
		switch {
		case level == 0:
		case v.shape.bits == 1:
			bitutil.SetBitsTo(v.fixed, int64((first+i)*bits), int64(bits), false)
		default:
			clear(v.fixed[(first+i)*bits/8:][:bits/8])
		}
	}
}

// appendStringArray appends a run of variable values.
func (v *values) appendStringArray(arr arrow.Array, sp span, cut []uint16) error {
	switch a := arr.(type) {
	case array.ViewLike:
		return v.appendEach(sp, cut, func(i int) []byte { return viewBytes(a, i) })
	case *array.LargeString, *array.LargeBinary:
		return appendOffsets(v, viewAs[int64](bufferBytes(arr, 1)), arr, sp, cut)
	default:
		return appendOffsets(v, viewAs[int32](bufferBytes(arr, 1)), arr, sp, cut)
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

func appendOffsets[O int32 | int64](v *values, offsets []O, arr arrow.Array, sp span, cut []uint16) error {
	if sp.from == sp.to {
		return nil
	}
	data := bufferBytes(arr, 2)
	offsets = offsets[arr.Data().Offset():]
	if cut != nil && !allEmpty(offsets[sp.from:sp.to+1], cut) {
		return v.appendEach(sp, cut, func(i int) []byte { return data[offsets[i]:offsets[i+1]] })
	}
	start, end := offsets[sp.from], offsets[sp.to]
	if int64(end-start)+int64(len(v.data)) > math.MaxInt32 {
		return errPageTooLarge
	}
	shift := len(v.data) - int(start)
	v.data = append(v.data, data[start:end]...)
	v.n += sp.to - sp.from
	v.offsets = slices.Grow(v.offsets, sp.to-sp.from)[:v.n+1]
	ends := v.offsets[v.n+1-(sp.to-sp.from):]
	for i, end := range offsets[sp.from+1 : sp.to+1] {
		ends[i] = int32(int(end) + shift)
	}
	return nil
}

// allEmpty reports whether the values that are cut off have no bytes, as they mostly do.
func allEmpty[O int32 | int64](offsets []O, cut []uint16) bool {
	for i, level := range cut[:len(offsets)-1] {
		if level != 0 && offsets[i] != offsets[i+1] {
			return false
		}
	}
	return true
}

var errPageTooLarge = fmt.Errorf("%w: a row of more than 2 GiB", lance.ErrUnsupported)

func (v *values) appendEach(sp span, cut []uint16, value func(i int) []byte) error {
	for i := sp.from; i < sp.to; i++ {
		if cut == nil || cut[i-sp.from] == 0 {
			b := value(i)
			if len(v.data)+len(b) > math.MaxInt32 {
				return errPageTooLarge
			}
			v.data = append(v.data, b...)
		}
		v.offsets = append(v.offsets, int32(len(v.data)))
		v.n++
	}
	return nil
}

// reset forgets all values and keeps the memory.
func (v *values) reset() {
	v.n, v.fixed, v.data, v.valid = 0, v.fixed[:0], v.data[:0], nil
	if v.shape.kind == shapeVariable {
		v.offsets = v.offsets[:1]
	}
}

// bytes returns the i-th value, which has whole bytes. The slice is v's own.
func (v *values) bytes(i int) []byte {
	if v.shape.kind == shapeVariable {
		return v.data[v.offsets[i]:v.offsets[i+1]]
	}
	size := v.shape.valueBits() / 8
	return v.fixed[i*size : (i+1)*size]
}

// longest returns the size of the longest value in bytes.
func (v *values) longest() int {
	if v.shape.kind != shapeVariable {
		return (v.shape.valueBits() + 7) / 8
	}
	longest := int32(0)
	for i := 1; i < len(v.offsets); i++ {
		longest = max(longest, v.offsets[i]-v.offsets[i-1])
	}
	return int(longest)
}

// memory returns how many bytes v holds.
func (v *values) memory() int { return len(v.fixed) + len(v.data) + 4*len(v.offsets) }
