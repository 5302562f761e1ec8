package engine_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
)

// What native Lance 14 stores for the same.
func TestUpdatesOfStructs(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int16, Nullable: true})
	outer := arrow.StructOf(
		arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "inner", Type: inner, Nullable: true},
	)
	table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: outer, Nullable: true},
	}, nil), `[{"id":0,"s":{"b":1,"inner":{"x":2}}},{"id":1,"s":null},{"id":2,"s":{"b":3,"inner":null}}]`)
	for _, c := range []struct{ value, want string }{
		{"named_struct('b', 7, 'inner', named_struct('x', '5'))", `s={"b":7,"inner":{"x":5}}`},
		{"named_struct('inner', named_struct('x', id), 'b', id + 1)", `s={"b":2,"inner":{"x":1}}`},
		{"named_struct('b', 8)", `s={"b":8,"inner":null}`},
		{"named_struct('inner', NULL, 'more', 1)", `s={"b":null,"inner":null}`},
		{"NULL", `s=(null)`},
	} {
		if _, err := table.Update(t.Context(), []engine.Assignment{{Column: "s", SQL: c.value}}, "id = 1"); err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		got := enginetest.Show(t, table, &query.Query{Filter: "id = 1", Columns: []query.Column{{Name: "s"}}})
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, want %q", c.value, got, c.want)
		}
	}
}
