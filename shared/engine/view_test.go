package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// seen returns the table of answers as a view.
func seen(t *testing.T, by string) *engine.Table {
	t.Helper()
	q, err := selection.Parse(by)
	if err != nil {
		t.Fatal(err)
	}
	return answers(t).WithView(q)
}

func TestViewsAnswerQueries(t *testing.T) {
	renamed := `SELECT id AS key, "a-b" + 1 AS up, p.q.x AS x, p AS whole, v AS place FROM t`
	text := func(columns ...string) []query.Column {
		var p []query.Column
		for _, c := range columns {
			p = append(p, query.Column{Name: c})
		}
		return p
	}
	descending := []query.Order{{Column: "key", Descending: true}}
	for name, c := range map[string]struct {
		view   string
		q      *query.Query
		schema string
		rows   []string
	}{
		"all columns": {
			"SELECT id FROM t WHERE id > 0", &query.Query{Columns: text("*")},
			"id: int64", []string{"id=1", "id=2"},
		},
		"names and values of the view": {
			renamed, &query.Query{Columns: text("key", "up", "x")},
			"key: int64, up: int64?, x: int32?", []string{"key=0 up=8 x=1", "key=1 up=9 x=(null)", "key=2 up=(null) x=3"},
		},
		"a member below a column of the view": {
			renamed, &query.Query{Columns: text("whole.q.x"), Filter: "whole.q.x = 3"},
			"whole.q.x: int32?", []string{"whole.q.x=3"},
		},
		"conditions of both": {
			renamed + " WHERE id < 2", &query.Query{Columns: text("key"), Filter: "up > 8"},
			"key: int64", []string{"key=1"},
		},
		"an expression over an expression": {
			renamed, &query.Query{Columns: []query.Column{formula("n", "up * 10")}, Filter: "abs(up) = 8"},
			"n: int64?", []string{"n=80"},
		},
		"an order": {
			renamed, &query.Query{Columns: text("key"), Order: descending},
			"key: int64", []string{"key=2", "key=1", "key=0"},
		},
		"a search": {
			renamed + " WHERE id < 2", near(query.Query{Columns: text("key"), Nearest: &query.Nearest{Column: "place"}, Limit: rows(1)}),
			"key: int64, _distance: float32?", []string{"key=1 _distance=4"},
		},
		"a search that is filtered after": {
			renamed + " WHERE id < 2", near(query.Query{Columns: text("key"), Filter: "up < 9 AND _distance > 0", Limit: rows(2)}),
			"key: int64, _distance: float32?", []string{"key=0 _distance=9"},
		},
		"a limit": {
			"SELECT id AS key FROM t LIMIT 2", &query.Query{},
			"key: int64", []string{"key=0", "key=1"},
		},
		"a part of a limit": {
			"SELECT id AS key FROM t LIMIT 2", &query.Query{Offset: 1, Limit: rows(5)},
			"key: int64", []string{"key=1"},
		},
		"nothing is left of a limit": {
			"SELECT id AS key FROM t LIMIT 2", &query.Query{Offset: 2},
			"key: int64", []string{},
		},
		"a limit of none": {
			"SELECT id AS key FROM t LIMIT 0", &query.Query{Limit: rows(5)},
			"key: int64", []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := seen(t, c.view).Query(t.Context(), engine.AsOf{}, c.q)
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range answer.Schema.Fields() {
				text := f.Name + ": " + f.Type.String()
				if f.Nullable {
					text += "?"
				}
				fields = append(fields, text)
			}
			if got := strings.Join(fields, ", "); got != c.schema {
				t.Errorf("got columns %s, want %s", got, c.schema)
			}
			if diff := cmp.Diff(c.rows, enginetest.Lines(t, answer)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// rows is the number of rows that a request asks for.
func rows(n int64) *int64 { return &n }

// A literal beside a column of a view takes the type of the column, as beside one that is stored.
func TestColumnsOfViewsHaveTypes(t *testing.T) {
	view := "SELECT id, CAST(id AS float) / 10 AS tenth FROM t"
	for filter, want := range map[string]int64{"tenth = 0.1": 1, "tenth > 0.1": 1, "abs(tenth) = 0.1": 0} {
		got, err := seen(t, view).Count(t.Context(), engine.AsOf{}, filter)
		if err != nil || got.Rows != want {
			t.Errorf("%s: got %v, %v, want %d", filter, got, err, want)
		}
	}
}

func TestViewsAreCounted(t *testing.T) {
	for _, c := range []struct {
		view, predicate string
		want            int64
	}{
		{"SELECT id FROM t", "", 3}, {"SELECT id FROM t WHERE id > 0", "", 2}, {"SELECT id AS a FROM t WHERE id > 0", "a < 2", 1},
		{"SELECT id FROM t LIMIT 2", "", 2}, {"SELECT id FROM t WHERE id > 1 LIMIT 2", "", 1},
	} {
		got, err := seen(t, c.view).Count(t.Context(), engine.AsOf{}, c.predicate)
		if err != nil || got.Rows != c.want {
			t.Errorf("%s, %s: got %v, %v, want %d", c.view, c.predicate, got, err, c.want)
		}
	}
}

func TestQueriesThatAViewCannotAnswerAreRefused(t *testing.T) {
	limited, computed := "SELECT id FROM t LIMIT 2", "SELECT id + 1 AS id, v FROM t"
	for name, c := range map[string]struct {
		view string
		q    *query.Query
		code protocol.Code
		want string
	}{
		"a column of the source":       {"SELECT id AS key FROM t", &query.Query{Columns: []query.Column{{Name: "id"}}}, protocol.TableColumnNotFound, `"id"`},
		"a filter by one":              {"SELECT id AS key FROM t", &query.Query{Filter: "id = 1"}, protocol.InvalidInput, "id"},
		"a column that is gone":        {"SELECT gone FROM t", &query.Query{}, protocol.InvalidInput, "gone"},
		"an order by what is computed": {computed, &query.Query{Order: []query.Order{{Column: "id"}}}, protocol.InvalidInput, "computed"},
		"words":                        {computed, &query.Query{Text: &queryapi.FullTextQuery{Text: "a"}}, protocol.InvalidInput, "words"},
		"a filter after a limit":       {limited, &query.Query{Filter: "id = 1"}, protocol.InvalidInput, "LIMIT"},
		"an order after a limit":       {limited, &query.Query{Order: []query.Order{{Column: "id"}}}, protocol.InvalidInput, "LIMIT"},
		"a search without vectors":     {limited, near(query.Query{}), protocol.InvalidInput, "LIMIT"},
	} {
		_, err := seen(t, c.view).Query(t.Context(), engine.AsOf{}, c.q)
		enginetest.WantCode(t, name, err, c.code)
		if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error about %s", name, err, c.want)
		}
	}
}
