package expr_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/sqltest"
)

// rules are the functions that choose the type of an operation on two types, by the names that
// the golden file has for them, and the columns whose pairs are its operands.
var rules = map[string]struct {
	rule    func(l, r arrow.DataType) arrow.DataType
	columns string
}{
	"coalesce": {coalesce, typed}, "CASE": {otherwise, typed}, "||": {expr.ConcatType, joined},
	"+": {arithmetic(expr.OpAdd), counted}, "-": {arithmetic(expr.OpSub), counted}, "*": {arithmetic(expr.OpMul), counted},
	"/": {arithmetic(expr.OpDiv), counted}, "%": {arithmetic(expr.OpMod), counted},
}

const (
	joined  = "s ls n i u u64 f g dec b bin d ts tss tms tns tz tp t dur st NULL"
	typed   = joined + " li"
	counted = "n i u u64 f g dec s b NULL"
)

// differ are the operations whose type or refusal differs from native Lance.
var differ = map[string]string{
	"CASE, st, NULL": "refused", "CASE, NULL, st": "refused",
}

func coalesce(l, r arrow.DataType) arrow.DataType {
	call := &expr.Node{Op: expr.OpCall, Func: &expr.Function{Name: "coalesce"}}
	typ, err := expr.CoalesceOf(call, []arrow.DataType{l, r})
	if err != nil {
		return nil
	}
	return typ
}

// otherwise is the type of CASE WHEN … THEN l ELSE r END, which begins with the latter.
func otherwise(l, r arrow.DataType) arrow.DataType { return expr.UnionType(r, l) }

func arithmetic(op expr.Op) func(l, r arrow.DataType) arrow.DataType {
	return func(l, r arrow.DataType) arrow.DataType {
		_, _, result := expr.ArithmeticTypes(op, l, r)
		return result
	}
}

func TestOperationsHaveTheTypesOfTheNativeLance(t *testing.T) {
	table := sqltest.Table(t).Schema()
	native := sqltest.ReadTable(t, "testdata/types.arrow").Schema()
	typeOf := func(name string) arrow.DataType {
		if name == "NULL" {
			return column.TypeNull
		}
		return column.ValueType(table.Field(table.FieldIndices(name)[0]).Type)
	}
	answered := 0
	for op, r := range rules {
		for _, left := range strings.Fields(r.columns) {
			for _, right := range strings.Fields(r.columns) {
				name := op + ", " + left + ", " + right
				var want arrow.DataType
				if at := native.FieldIndices(name); len(at) > 0 {
					want = native.Field(at[0]).Type
					answered++
				}
				lt, rt := typeOf(left), typeOf(right)
				got := r.rule(lt, rt)
				dropped := func(t arrow.DataType) bool { return op == "coalesce" && t.ID() == arrow.NULL }
				if got != nil && !(dropped(lt) || cast.Possible(lt, got)) || got != nil && !(dropped(rt) || cast.Possible(rt, got)) {
					got = nil // the operation is refused when its operands are cast
				}
				same := (got == nil) == (want == nil) && (got == nil || arrow.TypeEqual(got, want))
				if same == (differ[name] != "") {
					t.Errorf("%s: got %v, want %v; a known difference: %q", name, got, want, differ[name])
				}
			}
		}
	}
	if answered != native.NumFields() {
		t.Errorf("the test looks at %d of the %d types of the golden file", answered, native.NumFields())
	}
}

func TestSignatureCastsTheArguments(t *testing.T) {
	bind := expr.Signature(expr.LikeFirst, expr.WholeNumber, expr.AsText)
	arg := func(typ arrow.DataType) *expr.Node { return &expr.Node{Op: expr.OpCol, Type: typ, Name: "c"} }
	call := func(types ...arrow.DataType) (*expr.Node, error) {
		n := &expr.Node{Op: expr.OpCall, Func: &expr.Function{Name: "f"}}
		for _, typ := range types {
			n.Args = append(n.Args, arg(typ))
		}
		return bind(n)
	}
	for _, c := range []struct {
		name  string
		given []arrow.DataType
		want  []arrow.DataType // nil: refused
	}{
		{"as they are", []arrow.DataType{column.TypeInt64, column.TypeString}, []arrow.DataType{column.TypeInt64, column.TypeString}},
		{"a narrow integer", []arrow.DataType{arrow.PrimitiveTypes.Int8, column.TypeString}, []arrow.DataType{column.TypeInt64, column.TypeString}},
		{"NULL as text", []arrow.DataType{column.TypeInt64, column.TypeNull}, []arrow.DataType{column.TypeInt64, column.TypeString}},
		{"the last parameter again", []arrow.DataType{column.TypeInt64, column.TypeString, column.TypeNull},
			[]arrow.DataType{column.TypeInt64, column.TypeString, column.TypeString}},
		{"a text as a number", []arrow.DataType{column.TypeString, column.TypeString}, nil},
		{"a number as text", []arrow.DataType{column.TypeInt64, column.TypeInt64}, nil},
	} {
		n, err := call(c.given...)
		if c.want == nil {
			if !errors.Is(err, sql.ErrType) {
				t.Errorf("%s: got %v, error %v; want ErrType", c.name, n, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := expr.ArgTypes(n); !slices.EqualFunc(got, c.want, column.SameType) || !arrow.TypeEqual(n.Type, c.want[0]) {
			t.Errorf("%s: got arguments %v and result %v, want %v", c.name, got, n.Type, c.want)
		}
		if n.Args[0].Op != expr.OpCast && !arrow.TypeEqual(c.given[0], c.want[0]) {
			t.Errorf("%s: the first argument is no cast", c.name)
		}
	}
}
