// Package document reads the texts of a column: of texts, of JSON, or of lists of texts.
package document

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/failure"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

// A Column is a column whose texts can be searched. Its type is text, JSON, or a list of texts,
// which counts as one text with spaces between the items.
type Column struct {
	Name  string
	Field arrow.Field // the field as it is read
}

// Of returns a column by its name. The error is InvalidInput when it has no texts.
func Of(d *dataset.Dataset, name string) (Column, error) {
	field, err := d.Column(name)
	var unknown *snapshot.ErrNoColumn
	if errors.As(err, &unknown) {
		return Column{}, failure.NoColumn(unknown)
	}
	c := Column{Name: name, Field: field}
	if err == nil && !c.IsJSON() && !isText(field.Type) && !isText(ElementOf(field.Type)) {
		err = protocol.Errorf(protocol.InvalidInput, "full_text_query: column %s is of %s; texts, lists of texts and JSON can be searched", name, field.Type)
	}
	return c, err
}

// IsJSON reports whether the texts are JSON documents.
func (c Column) IsJSON() bool {
	return schema.TextField(c.Field).Type.ID() != c.Field.Type.ID() && !isText(c.Field.Type)
}

func isText(t arrow.DataType) bool {
	if t == nil {
		return false
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	case arrow.DICTIONARY:
		return isText(t.(*arrow.DictionaryType).ValueType)
	}
	return false
}

// IsList reports whether the column holds lists of texts.
func (c Column) IsList() bool { return isText(ElementOf(c.Field.Type)) }

// ElementOf returns the element type of a list, nil for other types.
func ElementOf(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.ListType:
		return t.Elem()
	case *arrow.LargeListType:
		return t.Elem()
	}
	return nil
}

// A Reader returns the text of a row of a batch; null means that the row has none. The memory
// of what it reads stays in the share of the context that it was made with.
type Reader func(row int) (text string, null bool)

// Reader returns a reader of the column in a batch.
func (c Column) Reader(ctx context.Context, column arrow.Array) (Reader, error) {
	if c.IsJSON() {
		text, err := schema.TextArray(c.Field, column)
		if err != nil {
			return nil, err
		}
		if err := memory.FromContext(ctx).Take(ctx, int64(text.Data().SizeInBytes())); err != nil {
			return nil, err
		}
		column = text
	}
	if list, ok := column.(array.ListLike); ok {
		return listReader(list), nil
	}
	value := stringsOf(column)
	return func(i int) (string, bool) {
		if column.IsNull(i) {
			return "", true
		}
		return value(i), false
	}, nil
}

// Lists are the lists of texts of a batch.
type Lists struct {
	lists    array.ListLike
	elements func(int) string
}

// Lists returns the lists of the column in a batch, which holds lists of texts.
func (c Column) Lists(column arrow.Array) (Lists, error) {
	list, ok := column.(array.ListLike)
	if !ok {
		return Lists{}, protocol.Errorf(protocol.InvalidInput, "column %s is of %s; only the elements of lists can be documents", c.Name, column.DataType())
	}
	return Lists{list, stringsOf(list.ListValues())}, nil
}

// Elements returns how many elements the list of a row has. A null list has none.
func (l Lists) Elements(row int) int {
	if l.lists.IsNull(row) {
		return 0
	}
	start, end := l.lists.ValueOffsets(row)
	return int(end - start)
}

// Text returns the text of an element of the list of a row. That of an element that is null is empty, as
// in native Lance.
func (l Lists) Text(row, element int) string {
	start, _ := l.lists.ValueOffsets(row)
	if at := int(start) + element; !l.lists.ListValues().IsNull(at) {
		return l.elements(at)
	}
	return ""
}

// stringsOf returns a reader of the texts of an array that are not null.
func stringsOf(column arrow.Array) func(int) string {
	switch a := column.(type) {
	case *array.String:
		return a.Value
	case *array.LargeString:
		return a.Value
	case *array.StringView:
		return a.Value
	case *array.Dictionary:
		values := stringsOf(a.Dictionary())
		return func(i int) string { return values(a.GetValueIndex(i)) }
	}
	return func(int) string { return "" }
}

// listReader returns a reader that joins lists of texts. A null list is an empty text, as in native
// Lance.
func listReader(list array.ListLike) Reader {
	elements := list.ListValues()
	element := stringsOf(elements)
	return func(i int) (string, bool) {
		if list.IsNull(i) {
			return "", false
		}
		var b strings.Builder
		start, end := list.ValueOffsets(i)
		for j := int(start); j < int(end); j++ {
			if elements.IsNull(j) {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(element(j))
		}
		return b.String(), false
	}
}
