package encoding

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
)

// buildLeaf returns the array of decoded items. It shares their memory where Arrow lays
// values out in the same way.
func buildLeaf(t arrow.DataType, it *Items, valid *bitmap) (arrow.Array, error) {
	data, err := leafData(storageType(t), it, valid)
	if err != nil {
		return nil, err
	}
	if ext, ok := t.(arrow.ExtensionType); ok {
		data = array.NewData(ext, data.Len(), data.Buffers(), data.Children(), data.NullN(), data.Offset())
	}
	return array.MakeFromData(data), nil
}

func leafData(t arrow.DataType, it *Items, valid *bitmap) (arrow.ArrayData, error) {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return dictionaryData(d, it, valid)
	}
	return valueData(t, it.values, valid)
}

// validBuffer returns the validity of an array, nil when nothing is null.
func validBuffer(valid *bitmap) *memory.Buffer {
	if valid == nil || valid.bytes == nil {
		return nil
	}
	return memory.NewBufferBytes(valid.bytes)
}

func nullsOf(valid *bitmap) int {
	if valid == nil {
		return 0
	}
	return valid.zeros
}

// valueData returns the data of an array of values; valid is nil when none is null.
func valueData(t arrow.DataType, v *values, valid *bitmap) (arrow.ArrayData, error) {
	if v.shape.kind == shapeOpaque {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, v.n).Data(), nil
	}
	switch t := t.(type) {
	case *arrow.NullType:
		return array.NewNull(v.n).Data(), nil
	case *arrow.FixedSizeListType:
		return listData(t, v, valid, 0)
	case *arrow.StructType:
		return packedData(t, v, valid)
	case *arrow.StringType, *arrow.BinaryType:
		return variableData(t, v, valid, bytesOf(v.offsets)), nil
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		wide := make([]int64, len(v.offsets))
		for i, offset := range v.offsets {
			wide[i] = int64(offset)
		}
		return variableData(t, v, valid, bytesOf(wide)), nil
	}
	return elementData(t, v.fixed, v.n, valid), nil
}

func variableData(t arrow.DataType, v *values, valid *bitmap, offsets []byte) arrow.ArrayData {
	buffers := []*memory.Buffer{validBuffer(valid), memory.NewBufferBytes(offsets), memory.NewBufferBytes(v.data)}
	return array.NewData(t, v.n, buffers, nil, nullsOf(valid), 0)
}

// elementData returns the data of an array of n elements of fixed width.
func elementData(t arrow.DataType, fixed []byte, n int, valid *bitmap) arrow.ArrayData {
	if !isAligned(fixed, elementAlignment(t)) {
		fixed = append(alignedBytes(len(fixed))[:0], fixed...)
	}
	buffers := []*memory.Buffer{validBuffer(valid), memory.NewBufferBytes(fixed)}
	return array.NewData(t, n, buffers, nil, nullsOf(valid), 0)
}

// elementAlignment is what Go asks of the memory of a slice of such values.
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
func listData(t *arrow.FixedSizeListType, v *values, valid *bitmap, depth int) (arrow.ArrayData, error) {
	n := v.n
	for _, dim := range v.shape.dims[:depth] {
		n *= dim
	}
	items := n * v.shape.dims[depth]
	var itemValid *bitmap
	if v.valid != nil {
		itemValid = &v.valid[depth]
	}
	var child arrow.ArrayData
	elem := storageType(t.Elem())
	if inner, ok := elem.(*arrow.FixedSizeListType); ok {
		var err error
		if child, err = listData(inner, v, itemValid, depth+1); err != nil {
			return nil, err
		}
	} else if elem.ID() == arrow.NULL {
		child = array.NewNull(items).Data()
	} else {
		child = elementData(elem, v.fixed, items, itemValid)
	}
	if ext, ok := t.Elem().(arrow.ExtensionType); ok {
		child = array.NewData(ext, child.Len(), child.Buffers(), child.Children(), child.NullN(), 0)
	}
	return array.NewData(t, n, []*memory.Buffer{validBuffer(valid)}, []arrow.ArrayData{child}, nullsOf(valid), 0), nil
}

func packedData(t *arrow.StructType, v *values, valid *bitmap) (arrow.ArrayData, error) {
	if t.NumFields() == 0 {
		valid = nil // native writers do not note which of them are null
	}
	children := make([]arrow.ArrayData, t.NumFields())
	for i, f := range t.Fields() {
		child, err := buildLeaf(f.Type, &Items{values: v.children[i]}, nil)
		if err != nil {
			return nil, err
		}
		children[i] = child.Data()
	}
	return array.NewData(t, v.n, []*memory.Buffer{validBuffer(valid)}, children, nullsOf(valid), 0), nil
}

// dictionaryData returns the data of a dictionary array.
func dictionaryData(t *arrow.DictionaryType, it *Items, valid *bitmap) (arrow.ArrayData, error) {
	items, err := valueData(storageType(t.ValueType), it.values, nil)
	if err != nil {
		return nil, err
	}
	bits := t.IndexType.(arrow.FixedWidthDataType).BitWidth()
	if arrow.IsSignedInteger(t.IndexType.ID()) {
		bits--
	}
	if bits < 32 && it.values.n > 1<<bits {
		return nil, fmt.Errorf("%w: %d items in one dictionary with indices of type %s", lance.ErrUnsupported, it.values.n, t.IndexType)
	}
	var indices []byte
	switch t.IndexType.(arrow.FixedWidthDataType).BitWidth() {
	case 8:
		indices = narrowIndices[uint8](it.indices)
	case 16:
		indices = narrowIndices[uint16](it.indices)
	case 32:
		indices = bytesOf(slices.Clip(it.indices))
	default:
		indices = narrowIndices[uint64](it.indices)
	}
	buffers := []*memory.Buffer{validBuffer(valid), memory.NewBufferBytes(indices)}
	data := array.NewDataWithDictionary(t, len(it.indices), buffers, nullsOf(valid), 0, items.(*array.Data))
	return data, nil
}

// narrowIndices returns indices, which fit, as integers of another width.
func narrowIndices[T uint8 | uint16 | uint64](indices []uint32) []byte {
	out := make([]T, len(indices))
	for i, index := range indices {
		out[i] = T(min(uint64(index), math.MaxUint32))
	}
	return bytesOf(out)
}
