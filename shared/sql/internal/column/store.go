package column

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/internal/meter"
)

// Allocator allocates the buffers of assembled arrays.
var Allocator = memory.DefaultAllocator

// Array returns the Vec as an Arrow array of n rows. It shares memory where the layouts agree. Slots of
// NULLs are not cleared.
func (v Vec) Array(m *meter.Meter, n int) (arrow.Array, error) {
	if v.Const {
		if err := m.Take(8 * n); err != nil {
			return nil, err
		}
		slots := make([]int, n)
		valid := FullBitset(n)
		if v.IsNull(0) {
			valid = NewBitset(n)
			for i := range slots {
				slots[i] = -1
			}
		}
		typ := v.Type
		if d, ok := v.Data.(Lists); ok {
			all, err := repeatLists(m, d, n)
			if err != nil {
				return nil, err
			}
			return listArray(m, typ, all, valid)
		}
		var err error
		if v, err = v.Gather(m, slots, valid); err != nil {
			return nil, err
		}
		v.Type = typ
	}
	switch d := v.Data.(type) {
	case nil:
		return array.NewNull(n), nil
	case *array.Struct:
		return d, nil
	case Lists:
		return listArray(m, v.Type, d, v.Valid)
	case Text:
		return textArray(m, v.Type, d, n, v.Valid)
	case Bitset:
		return fixedArray(v.Type, d.bytes(), n, v.Valid), nil
	}
	return fixedArray(v.Type, fixedBytes(v.Data), n, v.Valid), nil
}

// fixedBytes returns the memory of values of fixed width.
func fixedBytes(data any) []byte {
	switch d := data.(type) {
	case []int8:
		return arrow.Int8Traits.CastToBytes(d)
	case []int16:
		return arrow.Int16Traits.CastToBytes(d)
	case []int32:
		return arrow.Int32Traits.CastToBytes(d)
	case []int64:
		return arrow.Int64Traits.CastToBytes(d)
	case []uint8:
		return d
	case []uint16:
		return arrow.Uint16Traits.CastToBytes(d)
	case []uint32:
		return arrow.Uint32Traits.CastToBytes(d)
	case []uint64:
		return arrow.Uint64Traits.CastToBytes(d)
	case []float32:
		return arrow.Float32Traits.CastToBytes(d)
	case []float64:
		return arrow.Float64Traits.CastToBytes(d)
	case []Half:
		out := make([]uint16, len(d))
		for i, h := range d {
			out[i] = uint16(h)
		}
		return arrow.Uint16Traits.CastToBytes(out)
	case []decimal128.Num:
		return arrow.Decimal128Traits.CastToBytes(d)
	case []decimal256.Num:
		return arrow.Decimal256Traits.CastToBytes(d)
	}
	return nil
}

// validity returns the validity bitmap of an array, nil if it has no NULLs, and the number
// of NULLs.
func validity(valid Bitset, n int) (*memory.Buffer, int) {
	if valid == nil {
		return nil, 0
	}
	return memory.NewBufferBytes(valid.bytes()), n - valid.Count()
}

// fixedArray returns an array with one buffer of values, which is not copied.
func fixedArray(typ arrow.DataType, values []byte, n int, valid Bitset) arrow.Array {
	bitmap, nulls := validity(valid, n)
	return array.MakeFromData(array.NewData(typ, n,
		[]*memory.Buffer{bitmap, memory.NewBufferBytes(values)}, nil, nulls, 0))
}

// textArray returns an array of strings or binaries, with the width of offsets of its type.
func textArray(m *meter.Meter, typ arrow.DataType, t Text, n int, valid Bitset) (arrow.Array, error) {
	if t.views != nil && typ.ID() != arrow.FIXED_SIZE_BINARY {
		var err error
		if t, err = t.gather(m, SlotsFrom(0, n)); err != nil {
			return nil, err
		}
	}
	if err := m.Take(8 * n); err != nil { // offsets of another width, and the validity bitmap
		return nil, err
	}
	bitmap, nulls := validity(valid, n)
	var off []byte
	switch id := typ.ID(); {
	case id == arrow.FIXED_SIZE_BINARY:
		values, err := fixedWidthBytes(m, t, typ.(*arrow.FixedSizeBinaryType).ByteWidth, n, valid)
		return fixedArray(typ, values, n, valid), err
	case id == arrow.LARGE_STRING || id == arrow.LARGE_BINARY:
		off64 := t.off64
		if off64 == nil {
			off64 = make([]int64, n+1)
			for i := range off64 {
				off64[i] = int64(t.off32[i])
			}
		}
		off = arrow.Int64Traits.CastToBytes(off64)
	default:
		off32 := t.off32
		if off32 == nil {
			if t.off64[n] > math.MaxInt32 {
				return nil, m.TooMuch("result of more than 2 GiB of text")
			}
			off32 = make([]int32, n+1)
			for i := range off32 {
				off32[i] = int32(t.off64[i])
			}
		}
		off = arrow.Int32Traits.CastToBytes(off32)
	}
	return array.MakeFromData(array.NewData(typ, n,
		[]*memory.Buffer{bitmap, memory.NewBufferBytes(off), memory.NewBufferBytes(t.data)}, nil, nulls, 0)), nil
}

