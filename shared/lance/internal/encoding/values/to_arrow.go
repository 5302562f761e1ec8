package values

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
)

// ToArrow returns the array of decoded items. It shares their memory where Arrow has the same
// layout.
func ToArrow(t arrow.DataType, it *Items, valid *Bitmap) (arrow.Array, error) {
	data, err := leafData(StorageType(t), it, valid)
	if err != nil {
		return nil, err
	}
	if ext, ok := t.(arrow.ExtensionType); ok {
		data = array.NewData(ext, data.Len(), data.Buffers(), data.Children(), data.NullN(), data.Offset())
	}
	return array.MakeFromData(data), nil
}

func leafData(t arrow.DataType, it *Items, valid *Bitmap) (arrow.ArrayData, error) {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return dictionaryData(d, it, valid)
	}
	return valueData(t, it.Values, valid)
}

// validBuffer returns the validity buffer of an array, or nil if nothing is null.
func validBuffer(valid *Bitmap) *memory.Buffer {
	if valid == nil || valid.Bytes == nil {
		return nil
	}
	return memory.NewBufferBytes(valid.Bytes)
}

func nullsOf(valid *Bitmap) int {
	if valid == nil {
		return 0
	}
	return valid.Zeros
}

// valueData returns the data of an array of values; valid is nil if none is null.
func valueData(t arrow.DataType, v *Values, valid *Bitmap) (arrow.ArrayData, error) {
	if v.Shape.Kind == Opaque {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, v.N).Data(), nil
	}
	switch t := t.(type) {
	case *arrow.NullType:
		return array.NewNull(v.N).Data(), nil
	case *arrow.FixedSizeListType:
		return listData(t, v, valid, 0)
	case *arrow.StructType:
		return packedData(t, v, valid)
	case *arrow.StringType, *arrow.BinaryType:
		return variableData(t, v, valid, BytesOf(v.Offsets)), nil
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		wide := make([]int64, len(v.Offsets))
		for i, offset := range v.Offsets {
			wide[i] = int64(offset)
		}
		return variableData(t, v, valid, BytesOf(wide)), nil
	}
	return elementData(t, v.Fixed, v.N, valid), nil
}

// variableData builds strings or binaries. offsets has the width of the type's offsets.
func variableData(t arrow.DataType, v *Values, valid *Bitmap, offsets []byte) arrow.ArrayData {
	buffers := []*memory.Buffer{validBuffer(valid), memory.NewBufferBytes(offsets), memory.NewBufferBytes(v.Data)}
	return array.NewData(t, v.N, buffers, nil, nullsOf(valid), 0)
}

// elementData returns the data of an array of n elements of fixed width.
func elementData(t arrow.DataType, fixed []byte, n int, valid *Bitmap) arrow.ArrayData {
	if !isAligned(fixed, elementAlignment(t)) {
		fixed = append(AlignedBytes(len(fixed))[:0], fixed...)
	}
	buffers := []*memory.Buffer{validBuffer(valid), memory.NewBufferBytes(fixed)}
	return array.NewData(t, n, buffers, nil, nullsOf(valid), 0)
}

// elementAlignment returns the alignment that Go requires for a slice of such values.
func elementAlignment(t arrow.DataType) int {
	if fixed, ok := t.(arrow.FixedWidthDataType); ok && t.ID() != arrow.FIXED_SIZE_BINARY {
		switch bits := fixed.BitWidth(); {
		case bits >= 64:
			return 8
		case bits >= 8:
			return bits / 8
		}
	}
	return 1
}

// listData returns the data of an array of fixed-size lists, whose items have the
// validity that the values hold at this depth.
func listData(t *arrow.FixedSizeListType, v *Values, valid *Bitmap, depth int) (arrow.ArrayData, error) {
	n := v.N
	for _, dim := range v.Shape.Dims[:depth] {
		n *= dim
	}
	items := n * v.Shape.Dims[depth]
	var itemValid *Bitmap
	if v.Valid != nil {
		itemValid = &v.Valid[depth]
	}
	var child arrow.ArrayData
	elem := StorageType(t.Elem())
	if inner, ok := elem.(*arrow.FixedSizeListType); ok {
		var err error
		if child, err = listData(inner, v, itemValid, depth+1); err != nil {
			return nil, err
		}
	} else if elem.ID() == arrow.NULL {
		child = array.NewNull(items).Data()
	} else {
		child = elementData(elem, v.Fixed, items, itemValid)
	}
	if ext, ok := t.Elem().(arrow.ExtensionType); ok {
		child = array.NewData(ext, child.Len(), child.Buffers(), child.Children(), child.NullN(), 0)
	}
	return array.NewData(t, n, []*memory.Buffer{validBuffer(valid)}, []arrow.ArrayData{child}, nullsOf(valid), 0), nil
}

// packedData assembles structs from the members' values.
func packedData(t *arrow.StructType, v *Values, valid *Bitmap) (arrow.ArrayData, error) {
	if t.NumFields() == 0 {
		valid = nil // native writers do not note which of them are null
	}
	children := make([]arrow.ArrayData, t.NumFields())
	for i, f := range t.Fields() {
		child, err := ToArrow(f.Type, &Items{Values: v.Children[i]}, nil)
		if err != nil {
			return nil, err
		}
		children[i] = child.Data()
	}
	return array.NewData(t, v.N, []*memory.Buffer{validBuffer(valid)}, children, nullsOf(valid), 0), nil
}

// dictionaryData returns the data of a dictionary array.
func dictionaryData(t *arrow.DictionaryType, it *Items, valid *Bitmap) (arrow.ArrayData, error) {
	items, err := valueData(StorageType(t.ValueType), it.Values, nil)
	if err != nil {
		return nil, err
	}
	bits := t.IndexType.(arrow.FixedWidthDataType).BitWidth()
	if arrow.IsSignedInteger(t.IndexType.ID()) {
		bits--
	}
	if bits < 32 && it.Values.N > 1<<bits {
		return nil, fmt.Errorf("%w: %d items in one dictionary with indices of type %s", lance.ErrUnsupported, it.Values.N, t.IndexType)
	}
	var indices []byte
	switch t.IndexType.(arrow.FixedWidthDataType).BitWidth() {
	case 8:
		indices = narrowIndices[uint8](it.Indices)
	case 16:
		indices = narrowIndices[uint16](it.Indices)
	case 32:
		indices = BytesOf(slices.Clip(it.Indices))
	default:
		indices = narrowIndices[uint64](it.Indices)
	}
	buffers := []*memory.Buffer{validBuffer(valid), memory.NewBufferBytes(indices)}
	data := array.NewDataWithDictionary(t, len(it.Indices), buffers, nullsOf(valid), 0, items.(*array.Data))
	return data, nil
}

// narrowIndices returns indices as integers of another width; the caller has checked that they fit.
func narrowIndices[T uint8 | uint16 | uint64](indices []uint32) []byte {
	out := make([]T, len(indices))
	for i, index := range indices {
		out[i] = T(min(uint64(index), math.MaxUint32))
	}
	return BytesOf(out)
}
