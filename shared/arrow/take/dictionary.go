package take

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// HasDictionary reports whether values of a type are indices into a dictionary, or have
// such values inside.
func HasDictionary(t arrow.DataType) bool {
	if t.ID() == arrow.DICTIONARY {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return HasDictionary(f.Type) })
}

// Encode dictionary-encodes values. The dictionary has the distinct values in order of first occurrence.
// The index type is wider than in t if necessary.
func Encode(values arrow.Array, t *arrow.DictionaryType) (arrow.Array, error) {
	data := values.Data()
	key, err := keys(data)
	if err != nil {
		return nil, err
	}
	places := map[string]int32{}
	var used []int32
	indices := make([]int32, data.Offset()+data.Len())
	for i := range data.Len() {
		if values.IsNull(i) {
			continue
		}
		k := key(i)
		place, seen := places[k]
		if !seen {
			place = int32(len(places))
			places[k], used = place, append(used, int32(i))
		}
		indices[data.Offset()+i] = place
	}
	dictionary, err := Array(values, used)
	if err != nil {
		return nil, err
	}
	index := wideEnough(t.IndexType, len(places))
	typ := &arrow.DictionaryType{IndexType: index, ValueType: t.ValueType, Ordered: t.Ordered}
	buffers := []*memory.Buffer{data.Buffers()[0], packed(indices, index.(arrow.FixedWidthDataType).BitWidth()/8)}
	return array.MakeFromData(array.NewDataWithDictionary(typ, data.Len(), buffers, data.NullN(), data.Offset(), dictionary.Data().(*array.Data))), nil
}

