package engine_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/protocol"
)

// answers is a table of which a search for 0 finds rows 2, 1 and 0.
func answers(t *testing.T) *engine.Table {
	t.Helper()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a-b", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "word", Type: words, Nullable: true},
		{Name: "p", Type: arrow.StructOf(arrow.Field{Name: "q", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32})}), Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	return enginetest.Create(t, schema, `[
		{"id":0,"a-b":7,"word":"x","p":{"q":{"x":1}},"v":[3]},
		{"id":1,"a-b":8,"word":"y","p":null,"v":[2]},
		{"id":2,"a-b":null,"word":"x","p":{"q":{"x":3}},"v":[1]}]`)
}

// near is a search for the rows nearest to [0].
func near(q query.Query) *query.Query {
	if q.Nearest == nil {
		q.Nearest = new(query.Nearest)
	}
	q.Nearest.Vectors = [][]float64{{0}}
	return &q
}

func formula(name, expression string) query.Column {
	return query.Column{Name: name, Expression: expression}
}

// What a local LanceDB answers to the same.
func TestColumnsOfAnswers(t *testing.T) {
	table := answers(t)
	for name, c := range map[string]struct {
		q      *query.Query
		schema string
		rows   []string
	}{
		"row ids come last": {
			&query.Query{Columns: []query.Column{{Name: "_rowid"}, {Name: "id"}}, WithRowID: true, Filter: "id = 1"},
			"id: int64, _rowid: uint64?", []string{"id=1 _rowid=1"},
		},
		"unless they are only one of the columns": {
			&query.Query{Columns: []query.Column{{Name: "_rowid"}, {Name: "id"}}, Filter: "id = 1"},
			"_rowid: uint64?, id: int64", []string{"_rowid=1 id=1"},
		},
		"a column stays what it is": {
			&query.Query{Columns: []query.Column{formula("w", "word"), formula("W", "`word`")}, Filter: "id = 1"},
			"w: dictionary<values=utf8, indices=int8, ordered=false>?, W: dictionary<values=utf8, indices=int8, ordered=false>?", []string{"w=y W=y"},
		},
		"a column whose name is no expression": {
			&query.Query{Columns: []query.Column{formula("c", "a-b")}},
			"c: int64?", []string{"c=7", "c=8", "c=(null)"},
		},
		"what cannot be null": {
			&query.Query{Columns: []query.Column{formula("a", "coalesce(`a-b`, 0)"), formula("b", "`a-b` + 1"), formula("c", "id + 1")}, Filter: "id = 2"},
			"a: int64, b: int64?, c: int64", []string{"a=0 b=(null) c=3"},
		},
		"all columns": {
			&query.Query{Columns: []query.Column{{Name: "*"}}, Filter: "id > 7"},
			"id: int64, a-b: int64?, word: dictionary<values=utf8, indices=int8, ordered=false>?, p: struct<q: struct<x: int32>>?, v: fixed_size_list<item: float32, nullable>[1]?", []string{},
		},
		"no rows": {
			&query.Query{Limit: new(int64), Columns: []query.Column{{Name: "id"}}},
			"id: int64", []string{},
		},
		"a struct of no rows": {
			&query.Query{Columns: []query.Column{formula("q", "p.q")}, Filter: "id > 7"},
			"q: struct<x: int32>?", []string{},
		},
		"distances in expressions": {
			near(query.Query{Columns: []query.Column{formula("d", "_distance"), formula("e", "_distance + id")}}),
			"d: float32?, e: float32?, _distance: float32?", []string{"d=1 e=3 _distance=1", "d=4 e=5 _distance=4", "d=9 e=9 _distance=9"},
		},
		"distances under their own name": {
			near(query.Query{Columns: []query.Column{formula("_distance", "_distance"), {Name: "id"}}}),
			"_distance: float32?, id: int64", []string{"_distance=1 id=2", "_distance=4 id=1", "_distance=9 id=0"},
		},
		"distances in a filter of what was found": {
			near(query.Query{Columns: []query.Column{{Name: "id"}}, Filter: "_distance > 1 AND id < 2"}),
			"id: int64, _distance: float32?", []string{"id=1 _distance=4", "id=0 _distance=9"},
		},
	} {
		rows, err := table.Query(t.Context(), engine.AsOf{}, c.q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var fields []string
		for _, f := range rows.Schema.Fields() {
			text := f.Name + ": " + f.Type.String()
			if f.Nullable {
				text += "?"
			}
			fields = append(fields, text)
		}
		if got := strings.Join(fields, ", "); got != c.schema {
			t.Errorf("%s: columns %s, want %s", name, got, c.schema)
		}
		if diff := cmp.Diff(c.rows, enginetest.Lines(t, rows)); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", name, diff)
		}
	}
}

func TestColumnsThatAreRefused(t *testing.T) {
	table := answers(t)
	twice := []query.Column{{Name: "id"}, {Name: "id"}}
	for name, c := range map[string]struct {
		q    *query.Query
		code protocol.Code
	}{
		"a column twice":                  {&query.Query{Columns: twice}, protocol.InvalidInput},
		"a column twice in a search":      {near(query.Query{Columns: twice}), protocol.InvalidInput},
		"distances without a search":      {&query.Query{Columns: []query.Column{formula("d", "_distance + 1")}}, protocol.TableColumnNotFound},
		"distances before the search":     {near(query.Query{Filter: "_distance > 1", Prefilter: true}), protocol.InvalidInput},
		"a search for no rows":            {near(query.Query{Limit: new(int64)}), protocol.InvalidInput},
		"scores of a search for a vector": {near(query.Query{Filter: "_score > 1"}), protocol.InvalidInput},
	} {
		_, err := table.Query(t.Context(), engine.AsOf{}, c.q)
		enginetest.WantCode(t, name, err, c.code)
	}
}
