package plan_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/sqltest"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// Operations take constants as well as columns, in any mixture: of each expression some
// columns are made constants, with the values of one row after the other, and for that row
// nothing may change. The same is done once more after the literals were made columns. There
// are more rows than a word of a set has bits.
func TestConstantsAreLikeColumns(t *testing.T) {
	for _, table := range []struct {
		name  string
		exprs []string
	}{{"calls", callsOfAllPackages(t)}, {"edges", filtersOf(t)}} {
		once := namedTable(t, table.name)
		rec := repeat(t, once, 64/int(once.NumRows())+1)
		compared := 0
		for _, text := range table.exprs {
			e, err := syntax.Parse(text)
			if err != nil {
				continue
			}
			b, want, err := bindAndEval(e, rec)
			if err != nil {
				continue
			}
			compared += compareConstants(t, text, b, rec, want, once.NumRows())
			e, wider := literalsAsColumns(t, text, rec, int(once.NumRows()))
			if b, want, err := bindAndEval(e, wider); err == nil { // not all operations take columns
				compared += compareConstants(t, e.String(), b, wider, want, once.NumRows())
			}
		}
		if compared < 30_000 {
			t.Errorf("%s: only %d comparisons", table.name, compared)
		}
	}
}

func filtersOf(t *testing.T) (filters []string) {
	for _, c := range readGolden(t, "edges.jsonl") {
		filters = append(filters, c.Filter)
	}
	return filters
}

func bindAndEval(e syntax.Expr, rec arrow.RecordBatch) (*plan.Bound, arrow.Array, error) {
	b, err := plan.Bind(context.Background(), e, rec.Schema(), sqltest.Clock)
	if err != nil {
		return nil, nil, err
	}
	values, err := b.Eval(context.Background(), rec)
	return b, values, err
}

// compareConstants evaluates an expression with each subset of its columns replaced by constants, and
// returns the number of comparisons. The rows of the batch repeat after again rows.
func compareConstants(t *testing.T, text string, b *plan.Bound, rec arrow.RecordBatch, want arrow.Array, again int64) (compared int) {
	for constants := 1; constants < 1<<b.ColumnCount(); constants++ {
		for row := range again {
			same := column.NewBitset(int(rec.NumRows()))
			for at := row; at < rec.NumRows(); at += again {
				same.Set(int(at))
			}
			got, err := b.EvalWithConstants(rec, constants, row, nil)
			if errors.Is(err, sql.ErrValue) { // of another row
				got, err = b.EvalWithConstants(rec, constants, row, same)
			}
			if errors.Is(err, sql.ErrUnsupported) || errors.Is(err, sql.ErrValue) && strings.HasPrefix(text, "-") {
				continue // as a column; and a constant that is negated must not overflow, as in the native Lance
			}
			if err != nil {
				t.Errorf("%s: columns %b as constants of row %d: %v", text, constants, row, err)
				continue
			}
			compared++
			same.Each(0, func(at int) bool {
				g, w := array.NewSlice(got, int64(at), int64(at)+1), array.NewSlice(want, int64(at), int64(at)+1)
				if !sqltest.Same(g, w) {
					t.Errorf("%s: columns %b as constants of row %d: got %v, want %v", text, constants, row, g, w)
				}
				return true
			})
		}
	}
	return compared
}

// literalsAsColumns parses an expression and adds a column to a batch for each number and
// text in it, whose name then stands in its place. The column has also NULLs and values like
// that one; they are the same ones again after some rows.
func literalsAsColumns(t *testing.T, text string, rec arrow.RecordBatch, again int) (syntax.Expr, arrow.RecordBatch) {
	e, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	fields, columns := slices.Clone(rec.Schema().Fields()), slices.Clone(rec.Columns())
	n := int(rec.NumRows())
	added := func(values arrow.Array) syntax.Expr {
		name := fmt.Sprintf("literal%d", len(fields))
		fields, columns = append(fields, arrow.Field{Name: name, Type: values.DataType(), Nullable: true}), append(columns, values)
		return &syntax.Column{Path: []syntax.Name{{Text: name}}}
	}
	replace := func(e syntax.Expr) syntax.Expr {
		switch e := e.(type) {
		case *syntax.Number:
			if i, err := strconv.ParseInt(e.Text, 10, 64); err == nil {
				return added(likeThat(array.NewInt64Builder(memory.DefaultAllocator), n, again, i, i+1))
			}
			if f, err := strconv.ParseFloat(e.Text, 64); err == nil {
				return added(likeThat(array.NewFloat64Builder(memory.DefaultAllocator), n, again, f, 1+f))
			}
		case *syntax.Text:
			return added(likeThat(array.NewStringBuilder(memory.DefaultAllocator), n, again, e.Value, e.Value+"a"))
		}
		return nil
	}
	replaceIn(reflect.ValueOf(&e).Elem(), replace)
	return e, array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows())
}

// likeThat makes n values: one, another one, and NULL, in turn until they begin again.
func likeThat[T any](b interface {
	array.Builder
	Append(v T)
}, n, again int, one, other T,
) arrow.Array {
	for i := range n {
		switch i % again % 3 {
		case 0:
			b.Append(one)
		case 1:
			b.Append(other)
		default:
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// replaceIn replaces expressions in whatever they are parts of.
func replaceIn(v reflect.Value, replace func(syntax.Expr) syntax.Expr) {
	switch v.Kind() {
	case reflect.Interface:
		if e, ok := v.Interface().(syntax.Expr); ok {
			if other := replace(e); other != nil {
				v.Set(reflect.ValueOf(other))
				return
			}
		}
		replaceIn(v.Elem(), replace)
	case reflect.Pointer:
		if !v.IsNil() {
			replaceIn(v.Elem(), replace)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				replaceIn(v.Field(i), replace)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			replaceIn(v.Index(i), replace)
		}
	}
}

// repeat returns the rows of a batch, times times.
func repeat(t *testing.T, rec arrow.RecordBatch, times int) arrow.RecordBatch {
	t.Helper()
	columns := make([]arrow.Array, rec.NumCols())
	for i, column := range rec.Columns() {
		var err error
		if columns[i], err = array.Concatenate(slices.Repeat([]arrow.Array{column}, times), memory.DefaultAllocator); err != nil {
			t.Fatal(err)
		}
	}
	return array.NewRecordBatch(rec.Schema(), columns, rec.NumRows()*int64(times))
}
