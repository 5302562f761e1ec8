package selection

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/syntax"
)

// windowName is the name of the function that cuts lists into windows. It is a reserved word, so stored
// texts quote it.
const windowName = "window"

// A Window makes structs of consecutive list items:
//
//	items    Size items of the list, or fewer at its end
//	start    index of the first item, from 0
//	end      index after the last item
//	ordinal  index of the window, from 0
//
// Each window begins Step items after the previous one, until one reaches the end of the list.
type Window struct{ Size, Step int64 }

// Limits of windows: items per window, and windows per item.
const (
	maxWindow       = 1 << 20
	maxWindowCopies = 64
)

// window resolves window(list, size [, step]). It returns the list and the type of the structs.
func (e *Each) window(ctx context.Context, source *arrow.Schema) (w *Window, column string, value arrow.DataType, err error) {
	if len(e.Args) < 2 || len(e.Args) > 3 {
		return nil, "", nil, refused("%s takes a column of lists, the size of a window and its step, and has %d arguments", windowName, len(e.Args))
	}
	list, err := syntax.Parse(e.Args[0])
	if err != nil {
		return nil, "", nil, err
	}
	if path, ok := list.(*syntax.Column); ok && len(path.Path) == 1 {
		column = path.Path[0].Text
	}
	at := slices.IndexFunc(source.Fields(), func(f arrow.Field) bool { return f.Name == column })
	if at < 0 {
		return nil, "", nil, refused("%s of %s, which is not a column", windowName, e.Args[0])
	}
	lists, ok := source.Field(at).Type.(*arrow.ListType)
	if !ok {
		return nil, "", nil, refused("%s of column %q, which is of type %s and not a list", windowName, column, source.Field(at).Type)
	}
	var numbers []int64
	for _, arg := range e.Args[1:] {
		value, err := constant(ctx, arg, source)
		if err != nil {
			return nil, "", nil, err
		}
		number, ok := value.(int64)
		if !ok {
			return nil, "", nil, refused("%s with %s, where a whole number must be", windowName, arg)
		}
		numbers = append(numbers, number)
	}
	w = &Window{Size: numbers[0], Step: numbers[len(numbers)-1]}
	if w.Size < 1 || w.Size > maxWindow {
		return nil, "", nil, refused("%s: the size is %d; it counts the items of a window, from 1 to %d", windowName, w.Size, maxWindow)
	}
	// A small step would copy each item into many windows.
	if least := (w.Size + maxWindowCopies - 1) / maxWindowCopies; w.Step < least || w.Step > maxWindow {
		return nil, "", nil, refused("%s: the step is %d; windows of %d items can be from %d to %d items apart", windowName, w.Step, w.Size, least, maxWindow)
	}
	return w, column, arrow.StructOf(
		arrow.Field{Name: "items", Type: arrow.ListOfField(lists.ElemField()), Nullable: true},
		arrow.Field{Name: "start", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "end", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: ordinal, Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	), nil
}
