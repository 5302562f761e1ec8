package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
)

// ValueType returns the type of a column's values in expressions. A dictionary counts as the type of its
// items, also within lists. Struct members keep their types until they are accessed.
func ValueType(typ arrow.DataType) arrow.DataType {
	switch t := typ.(type) {
	case *arrow.DictionaryType:
		return ValueType(t.ValueType)
	case *arrow.ListType:
		if elem := t.ElemField(); becomesValue(&elem) {
			return arrow.ListOfField(elem)
		}
	case *arrow.LargeListType:
		if elem := t.ElemField(); becomesValue(&elem) {
			return arrow.LargeListOfField(elem)
		}
	case *arrow.FixedSizeListType:
		if elem := t.ElemField(); becomesValue(&elem) {
			return arrow.FixedSizeListOfField(t.Len(), elem)
		}
	}
	return typ
}

// becomesValue replaces the element type of a list by its ValueType, and reports whether it changed.
func becomesValue(elem *arrow.Field) bool {
	before := elem.Type
	elem.Type = ValueType(before)
	return !SameType(before, elem.Type)
}

// Loadable reports whether columns of the type can be read.
func Loadable(typ arrow.DataType) bool {
	switch typ := typ.(type) {
	case *arrow.DictionaryType:
		return Loadable(typ.ValueType)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return Loadable(typ.(arrow.ListLikeType).Elem())
	case *arrow.MapType:
		return Loadable(typ.KeyType()) && Loadable(typ.ItemType())
	case *arrow.StructType:
		return true // members are converted when they are accessed
	}
	return typ.ID() == arrow.NULL || Zeros(typ, 0) != nil
}

// Load returns a Vec for an array. It shares the array's memory, except for types with
// another layout (bools, halves, dictionaries) and for validity bitmaps, which may begin
// within a byte.
func Load(m *meter.Meter, arr arrow.Array) (Vec, error) {
	if d, ok := arr.(*array.Dictionary); ok {
		return loadDictionary(m, d)
	}
	v := Vec{Type: ValueType(arr.DataType()), N: arr.Len()}
	if bitmap := arr.NullBitmapBytes(); len(bitmap) > 0 && arr.NullN() != 0 {
		v.Valid = bitsetOf(bitmap, arr.Data().Offset(), arr.Len())
	}
	switch a := arr.(type) {
	case *array.Null:
		v.Valid = NewBitset(arr.Len())
	case *array.Struct:
		v.Data = a
	case *array.List:
		return loadLists(m, v, a)
	case *array.LargeList:
		return loadLists(m, v, a)
	case *array.FixedSizeList:
		return loadLists(m, v, a)
	case *array.Map:
		return loadLists(m, v, a)
	default:
		if v.Data = flatData(arr); v.Data == nil {
			return Vec{}, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "values of type %s", arr.DataType())
		}
	}
	return v, nil
}

// flatData returns the values of an array that is not nested, or nil for an unsupported
// type.
func flatData(arr arrow.Array) any {
	switch a := arr.(type) {
	case *array.Boolean:
		if a.Len() == 0 {
			return Bitset{}
		}
		return bitsetOf(a.Data().Buffers()[1].Bytes(), a.Data().Offset(), a.Len())
	case *array.Int8:
		return a.Int8Values()
	case *array.Int16:
		return a.Int16Values()
	case *array.Int32:
		return a.Int32Values()
	case *array.Int64:
		return a.Int64Values()
	case *array.Uint8:
		return a.Uint8Values()
	case *array.Uint16:
		return a.Uint16Values()
	case *array.Uint32:
		return a.Uint32Values()
	case *array.Uint64:
		return a.Uint64Values()
	case *array.Float32:
		return a.Float32Values()
	case *array.Float64:
		return a.Float64Values()
	case *array.Float16:
		out := make([]Half, a.Len())
		for i, h := range a.Values() {
			out[i] = Half(h.Uint16())
		}
		return out
	case *array.Decimal128:
		return a.Values()
	case *array.Decimal256:
		return a.Values()
	case *array.Date32, *array.Time32:
		return words32(arr)
	case *array.Date64, *array.Time64, *array.Timestamp, *array.Duration:
		return words64(arr)
	}
	return textData(arr)
}

