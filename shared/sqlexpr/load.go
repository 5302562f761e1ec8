package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/meter"
)

// valueType is the type of a column's values in expressions: that of the values for a
// dictionary, the type itself for the rest.
func valueType(typ arrow.DataType) arrow.DataType {
	if d, ok := typ.(*arrow.DictionaryType); ok {
		return valueType(d.ValueType)
	}
	return typ
}

// loadable reports whether columns of the type can be read.
func loadable(typ arrow.DataType) bool {
	switch typ := typ.(type) {
	case *arrow.DictionaryType:
		return loadable(typ.ValueType)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return loadable(typ.(arrow.ListLikeType).Elem())
	case *arrow.StructType:
		return true // members are looked at when they are used
	}
	return typ.ID() == arrow.NULL || zeroData(typ, 0) != nil
}

// load makes a vec of an array, sharing its memory where the layouts agree: for everything
// but bools and halves, whose layout is another, bitmaps, which may begin in the middle of a
// byte, and dictionaries.
func load(m *meter.Meter, arr arrow.Array) (vec, error) {
	if d, ok := arr.(*array.Dictionary); ok {
		return loadDictionary(m, d)
	}
	v := vec{typ: arr.DataType(), n: arr.Len()}
	if bitmap := arr.NullBitmapBytes(); len(bitmap) > 0 && arr.NullN() != 0 {
		v.valid = bitsetOf(bitmap, arr.Data().Offset(), arr.Len())
	}
	switch a := arr.(type) {
	case *array.Null:
		v.valid = newBitset(arr.Len())
	case *array.Struct:
		v.data = a
	case *array.List:
		return loadLists(m, v, a)
	case *array.LargeList:
		return loadLists(m, v, a)
	case *array.FixedSizeList:
		return loadLists(m, v, a)
	default:
		if v.data = flatData(arr); v.data == nil {
			return vec{}, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "values of type %s", arr.DataType())
		}
	}
	return v, nil
}

// flatData returns the values of an array that is not nested, nil for types that are not
// supported.
func flatData(arr arrow.Array) any {
	switch a := arr.(type) {
	case *array.Boolean:
		if a.Len() == 0 {
			return bitset{}
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
		out := make([]half, a.Len())
		for i, h := range a.Values() {
			out[i] = half(h.Uint16())
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

// textData returns the values of strings and binaries, nil for other types.
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
			return text{off32: []int32{0}}
		}
		off := arrow.Int32Traits.CastFromBytes(values(1))
		return text{data: values(2), off32: off[d.Offset() : d.Offset()+d.Len()+1]}
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		if d.Len() == 0 {
			return text{off64: []int64{0}}
		}
		off := arrow.Int64Traits.CastFromBytes(values(1))
		return text{data: values(2), off64: off[d.Offset() : d.Offset()+d.Len()+1]}
	case *arrow.FixedSizeBinaryType:
		b := values(1)
		if d.Len() > 0 {
			b = b[d.Offset()*t.ByteWidth:]
		}
		return text{data: b, width: t.ByteWidth}
	}
	return nil
}

// loadLists loads the elements that the lists of an array have.
func loadLists(m *meter.Meter, v vec, arr array.ListLike) (vec, error) {
	if err := m.Take(8 * (v.n + 1)); err != nil {
		return vec{}, err
	}
	off := make([]int64, 1, v.n+1)
	var first int64
	for i := range v.n {
		start, end := arr.ValueOffsets(i)
		if i == 0 {
			first = start
		}
		off = append(off, end-first)
	}
	elems, err := load(m, array.NewSlice(arr.ListValues(), first, first+off[v.n]))
	if err != nil {
		return vec{}, err
	}
	v.data = lists{off: off, elems: elems}
	return v, nil
}

// loadDictionary decodes a dictionary.
func loadDictionary(m *meter.Meter, d *array.Dictionary) (vec, error) {
	values, err := load(m, d.Dictionary())
	if err != nil {
		return vec{}, err
	}
	if err := m.Take(8 * d.Len()); err != nil {
		return vec{}, err
	}
	slots := make([]int, d.Len())
	nulls := fullBitset(d.Len())
	for i := range slots {
		if d.IsValid(i) {
			slots[i] = d.GetValueIndex(i)
		}
		if !d.IsValid(i) || values.isNull(slots[i]) {
			slots[i] = -1
			nulls.clear(i)
		}
	}
	if t, ok := values.data.(text); ok {
		return vec{typ: values.typ, n: len(slots), valid: nulls, data: t.view(slots)}, m.Take(viewBytes * len(slots))
	}
	return values.gather(m, slots, nulls)
}

// view returns the texts of slots where they are, nothing for -1.
func (t text) view(slots []int) text {
	views := make([][]byte, len(slots))
	for i, s := range slots {
		if s >= 0 {
			views[i] = t.at(s)
		}
	}
	return text{views: views}
}

// gather returns the values of the slots, where -1 stands for NULL; valid says the same
// once more.
func (v vec) gather(m *meter.Meter, slots []int, valid bitset) (vec, error) {
	out := vec{typ: v.typ, n: len(slots), valid: valid}
	bits, _ := slotBits(v.typ)
	if err := m.Take(bits * len(slots) / 8); err != nil {
		return vec{}, err
	}
	if err := m.Step(4 * len(slots)); err != nil {
		return vec{}, err
	}
	switch d := v.data.(type) {
	case nil:
	case bitset:
		bits := newBitset(len(slots))
		for i, s := range slots {
			if s >= 0 && d.has(s) {
				bits.set(i)
			}
		}
		out.data = bits
	case text:
		t, err := d.gather(m, slots)
		if err != nil {
			return vec{}, err
		}
		out.data = t
		if d.width > 0 {
			out.typ = arrow.BinaryTypes.Binary // values of NULLs have no width
		}
	case lists:
		return d.gather(m, out, slots)
	case *array.Struct:
		return gatherStruct(m, out, d, slots)
	default:
		out.data = gatherFixed(v.data, slots)
	}
	return out, nil
}

// gather copies the texts of the slots.
func (t text) gather(m *meter.Meter, slots []int) (text, error) {
	b := newTextBuilder(m, len(slots))
	total := 0
	for _, s := range slots {
		if s >= 0 && total <= maxText {
			total += len(t.at(s))
		}
	}
	if err := b.reserve(total); err != nil {
		return text{}, err
	}
	for _, s := range slots {
		if s >= 0 {
			value := t.at(s)
			b.data = append(b.data, value...)
			if err := m.Step(len(value)); err != nil {
				return text{}, err
			}
		}
		b.done()
	}
	return b.text(), nil
}

// gather puts the lists of the slots into out.
func (l lists) gather(m *meter.Meter, out vec, slots []int) (vec, error) {
	b := newListBuilder(m, len(slots), l.elems)
	for _, s := range slots {
		if s >= 0 {
			for j := l.off[s]; j < l.off[s+1]; j++ {
				b.add(0, int(j))
			}
		}
		if err := b.end(); err != nil {
			return vec{}, err
		}
	}
	var err error
	out.data, err = b.lists(l.elems.typ)
	return out, err
}

// gatherFixed gathers values of fixed width. The zeros left for NULLs are never looked at.
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
	case []half:
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

// slotsFrom counts the slots of a list.
func slotsFrom(from, to int) []int {
	slots := make([]int, 0, max(to-from, 0))
	for ; from < to; from++ {
		slots = append(slots, from)
	}
	return slots
}
