package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/protocol"
)

// A vector in a null struct counts as null.
func TestVectorsInStructs(t *testing.T) {
	vectors := arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Float32)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "doc", Type: arrow.StructOf(arrow.Field{Name: "a.b", Type: vectors, Nullable: true}), Nullable: true},
	}, nil)
	table := enginetest.Create(t, schema, `[{"id":0,"doc":{"a.b":[5]}}, {"id":1,"doc":null}, {"id":2,"doc":{"a.b":null}}, {"id":3,"doc":{"a.b":[1]}}]`)
	want := []string{"id=3 _distance=1", "id=0 _distance=25"}
	for _, column := range []string{"doc.`a.b`", "`doc`.`a.b`", ""} {
		q := &query.Query{
			Nearest: &query.Nearest{Vectors: [][]float64{{0}}, Column: column}, Columns: []query.Column{{Name: "id"}},
		}
		if diff := cmp.Diff(want, enginetest.Show(t, table, q)); diff != "" {
			t.Errorf("vectors of %q (-want +got):\n%s", column, diff)
		}
	}
}

// Without a name, the dimensions of the query decide which column is meant.
func TestVectorColumnsByTheirDimensions(t *testing.T) {
	vectors := func(n int32) arrow.DataType { return arrow.FixedSizeListOf(n, arrow.PrimitiveTypes.Float32) }
	table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{
		{Name: "vector", Type: vectors(1)},
		{Name: "twin", Type: vectors(1)},
		{Name: "doc", Type: arrow.StructOf(arrow.Field{Name: "v", Type: vectors(2)})},
		{Name: "many", Type: arrow.ListOf(vectors(3))},
		{Name: "a", Type: vectors(4)},
		{Name: "b", Type: vectors(4)},
	}, nil), `[{"vector":[1],"twin":[2],"doc":{"v":[3,0]},"many":[[4,0,0]],"a":[5,0,0,0],"b":[6,0,0,0]}]`)
	for dimensions, want := range map[int]string{1: "_distance=1", 2: "_distance=9", 3: "_distance=16"} {
		q := &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{make([]float64, dimensions)}}, Columns: []query.Column{{Name: "_distance"}}}
		if diff := cmp.Diff([]string{want}, enginetest.Show(t, table, q)); diff != "" {
			t.Errorf("%d dimensions (-want +got):\n%s", dimensions, diff)
		}
	}
	for _, dimensions := range []int{4, 5} { // two columns; none, and vector is one of several
		_, err := table.Query(t.Context(), engine.AsOf{}, &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{make([]float64, dimensions)}}})
		enginetest.WantCode(t, "a query that fits several columns, or none", err, protocol.InvalidInput)
	}
}

func TestVectorColumnsThatAreNone(t *testing.T) {
	vectors := arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Float32)
	table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "doc", Type: arrow.StructOf(arrow.Field{Name: "v", Type: vectors})},
		{Name: "v", Type: vectors},
	}, nil), `[{"id":0,"doc":{"v":[5]},"v":[1]}]`)
	for column, code := range map[string]protocol.Code{
		"":         protocol.InvalidInput, // two, and none is called vector
		"id":       protocol.InvalidInput,
		"doc":      protocol.InvalidInput,
		"_rowid":   protocol.InvalidInput,
		"doc.w":    protocol.TableColumnNotFound,
		"doc.v.v":  protocol.TableColumnNotFound,
		"doc.`v":   protocol.TableColumnNotFound,
		"nothing":  protocol.TableColumnNotFound,
		"doc.item": protocol.TableColumnNotFound,
	} {
		q := &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{{0}}, Column: column}}
		_, err := table.Query(t.Context(), engine.AsOf{}, q)
		if got := protocol.CodeOf(err); got != code {
			t.Errorf("vector_column %q: error %v has code %v, want %v", column, err, got, code)
		}
	}
}