// words32 returns the values of a type stored in 32 bits.
func words32(arr arrow.Array) []int32 {
	d := arr.Data()
	if d.Len() == 0 {
		return []int32{}
	}
	return arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
}

// words64 returns the values of a type stored in 64 bits.
func words64(arr arrow.Array) []int64 {
	d := arr.Data()
	if d.Len() == 0 {
		return []int64{}
	}
	return arrow.Int64Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
}

// textData returns the values of strings and binaries, or nil for other types.
func textData(arr arrow.Array) any {
	d := arr.Data()
	values := func(i int) []byte {
		if b := d.Buffers()[i]; b != nil {
			return b.Bytes()
		}
		return nil
	}
	switch t := arr.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
		if d.Len() == 0 {
			return Text{off32: []int32{0}}
		}
		off := arrow.Int32Traits.CastFromBytes(values(1))
		return Text{data: values(2), off32: off[d.Offset() : d.Offset()+d.Len()+1]}
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		if d.Len() == 0 {
			return Text{off64: []int64{0}}
		}
		off := arrow.Int64Traits.CastFromBytes(values(1))
		return Text{data: values(2), off64: off[d.Offset() : d.Offset()+d.Len()+1]}
	case *arrow.FixedSizeBinaryType:
		b := values(1)
		if d.Len() > 0 {
			b = b[d.Offset()*t.ByteWidth:]
		}
		return Text{data: b, width: t.ByteWidth}
	}
	return nil
}

// loadLists loads the elements of the lists in an array.
func loadLists(m *meter.Meter, v Vec, arr array.ListLike) (Vec, error) {
	if err := m.Take(8 * (v.N + 1)); err != nil {
		return Vec{}, err
	}
	off := make([]int64, 1, v.N+1)
	var first int64
	for i := range v.N {
		start, end := arr.ValueOffsets(i)
		if i == 0 {
			first = start
		}
		off = append(off, end-first)
	}
	elems, err := Load(m, array.NewSlice(arr.ListValues(), first, first+off[v.N]))
	if err != nil {
		return Vec{}, err
	}
	v.Data = Lists{Off: off, Elems: elems}
	return v, nil
}

// loadDictionary resolves the indices of a dictionary.
func loadDictionary(m *meter.Meter, d *array.Dictionary) (Vec, error) {
	values, err := Load(m, d.Dictionary())
	if err != nil {
		return Vec{}, err
	}
	if err := m.Take(8 * d.Len()); err != nil {
		return Vec{}, err
	}
	slots := make([]int, d.Len())
	for i := range slots {
		if slots[i] = -1; d.IsValid(i) {
			slots[i] = d.GetValueIndex(i)
		}
	}
	return values.Pick(m, slots)
}

// Pick returns the values of the slots, where -1 means NULL. It sets slots with a NULL value to -1. Texts
// are not copied.
func (v Vec) Pick(m *meter.Meter, slots []int) (Vec, error) {
	valid := FullBitset(len(slots))
	for i, s := range slots {
		if s < 0 || v.IsNull(s) {
			slots[i] = -1
			valid.Clear(i)
		}
	}
	if t, ok := v.Data.(Text); ok {
		if err := m.Take(ViewBytes * len(slots)); err != nil {
			return Vec{}, err
		}
		return Vec{Type: v.Type, N: len(slots), Valid: valid, Data: t.view(slots)}, nil
	}
	return v.Gather(m, slots, valid)
}

// view returns the texts of slots without copying them; -1 gives an empty text.
func (t Text) view(slots []int) Text {
	views := make([][]byte, len(slots))
	for i, s := range slots {
		if s >= 0 {
			views[i] = t.At(s)
		}
	}
	return Text{views: views}
}

