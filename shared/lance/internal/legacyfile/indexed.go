package legacyfile

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// takeDictionaries finds the table's dictionary of each field that needs one.
func (w *Writer) takeDictionaries() error {
	w.known = map[int32]*dictionary.Index{}
	for _, field := range dictionary.Fields(w.schema) {
		values := w.options.Dictionaries[field.ID]
		if values == nil || !arrow.TypeEqual(values.DataType(), dictionary.TypeOf(field).ValueType) {
			return fmt.Errorf("%w: field %q of type %s, for which the table of legacy data files has no dictionary",
				lance.ErrUnsupported, field.Name, field.Type)
		}
		w.known[field.ID] = dictionary.NewIndex(values)
	}
	return nil
}

// DictionaryBytes estimates the memory of the value lookups in the dictionaries.
func (w *Writer) DictionaryBytes() int64 {
	total := int64(0)
	for _, known := range w.known {
		total += known.Bytes()
	}
	return total
}

// putDictionaries writes the dictionaries, and returns the messages of the fields with
// their places.
func (w *Writer) putDictionaries() ([]*pb.Field, error) {
	messages := w.schema.PB()
	for _, field := range dictionary.Fields(w.schema) {
		b, place, err := dictionary.Append(nil, w.size, w.options.Dictionaries[field.ID])
		if err == nil {
			err = w.put(b)
		}
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(messages, func(m *pb.Field) bool { return m.ID == field.ID })
		messages[at].Unknown = dictionary.WithPlace(messages[at].Unknown, place)
	}
	return messages, nil
}

// indexedType returns a type with the types of indices in place of dictionary types.
func indexedType(t arrow.DataType) arrow.DataType {
	if !take.HasDictionary(t) {
		return t
	}
	member := func(f arrow.Field) arrow.Field {
		f.Type = indexedType(f.Type)
		return f
	}
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return t.IndexType
	case *arrow.ListType:
		return arrow.ListOfField(member(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(member(t.ElemField()))
	case *arrow.StructType:
		members := slices.Clone(t.Fields())
		for i := range members {
			members[i] = member(members[i])
		}
		return arrow.StructOf(members...)
	}
	return t
}

// indexed returns a column with indices into the table's dictionaries in place of
// dictionary arrays, at any depth. Other arrays are not checked.
func (w *Writer) indexed(field *schema.Field, column arrow.Array) (arrow.Array, error) {
	if !take.HasDictionary(field.Type) {
		return column, nil
	}
	if column.DataType().ID() != field.Type.ID() {
		return nil, fmt.Errorf("write data file: field %s is of type %s, want %s", field.Name, column.DataType(), field.Type)
	}
	data := column.Data()
	switch c := column.(type) {
	case *array.Dictionary:
		return w.indices(field, c)
	case *array.Struct:
		members := make([]arrow.ArrayData, len(field.Children))
		for i, child := range field.Children {
			member, err := w.indexed(child, c.Field(i)) // a slice of the struct has one of its members
			if err != nil {
				return nil, err
			}
			members[i] = member.Data()
		}
		return makeArray(array.NewData(indexedType(field.Type), data.Len(), []*memory.Buffer{nil}, members, 0, 0)), nil
	case array.ListLike:
		items, err := w.indexed(field.Children[0], c.ListValues())
		if err != nil {
			return nil, err
		}
		return makeArray(array.NewData(indexedType(field.Type), data.Len(), data.Buffers(), []arrow.ArrayData{items.Data()}, data.NullN(), data.Offset())), nil
	}
	return nil, fmt.Errorf("%w: dictionaries in fields of type %s in legacy data files", lance.ErrUnsupported, field.Type)
}

// indices returns the indices of values in the table's dictionary of a field.
func (w *Writer) indices(field *schema.Field, values *array.Dictionary) (arrow.Array, error) {
	want := w.options.Dictionaries[field.ID]
	if !arrow.TypeEqual(values.Dictionary().DataType(), want.DataType()) {
		return nil, fmt.Errorf("write data file: field %s has a dictionary of type %s, want %s", field.Name, values.Dictionary().DataType(), want.DataType())
	}
	known := w.known[field.ID]
	placement, null := known.Place(values.Dictionary()), known.Null()
	if w.options.Exact && !placement.Same {
		return nil, fmt.Errorf("%w: field %s has another dictionary in the data than in the table; rows that are added to a table of legacy data files have the table's dictionary, of the same %d values in the same order",
			schema.ErrMismatch, field.Name, want.Len())
	}
	index := dictionary.TypeOf(field).IndexType.(arrow.FixedWidthDataType)
	width := index.BitWidth() / 8
	indices := make([]byte, values.Len()*width)
	for i := range values.Len() {
		place := null
		if values.IsValid(i) {
			place = placement.Of(values.GetValueIndex(i))
		}
		if place < 0 || place > highest(index) {
			return nil, fmt.Errorf("%w: field %s has a value that the table's dictionary does not have; in a table of legacy data files a dictionary never grows",
				schema.ErrMismatch, field.Name)
		}
		for b := range width {
			indices[i*width+b] = byte(place >> (8 * b))
		}
	}
	data := array.NewData(index, values.Len(), []*memory.Buffer{nil, memory.NewBufferBytes(indices)}, nil, 0, 0)
	return makeArray(data), nil
}

// highest returns the highest index that a type can hold, up to the largest number of
// values in a dictionary.
func highest(index arrow.FixedWidthDataType) int {
	bits := min(index.BitWidth(), 33)
	if arrow.IsSignedInteger(index.ID()) {
		bits--
	}
	return 1<<bits - 1
}