// fixedWidthBytes copies values of one width to a contiguous buffer, with zeros for NULLs.
func fixedWidthBytes(m *meter.Meter, t Text, width, n int, valid Bitset) ([]byte, error) {
	if t.width == width {
		return t.data[:n*width], nil
	}
	if err := m.Take(n * width); err != nil {
		return nil, err
	}
	out := make([]byte, n*width)
	for i := range n {
		if valid == nil || valid.Has(i) {
			copy(out[i*width:(i+1)*width], t.At(i))
		}
	}
	return out, nil
}

// repeatLists returns n copies of the list of a constant.
func repeatLists(m *meter.Meter, l Lists, n int) (Lists, error) {
	size := int(l.Off[1] - l.Off[0])
	if n*size > maxElements {
		return Lists{}, m.TooMuch("lists of more than %d elements", maxElements)
	}
	if err := m.Take(8 * (n*size + n)); err != nil {
		return Lists{}, err
	}
	out := Lists{Off: make([]int64, n+1)}
	slots := make([]int, 0, n*size)
	valid := FullBitset(n * size)
	for i := range n {
		for j := range size {
			slot := int(l.Off[0]) + j
			if l.Elems.IsNull(slot) {
				valid.Clear(len(slots))
				slot = -1
			}
			slots = append(slots, slot)
		}
		out.Off[i+1] = int64(len(slots))
	}
	var err error
	out.Elems, err = l.Elems.Gather(m, slots, valid)
	return out, err
}

// listArray returns an array of lists or maps. For a type of fixed size, the lists that are not NULL
// must have that size.
func listArray(m *meter.Meter, typ arrow.DataType, l Lists, valid Bitset) (arrow.Array, error) {
	if fixed, ok := typ.(*arrow.FixedSizeListType); ok {
		var err error
		if l, err = l.padded(m, int(fixed.Len()), valid); err != nil {
			return nil, err
		}
	}
	elems, err := l.Elems.Array(m, l.Elems.N)
	if err != nil {
		return nil, err
	}
	n := len(l.Off) - 1
	if err := m.Take(8 * n); err != nil {
		return nil, err
	}
	bitmap, nulls := validity(valid, n)
	buffers := []*memory.Buffer{bitmap}
	switch typ.ID() {
	case arrow.LARGE_LIST:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(l.Off)))
	case arrow.LIST, arrow.MAP:
		if l.Off[n] > math.MaxInt32 {
			return nil, m.TooMuch("lists of more than %d elements", math.MaxInt32)
		}
		off := make([]int32, n+1)
		for i := range off {
			off[i] = int32(l.Off[i])
		}
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(off)))
	case arrow.FIXED_SIZE_LIST:
		size := int64(typ.(*arrow.FixedSizeListType).Len())
		elems = array.NewSlice(elems, l.Off[0], l.Off[0]+int64(n)*size)
	}
	return array.MakeFromData(array.NewData(typ, n, buffers, []arrow.ArrayData{elems.Data()}, nulls, 0)), nil
}

// padded returns lists that all have size elements, also where a list is NULL.
func (l Lists) padded(m *meter.Meter, size int, valid Bitset) (Lists, error) {
	n := len(l.Off) - 1
	fits := true
	for i := range n {
		fits = fits && l.Off[i+1]-l.Off[i] == int64(size)
	}
	if fits {
		return l, nil
	}
	if n*size > maxElements {
		return Lists{}, m.TooMuch("lists of more than %d elements", maxElements)
	}
	if err := m.Take(8 * (n*size + n)); err != nil {
		return Lists{}, err
	}
	slots := make([]int, n*size)
	has := NewBitset(n * size)
	out := Lists{Off: make([]int64, n+1)}
	for i := range n {
		for j := range size {
			at := i*size + j
			slots[at] = -1
			if slot := int(l.Off[i]) + j; valid == nil || valid.Has(i) {
				slots[at] = slot
				if !l.Elems.IsNull(slot) {
					has.Set(at)
				}
			}
		}
		out.Off[i+1] = int64((i + 1) * size)
	}
	var err error
	out.Elems, err = l.Elems.Gather(m, slots, has)
	return out, err
}