// Gather returns the values of the slots, where -1 means NULL. valid must contain all other slots.
func (v Vec) Gather(m *meter.Meter, slots []int, valid Bitset) (Vec, error) {
	out := Vec{Type: v.Type, N: len(slots), Valid: valid}
	bits, _ := SlotBits(v.Type)
	if err := m.Take(bits * len(slots) / 8); err != nil {
		return Vec{}, err
	}
	if err := m.Step(4 * len(slots)); err != nil {
		return Vec{}, err
	}
	switch d := v.Data.(type) {
	case nil:
	case Bitset:
		bits := NewBitset(len(slots))
		for i, s := range slots {
			if s >= 0 && d.Has(s) {
				bits.Set(i)
			}
		}
		out.Data = bits
	case Text:
		t, err := d.gather(m, slots)
		if err != nil {
			return Vec{}, err
		}
		out.Data = t
		if d.width > 0 {
			out.Type = arrow.BinaryTypes.Binary // values of NULLs have no width
		}
	case Lists:
		return d.gather(m, out, slots)
	case *array.Struct:
		return gatherStruct(m, out, d, slots)
	default:
		out.Data = gatherFixed(v.Data, slots)
	}
	return out, nil
}

// gather copies the texts of the slots.
func (t Text) gather(m *meter.Meter, slots []int) (Text, error) {
	b := NewTextBuilder(m, len(slots))
	total := 0
	for _, s := range slots {
		if s >= 0 && total <= MaxText {
			total += len(t.At(s))
		}
	}
	if err := b.Reserve(total); err != nil {
		return Text{}, err
	}
	for _, s := range slots {
		if s >= 0 {
			value := t.At(s)
			b.Data = append(b.Data, value...)
			if err := m.Step(len(value)); err != nil {
				return Text{}, err
			}
		}
		b.Done()
	}
	return b.Text(), nil
}

// gather puts the lists of the slots into out.
func (l Lists) gather(m *meter.Meter, out Vec, slots []int) (Vec, error) {
	b := NewListBuilder(m, len(slots), l.Elems)
	for _, s := range slots {
		if s >= 0 {
			for j := l.Off[s]; j < l.Off[s+1]; j++ {
				b.Add(0, int(j))
			}
		}
		if err := b.End(); err != nil {
			return Vec{}, err
		}
	}
	var err error
	out.Data, err = b.Lists(l.Elems.Type)
	return out, err
}

// gatherFixed copies values of fixed width. NULLs stay zero.
func gatherFixed(data any, slots []int) any {
	switch d := data.(type) {
	case []int8:
		return pick(d, slots)
	case []int16:
		return pick(d, slots)
	case []int32:
		return pick(d, slots)
	case []int64:
		return pick(d, slots)
	case []uint8:
		return pick(d, slots)
	case []uint16:
		return pick(d, slots)
	case []uint32:
		return pick(d, slots)
	case []uint64:
		return pick(d, slots)
	case []Half:
		return pick(d, slots)
	case []float32:
		return pick(d, slots)
	case []float64:
		return pick(d, slots)
	}
	return pickDecimals(data, slots)
}

func pickDecimals(data any, slots []int) any {
	switch d := data.(type) {
	case []decimal128.Num:
		return pick(d, slots)
	case []decimal256.Num:
		return pick(d, slots)
	}
	return nil
}

func pick[T any](d []T, slots []int) []T {
	out := make([]T, len(slots))
	for i, s := range slots {
		if s >= 0 {
			out[i] = d[s]
		}
	}
	return out
}

// SlotsFrom returns the slots [from, to).
func SlotsFrom(from, to int) []int {
	slots := make([]int, 0, max(to-from, 0))
	for ; from < to; from++ {
		slots = append(slots, from)
	}
	return slots
}
