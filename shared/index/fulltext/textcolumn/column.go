// Package textcolumn reads the texts of a column: of texts, of JSON, of lists of texts, or of structs in lists.
package textcolumn

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// A Column is a searchable text column. Its type is text, JSON, or a list of texts, which is searched as
// one text with spaces between the elements. The texts may also be members of structs in lists, or of
// nested lists.
type Column struct {
	Name  string      // the path of the texts, which does not name the items of lists
	Read  string      // the name for scans: that of the outermost list, if the texts are in lists
	Field arrow.Field // the field as scans read it

	steps []int // from a value of this field to its texts: the number of a member, or item
	leaf  arrow.DataType
}

// item is the step from a list to its items.
const item = -1

// Find returns the column of a name, whether it has texts or not. read returns the field of a path that scans can read.
func Find(name string, read func(path string) (arrow.Field, error)) (c Column, ok bool) {
	names := []string{name}
	if _, err := read(name); err != nil {
		if names, err = schema.ParsePath(name); err != nil {
			return c, false
		}
	}
	for n := range names {
		c := Column{Name: name, Read: name}
		if len(names) > 1 {
			c.Read = schema.FormatPath(names[:n+1]...)
		}
		var err error
		if c.Field, err = read(c.Read); err != nil {
			break
		}
		if ElementOf(c.Field.Type) != nil || n == len(names)-1 {
			return c, c.lead(names[n+1:])
		}
	}
	return c, false
}

// lead resolves the names to nested struct members that lead to the texts. It reports whether all exist.
func (c *Column) lead(names []string) bool {
	c.leaf = c.Field.Type
	for {
		if e := ElementOf(c.leaf); e != nil {
			c.steps, c.leaf = append(c.steps, item), e
			continue
		}
		if len(names) == 0 {
			return true
		}
		members, ok := c.leaf.(*arrow.StructType)
		if !ok {
			return false
		}
		at, ok := members.FieldIdx(names[0])
		if !ok {
			return false
		}
		c.steps, c.leaf, names = append(c.steps, at), members.Field(at).Type, names[1:]
	}
}

// IsText reports whether the column has texts, or is JSON.
func (c Column) IsText() bool { return c.IsJSON() || isText(c.leaf) }

// IsJSON reports whether the texts are JSON documents.
func (c Column) IsJSON() bool {
	return c.steps == nil && schema.TextField(c.Field).Type.ID() != c.Field.Type.ID() && !isText(c.Field.Type)
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

// Leaf returns the type of the texts.
func (c Column) Leaf() arrow.DataType { return c.leaf }

// Lists returns the number of lists around the texts.
func (c Column) Lists() (n int) {
	for _, step := range c.steps {
		if step == item {
			n++
		}
	}
	return n
}

// ElementOf returns the element type of a list, or nil for other types.
func ElementOf(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.ListType:
		return t.Elem()
	case *arrow.LargeListType:
		return t.Elem()
	}
	return nil
}

// A Reader returns the text of a row in a batch; null is true if it has none. The memory of decoded texts
// stays accounted to the share of the context in which the Reader was made.
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
	if c.steps != nil {
		return c.joined(column), nil
	}
	value := stringsOf(column)
	return func(i int) (string, bool) {
		if column.IsNull(i) {
			return "", true
		}
		return value(i), false
	}, nil
}

// joined returns a reader that joins the texts of a row. A null list is an empty text, as in native Lance.
func (c Column) joined(column arrow.Array) Reader {
	each := texts(column, c.steps)
	return func(row int) (string, bool) {
		var b strings.Builder
		each(row, func(text string) { join(&b, text) })
		return b.String(), false
	}
}

func join(b *strings.Builder, text string) {
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(text)
}

// texts returns a function that calls f with the texts of a value of a column, some steps away from it, that are not null.
func texts(column arrow.Array, steps []int) func(i int, f func(text string)) {
	if len(steps) == 0 {
		value := stringsOf(column)
		return func(i int, f func(string)) {
			if column.IsValid(i) {
				f(value(i))
			}
		}
	}
	if steps[0] != item {
		within := texts(column.(*array.Struct).Field(steps[0]), steps[1:])
		return func(i int, f func(string)) {
			if column.IsValid(i) {
				within(i, f)
			}
		}
	}
	list := column.(array.ListLike)
	within := texts(list.ListValues(), steps[1:])
	return func(i int, f func(string)) {
		if list.IsNull(i) {
			return
		}
		start, end := list.ValueOffsets(i)
		for j := int(start); j < int(end); j++ {
			within(j, f)
		}
	}
}

// Lists provides the list elements of a batch as documents.
type Lists struct {
	lists    array.ListLike
	elements func(i int, f func(text string))
}

// Elements returns the lists of a column with lists in a batch. Lists of lists are lance.ErrUnsupported.
func (c Column) Elements(column arrow.Array) (Lists, error) {
	if c.Lists() > 1 {
		return Lists{}, fmt.Errorf("%w: column %s: documents that are elements of lists in lists", lance.ErrUnsupported, c.Name)
	}
	list := column.(array.ListLike)
	return Lists{list, texts(list.ListValues(), c.steps[1:])}, nil
}

// Len returns the number of elements in a row's list. A NULL list has none.
func (l Lists) Len(row int) int {
	if l.lists.IsNull(row) {
		return 0
	}
	start, end := l.lists.ValueOffsets(row)
	return int(end - start)
}

// Text returns the text of an element of a row's list. A NULL element is an empty text, as in native Lance.
func (l Lists) Text(row, element int) (text string) {
	start, _ := l.lists.ValueOffsets(row)
	l.elements(int(start)+element, func(t string) { text = t })
	return text
}

// stringsOf returns a function that reads the non-NULL texts of an array.
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
