package selection

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/chunking"
	"tiltyard/shared/sql/plan"
)

// An Expansion produces several rows from each row of the source: one for each item of a list, or for each
// result of a function. A NULL or empty list or text produces none.
type Expansion struct {
	Column string        // of the source, with the lists; "" for a function
	Call   *Call         // of a function of texts; nil for lists
	Window *Window       // cuts the lists; nil for their items
	Beside []string      // the source columns that expressions use in addition to the value
	Rows   *arrow.Schema // the expanded rows: the source's columns with the value, which replaces its list
	at     int
}

// A Call computes values from the rows of the source.
type Call struct {
	Function *chunking.Function
	Text     *plan.Bound // over the columns of the source
	Split    chunking.Splitter
}

// plan resolves an expansion over the columns of the source.
//
// Source: lancedb 0.40, materialized_view.rs, flattened_schema. Large lists and lists of a fixed size
// are refused there too, and so is a name that a column has.
func (e *Each) plan(ctx context.Context, source *arrow.Schema) (*Expansion, error) {
	switch {
	case source.HasField(e.Name):
		return nil, refused("the name %q of the values in FROM, which is that of a column", e.Name)
	case isReserved(e.Name):
		return nil, refused("the name %q of the values in FROM is reserved", e.Name)
	}
	x := &Expansion{Column: e.Column, at: len(source.Fields())}
	value := arrow.Field{Name: e.Name, Nullable: true}
	fields := source.Fields()
	switch {
	case e.Function == windowName:
		var err error
		if x.Window, x.Column, value.Type, err = e.window(ctx, source); err != nil {
			return nil, err
		}
		fields = append(fields, value)
	case e.Function != "":
		var err error
		if x.Call, err = e.call(ctx, source); err != nil {
			return nil, err
		}
		value.Type = x.Call.Function.Type()
		fields = append(fields, value)
	default:
		x.at = slices.IndexFunc(fields, func(f arrow.Field) bool { return f.Name == e.Column })
		if x.at < 0 {
			return nil, refused("UNNEST of %q, which is not a column", e.Column)
		}
		list, ok := fields[x.at].Type.(*arrow.ListType)
		if !ok {
			return nil, refused("UNNEST of column %q, which is of type %s and not a list", e.Column, fields[x.at].Type)
		}
		value.Type = list.Elem()
		// The value takes the place of its list, so expressions cannot read the list.
		fields[x.at] = value
	}
	x.Rows = arrow.NewSchema(fields, nil)
	return x, nil
}

// inputs returns the source columns on which the values depend.
func (x *Expansion) inputs() []string {
	if x.Call == nil {
		return []string{x.Column}
	}
	return x.Call.Text.Columns()
}

// Value returns the field of the values.
func (x *Expansion) Value() arrow.Field { return x.Rows.Field(x.at) }

// IsKnown reports whether this service can compute an expansion, apart from its arguments.
func (e *Each) IsKnown() bool {
	return e.Function == "" || e.Function == windowName || chunking.Find(e.Function) != nil
}

// call resolves a call of a function: a text, and constants.
func (e *Each) call(ctx context.Context, source *arrow.Schema) (*Call, error) {
	f := chunking.Find(e.Function)
	if f == nil {
		names := []string{windowName}
		for _, f := range chunking.Functions {
			names = append(names, f.Name)
		}
		return nil, refused("function %s in FROM, which is none of %s", e.Function, strings.Join(names, ", "))
	}
	if len(e.Args) == 0 {
		return nil, refused("function %s in FROM without a text", e.Function)
	}
	_, text, err := bind(ctx, e.Args[0], source, plan.Bind)
	if err != nil {
		return nil, err
	}
	if t := text.Type().ID(); t != arrow.STRING && t != arrow.LARGE_STRING {
		return nil, refused("%s of a value of type %s, which is not a text", e.Function, text.Type())
	}
	var args []any
	for _, arg := range e.Args[1:] {
		value, err := constant(ctx, arg, source)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	split, err := f.With(args...)
	if err != nil {
		return nil, refused("%v", err)
	}
	return &Call{Function: f, Text: text, Split: split}, nil
}

// constant returns the value of an expression without columns, as an int64 or a string. It returns nil for
// other types.
func constant(ctx context.Context, text string, source *arrow.Schema) (any, error) {
	_, bound, err := bind(ctx, text, source, plan.Bind)
	if err != nil {
		return nil, err
	}
	if len(bound.Columns()) > 0 {
		return nil, refused("%s as an argument of a function in FROM, where a constant must be", text)
	}
	values, err := bound.Eval(ctx, array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1))
	if err != nil || values.IsNull(0) {
		return nil, err
	}
	switch values := values.(type) {
	case *array.Int64:
		return values.Value(0), nil
	case *array.Int32:
		return int64(values.Value(0)), nil
	case *array.String:
		return strings.Clone(values.Value(0)), nil
	}
	return nil, nil //nolint:nilnil // a value that no function takes
}
