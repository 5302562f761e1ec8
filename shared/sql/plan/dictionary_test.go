package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/syntax"
)

// dictionaryRows returns rows with a column d, whose dictionary has a NULL and a value "bad" that no row has,
// and p, the same values without a dictionary; s has both as members, and is NULL in every seventh row.
func dictionaryRows(n int) arrow.RecordBatch {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	values := array.NewStringBuilder(memory.DefaultAllocator)
	values.AppendValues([]string{"7", "12", "", "bad", "-3"}, []bool{true, true, false, true, true})
	dictionary := values.NewStringArray()
	indices, plain := array.NewInt32Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for row := range n {
		at := []int{0, 1, 4, 2, -1, 0}[row%6]
		switch {
		case at < 0:
			indices.AppendNull()
			plain.AppendNull()
		case dictionary.IsNull(at):
			indices.Append(int32(at))
			plain.AppendNull()
		default:
			indices.Append(int32(at))
			plain.Append(dictionary.Value(at))
		}
	}
	d, p := array.NewDictionaryArray(typ, indices.NewArray(), dictionary), plain.NewArray()
	members := []arrow.Field{{Name: "d", Type: typ, Nullable: true}, {Name: "p", Type: arrow.BinaryTypes.String, Nullable: true}}
	valid := memory.NewBufferBytes(make([]byte, n/8+1))
	nulls := 0
	for row := range n {
		if row%7 == 0 {
			nulls++
			continue
		}
		valid.Bytes()[row/8] |= 1 << (row % 8)
	}
	s := array.NewStructData(array.NewData(arrow.StructOf(members...), n, []*memory.Buffer{valid}, []arrow.ArrayData{d.Data(), p.Data()}, nulls, 0))
	fields := slices.Concat(members, []arrow.Field{{Name: "s", Type: s.DataType(), Nullable: true}})
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), []arrow.Array{d, p, s}, int64(n))
}

func boundTo(t *testing.T, sql string, s *arrow.Schema) *Bound {
	t.Helper()
	e, err := syntax.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Bind(t.Context(), e, s, time.Time{})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return b
}

// Expressions over a dictionary have the values that they have over the same texts without one. A value that no
// row has causes no error.
func TestExpressionsOverDictionariesEqualThoseOverTexts(t *testing.T) {
	rows := dictionaryRows(1000)
	for _, sql := range []string{
		"upper(%s) = '7'", "length(%s)", "%s IS NULL", "coalesce(%s, 'none')", "CAST(%s AS BIGINT) + 1", "%s LIKE '1%%'", "%s IN ('7', NULL)",
		"CASE WHEN %[1]s = '7' THEN CAST(%[1]s AS BIGINT) ELSE 0 END", "%[1]s = '7' AND CAST(%[1]s AS BIGINT) > 3", "concat(%s, p)",
		"repeat(%s, 3)", "NOT (%[1]s > '2' OR %[1]s IS NULL)", "%[1]s = p", "array_length(string_to_array(%s, '1'))",
	} {
		for _, pair := range [][2]string{{"d", "p"}, {"s.d", "s.p"}} {
			got, err := boundTo(t, fmt.Sprintf(sql, pair[0]), rows.Schema()).Eval(t.Context(), rows)
			if err != nil {
				t.Errorf("%s over %s: %v", sql, pair[0], err)
				continue
			}
			want, err := boundTo(t, fmt.Sprintf(sql, pair[1]), rows.Schema()).Eval(t.Context(), rows)
			if err != nil || !array.Equal(got, want) {
				t.Errorf("%s: over %s it is %v, want %v; error %v", sql, pair[0], got, want, err)
			}
		}
	}
	bad := "CAST(upper(CASE WHEN d = '12' THEN 'x' ELSE d END) AS BIGINT)"
	if _, err := boundTo(t, bad, rows.Schema()).Eval(t.Context(), rows); err == nil {
		t.Error("a value that rows have caused no error")
	}
}

// A call over a dictionary is computed for each value that rows have, and a volatile one for each row.
func TestCallsOverDictionariesAreComputedForEachValue(t *testing.T) {
	rows := dictionaryRows(6000)
	for sql, want := range map[string]int{
		"upper(d) = '7'": 4, "length(upper(s.d)) = 2": 4, "upper(p) = '7'": 6000, "upper(concat(d, CAST(random() AS VARCHAR))) = '7'": 6000,
		"upper(concat(d, p)) = '7'": 6000,
	} {
		b := boundTo(t, sql, rows.Schema())
		computed := 0
		var count func(n *expr.Node)
		count = func(n *expr.Node) {
			if n.Op == expr.OpCall && strings.EqualFold(n.Func.Name, "upper") {
				f := *n.Func
				eval := f.Eval
				f.Eval = func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
					computed += args[0].N
					return eval(m, n, args, rows)
				}
				n.Func = &f
			}
			for _, a := range n.Args {
				count(a)
			}
		}
		count(b.root)
		if _, err := b.Select(t.Context(), rows, nil); err != nil || computed != want {
			t.Errorf("%s: %d values were computed, want %d; error %v", sql, computed, want, err)
		}
	}
}