// concatDictionaries concatenates arrays of one type that contains dictionaries. It replaces each
// dictionary array by indices into a dictionary shared by all parts, concatenates the indices, and adds the
// shared dictionaries again.
func concatDictionaries(parts []arrow.Array) (arrow.Array, error) {
	bare := make([]arrow.ArrayData, len(parts))
	for i, p := range parts {
		bare[i] = p.Data()
	}
	var shared []arrow.ArrayData
	bare, err := takeOff(bare, &shared)
	if err != nil {
		return nil, err
	}
	indices := make([]arrow.Array, len(bare))
	for i, b := range bare {
		indices[i] = array.MakeFromData(b)
	}
	joined, err := array.Concatenate(indices, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(putOn(parts[0].DataType(), joined.Data(), &shared)), nil
}

// takeOff replaces dictionary arrays at any depth by their indices into shared dictionaries. It appends one
// shared dictionary for each dictionary in the type, in depth-first order.
func takeOff(parts []arrow.ArrayData, shared *[]arrow.ArrayData) ([]arrow.ArrayData, error) {
	t := parts[0].DataType()
	if t.ID() == arrow.DICTIONARY {
		return share(parts, shared)
	}
	if !HasDictionary(t) {
		return parts, nil
	}
	children := make([][]arrow.ArrayData, len(parts[0].Children())) // by child, then by part
	for c := range children {
		below := make([]arrow.ArrayData, len(parts))
		for i, p := range parts {
			below[i] = p.Children()[c]
		}
		var err error
		if children[c], err = takeOff(below, shared); err != nil {
			return nil, err
		}
	}
	out := make([]arrow.ArrayData, len(parts))
	for i := range parts {
		mine := make([]arrow.ArrayData, len(children))
		for c := range children {
			mine[c] = children[c][i]
		}
		out[i] = withMembers(parts[i], mine)
	}
	return out, nil
}

// putOn is the reverse of takeOff for an array without dictionaries. Its type becomes t,
// but for the widths of indices.
func putOn(t arrow.DataType, data arrow.ArrayData, shared *[]arrow.ArrayData) arrow.ArrayData {
	if d, ok := t.(*arrow.DictionaryType); ok {
		dictionary := (*shared)[0].(*array.Data)
		*shared = (*shared)[1:]
		typ := &arrow.DictionaryType{IndexType: data.DataType(), ValueType: d.ValueType, Ordered: d.Ordered}
		return array.NewDataWithDictionary(typ, data.Len(), data.Buffers(), data.NullN(), data.Offset(), dictionary)
	}
	if !HasDictionary(t) {
		return data
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, f := range t.(arrow.NestedType).Fields() {
		children[i] = putOn(f.Type, data.Children()[i], shared)
	}
	return withMembers(data, children)
}

// withMembers returns data with other children, and with their types.
func withMembers(data arrow.ArrayData, children []arrow.ArrayData) arrow.ArrayData {
	fields := slices.Clone(data.DataType().(arrow.NestedType).Fields())
	for i := range fields {
		fields[i].Type = children[i].DataType()
	}
	t := data.DataType()
	switch nested := t.(type) {
	case *arrow.StructType:
		t = arrow.StructOf(fields...)
	case *arrow.ListType:
		t = arrow.ListOfField(fields[0])
	case *arrow.LargeListType:
		t = arrow.LargeListOfField(fields[0])
	case *arrow.FixedSizeListType:
		t = arrow.FixedSizeListOfField(nested.Len(), fields[0])
	case *arrow.MapType:
		entries := fields[0].Type.(*arrow.StructType)
		m := arrow.MapOfFields(entries.Field(0), entries.Field(1))
		m.KeysSorted = nested.KeysSorted
		t = m
	}
	return array.NewData(t, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
}

// share converts the indices of dictionary arrays to indices into one common dictionary, which it appends
// to shared. The dictionary has the used values, each once, in order of first occurrence.
func share(parts []arrow.ArrayData, shared *[]arrow.ArrayData) ([]arrow.ArrayData, error) {
	t := parts[0].DataType().(*arrow.DictionaryType)
	places := map[string]int32{} // of values in the shared dictionary
	values := make([]arrow.Array, len(parts))
	indices := make([][]int32, len(parts))
	for i, p := range parts {
		var used []int32
		var err error
		if indices[i], used, err = placesOf(p, places); err != nil {
			return nil, err
		}
		if values[i], err = Array(array.MakeFromData(p.Dictionary()), used); err != nil {
			return nil, err
		}
	}
	dictionary, err := array.Concatenate(values, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	*shared = append(*shared, dictionary.Data())
	index := wideEnough(t.IndexType, len(places))
	out := make([]arrow.ArrayData, len(parts))
	for i, p := range parts {
		out[i] = array.NewData(index, p.Len(),
			[]*memory.Buffer{validFrom(p), packed(indices[i], index.(arrow.FixedWidthDataType).BitWidth()/8)},
			nil, p.NullN(), p.Offset()%8)
	}
	return out, nil
}

// validFrom returns the validity bitmap of an array from the byte in which it begins, if there is one. The
// bytes before belong to other slices of the same buffer, and may be many.
func validFrom(data arrow.ArrayData) *memory.Buffer {
	valid := data.Buffers()[0]
	if valid == nil || valid.Len() == 0 {
		return valid
	}
	return memory.NewBufferBytes(valid.Bytes()[data.Offset()/8:])
}

// placesOf returns the shared dictionary index of each value, and the dictionary items that are new in
// places, in the order of their new index. The indices are preceded by one slot for each bit in the first
// bitmap byte that belongs to another slice.
func placesOf(data arrow.ArrayData, places map[string]int32) (indices, used []int32, err error) {
	dictionary := data.Dictionary()
	key, err := keys(dictionary)
	if err != nil {
		return nil, nil, err
	}
	known := slices.Repeat([]int32{-1}, dictionary.Len())
	behind := data.Offset() % 8
	indices = make([]int32, behind+data.Len())
	rows := array.NewDictionaryData(data)
	for i := range data.Len() {
		if rows.IsNull(i) {
			continue
		}
		item := rows.GetValueIndex(i)
		if item < 0 || item >= len(known) {
			return nil, nil, fmt.Errorf("an index of %d into a dictionary of %d items", item, len(known))
		}
		if known[item] < 0 {
			k := key(item)
			place, seen := places[k]
			if !seen {
				place = int32(len(places))
				places[k] = place
				used = append(used, int32(item))
			}
			known[item] = place
		}
		indices[behind+i] = known[item]
	}
	return indices, used, nil
}

// keys returns a function that maps each item of a dictionary, including null, to a key that is unique per
// value.
func keys(values arrow.ArrayData) (func(i int) string, error) {
	var bytes func(i int) []byte
	switch t := values.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
		offsets := offsetsOf[int32](values)
		bytes = func(i int) []byte { return values.Buffers()[2].Bytes()[offsets[i]:offsets[i+1]] }
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		offsets := offsetsOf[int64](values)
		bytes = func(i int) []byte { return values.Buffers()[2].Bytes()[offsets[i]:offsets[i+1]] }
	case arrow.FixedWidthDataType:
		width := t.BitWidth() / 8
		if width == 0 || HasDictionary(t) {
			return nil, fmt.Errorf("no dictionaries of type %s", t)
		}
		bytes = func(i int) []byte {
			at := (values.Offset() + i) * width
			return values.Buffers()[1].Bytes()[at : at+width]
		}
	default:
		return nil, fmt.Errorf("no dictionaries of type %s", t)
	}
	valid := validBits(values)
	return func(i int) string {
		if valid != nil && !bitutil.BitIsSet(valid, values.Offset()+i) {
			return "null"
		}
		return "v" + string(bytes(i))
	}, nil
}

// wideEnough returns the index type t, or the next wider one that can index n items.
func wideEnough(t arrow.DataType, n int) arrow.DataType {
	signed := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32}
	unsigned := []arrow.DataType{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32}
	for w, most := range []int{math.MaxInt8 + 1, math.MaxInt16 + 1} {
		switch {
		case arrow.TypeEqual(t, signed[w]) && n > most:
			t = signed[w+1]
		case arrow.TypeEqual(t, unsigned[w]) && n > 2*most:
			t = unsigned[w+1]
		}
	}
	return t
}

// packed returns non-negative numbers as little-endian integers of a width.
func packed(numbers []int32, width int) *memory.Buffer {
	out := make([]byte, len(numbers)*width)
	for i, n := range numbers {
		for b := 0; b < min(width, 4); b++ {
			out[i*width+b] = byte(n >> (8 * b))
		}
	}
	return memory.NewBufferBytes(out)
}
