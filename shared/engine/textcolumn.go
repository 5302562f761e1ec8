package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

// A textColumn is a column whose texts can be searched. Its type is text, JSON, or a list of texts,
// which counts as one text with spaces between the items.
type textColumn struct {
	name  string
	field arrow.Field // the field as it is read
}

func newTextColumn(d *dataset.Dataset, name string) (textColumn, error) {
	field, err := d.Column(name)
	var unknown *dataset.ErrNoColumn
	if errors.As(err, &unknown) {
		return textColumn{}, noColumn(unknown)
	}
	c := textColumn{name: name, field: field}
	if err == nil && !c.isJSON() && !isText(field.Type) && !isText(elementOf(field.Type)) {
		err = protocol.Errorf(protocol.InvalidInput, "full_text_query: column %s is of %s; texts, lists of texts and JSON can be searched", name, field.Type)
	}
	return c, err
}

func (c textColumn) isJSON() bool {
	return schema.TextField(c.field).Type.ID() != c.field.Type.ID() && !isText(c.field.Type)
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

// elementOf returns the element type of a list, nil for other types.
func elementOf(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.ListType:
		return t.Elem()
	case *arrow.LargeListType:
		return t.Elem()
	}
	return nil
}

// A textReader returns the text of a row of a batch; null means that the row has none. The memory
// of what it reads stays in the share of the context that it was made with.
type textReader func(row int) (text string, null bool)

func (c textColumn) reader(ctx context.Context, column arrow.Array) (textReader, error) {
	if c.isJSON() {
		text, err := schema.TextArray(c.field, column)
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
func listReader(list array.ListLike) textReader {
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
