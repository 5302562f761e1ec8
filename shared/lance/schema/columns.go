package schema

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Columns returns the arrays of a batch of the incoming schema as columns of Schema, in its order
// and of its types. Blobs of version 2.2 keep one of the forms that [Schema.Match] accepts. Values
// are shared with the batch, except for JSON text, which becomes JSONB. A null in a field that is
// not nullable, malformed JSON, and rows without columns, which no data file can hold, are
// [ErrMismatch].
func (m *Match) Columns(batch arrow.RecordBatch) ([]arrow.Array, error) {
	if len(m.Schema.Fields) == 0 && batch.NumRows() > 0 {
		return nil, fmt.Errorf("%w: %d rows without columns", ErrMismatch, batch.NumRows())
	}
	columns := make([]arrow.Array, len(m.Schema.Fields))
	for i, f := range m.Schema.Fields {
		var err error
		if columns[i], err = m.column(i, batch); err != nil {
			return nil, err
		}
		if err := checkNulls(FormatPath(f.Name), f, columns[i], nil); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// Column returns one column as Columns does, with nulls where it has them. The name must be that
// of a field of Schema.
func (m *Match) Column(name string, batch arrow.RecordBatch) (arrow.Array, error) {
	return m.column(slices.IndexFunc(m.Schema.Fields, func(f *Field) bool { return f.Name == name }), batch)
}

// column returns the column for the i-th field of Schema.
func (m *Match) column(i int, batch arrow.RecordBatch) (arrow.Array, error) {
	f := m.Schema.Fields[i]
	data, err := m.columns[i].arrange(f, batch.Column(m.columns[i].at).Data())
	if err != nil {
		return nil, fmt.Errorf("%w: field %s: %w", ErrMismatch, FormatPath(f.Name), err)
	}
	return array.MakeFromData(data), nil
}

// arrange returns the data of one field with its children in the field's order. It fails on
// malformed JSON only.
func (s source) arrange(f *Field, data arrow.ArrayData) (arrow.ArrayData, error) {
	switch {
	case f.IsBlobV2():
		return retype(data, storageField(arrow.Field{Type: data.DataType()}).Type), nil
	case f.IsJSON():
		return storedJSON(retype(data, storageField(arrow.Field{Type: data.DataType()}).Type))
	case len(f.Children) == 0:
		return retype(data, f.Type), nil
	}
	children := make([]arrow.ArrayData, len(f.Children))
	for i, child := range f.Children {
		below := s.children[i]
		var err error
		if children[i], err = below.arrange(child, data.Children()[below.at]); err != nil {
			return nil, err
		}
	}
	return array.NewData(f.Type, data.Len(), data.Buffers(), children, data.NullN(), data.Offset()), nil
}

// retype gives data another type of the same layout: the storage type of an extension type, or
// other names of list items.
func retype(data arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	children := data.Children()
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		children = []arrow.ArrayData{retype(children[0], list.Elem())}
	}
	typed := array.NewData(t, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	if data.DataType().ID() == arrow.DICTIONARY {
		typed.SetDictionary(data.Dictionary())
	}
	return typed
}

// checkNulls returns an error for a null in a field that is not nullable. live marks the
// rows that count, because a null below a null parent does not; nil means all rows.
func checkNulls(path string, f *Field, a arrow.Array, live []bool) error {
	if !f.Nullable && f.Type.ID() != arrow.NULL {
		for i := 0; a.NullN() > 0 && i < a.Len(); i++ {
			if a.IsNull(i) && (live == nil || live[i]) {
				return fmt.Errorf("%w: field %s cannot be null and has a null in row %d", ErrMismatch, path, i)
			}
		}
	}
	if !anyRequired(f.Children) {
		return nil
	}
	switch a := a.(type) {
	case *array.Struct:
		live = both(live, a)
		for i, child := range f.Children {
			if err := checkNulls(join(path, child.Name), child, a.Field(i), live); err != nil {
				return err
			}
		}
	case array.ListLike:
		items := a.ListValues()
		return checkNulls(join(path, f.Children[0].Name), f.Children[0], items, liveItems(a, live, items.Len()))
	}
	return nil
}

func anyRequired(fields []*Field) bool {
	for _, f := range fields {
		if !f.Nullable || anyRequired(f.Children) {
			return true
		}
	}
	return false
}

// both returns the rows that are live and not null.
func both(live []bool, a arrow.Array) []bool {
	if a.NullN() == 0 {
		return live
	}
	out := make([]bool, a.Len())
	for i := range out {
		out[i] = a.IsValid(i) && (live == nil || live[i])
	}
	return out
}

// liveItems returns the items of lists that are live and not null.
func liveItems(a array.ListLike, live []bool, items int) []bool {
	out := make([]bool, items)
	live = both(live, a)
	for i := range a.Len() {
		if live != nil && !live[i] {
			continue
		}
		start, end := a.ValueOffsets(i)
		for j := start; j < end; j++ {
			out[j] = true
		}
	}
	return out
}
