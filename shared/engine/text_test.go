package engine_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// nativeTexts is the table in testdata/text.
func nativeTexts(t *testing.T, limits engine.Limits) *engine.Table {
	t.Helper()
	return enginetest.NativeTable(t, "testdata/text/table.lance", limits)
}

func textAnswers(t *testing.T) []textAnswer {
	t.Helper()
	data, err := os.ReadFile("testdata/text/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers []textAnswer
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

type textAnswer struct {
	Request queryapi.Request  // for words, with or without a filter
	Scores  map[int64]float64 // by id
}

func (a textAnswer) query() *query.Query {
	return &query.Query{
		Text: a.Request.FullTextQuery, Filter: a.Request.Filter, Prefilter: a.Request.Prefilter, Columns: []query.Column{{Name: "id"}},
	}
}

// scoresOf returns the answer to a query by id, and fails unless the best come first.
func scoresOf(t *testing.T, table *engine.Table, q *query.Query) map[int64]float64 {
	t.Helper()
	rows, err := table.Query(t.Context(), engine.AsOf{}, q)
	if err != nil {
		t.Fatal(err)
	}
	scores, last := map[int64]float64{}, math.Inf(1)
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			score := float64(batch.Column(1).(*array.Float32).Value(i))
			if score > last {
				t.Errorf("a score of %v comes after %v", score, last)
			}
			last = score
			scores[batch.Column(0).(*array.Int64).Value(i)] = score
		}
	}
	return scores
}

// closeScores compares scores within rounding.
var closeScores = cmp.Comparer(func(a, b float64) bool {
	return math.Abs(a-b) <= 1e-5*max(1, math.Abs(a), math.Abs(b))
})

func TestTextScoresAreThoseOfNativeLance(t *testing.T) {
	table := nativeTexts(t, engine.Limits{})
	for i, answer := range textAnswers(t) {
		if diff := cmp.Diff(answer.Scores, scoresOf(t, table, answer.query()), closeScores); diff != "" {
			t.Errorf("query %d: want -, got +:\n%s", i, diff)
		}
	}
}

func textTable(t *testing.T) *engine.Table {
	t.Helper()
	return enginetest.Create(t, pairs, `[{"id":1,"v":"quick fox"},{"id":2,"v":"lazy dog"},{"id":3,"v":null},{"id":4,"v":"fox fox dog"},{"id":5,"v":"Fox"}]`)
}

func wordQuery(text string) *query.Query {
	q := &query.Query{Text: new(queryapi.FullTextQuery)}
	if err := json.Unmarshal([]byte(text), q.Text); err != nil {
		panic(err)
	}
	return q
}

func TestTextOfColumnsWithoutAnIndexIsTakenAsItStands(t *testing.T) {
	q := wordQuery(`{"query":"fox","columns":["v"]}`)
	q.WithRowID = true
	got := enginetest.Show(t, textTable(t), q)
	want := []string{"id=4 v=fox fox dog _score=0.83557475 _rowid=3", "id=1 v=quick fox _score=0.6931472 _rowid=0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows with fox: want -, got +:\n%s", diff)
	}
}

func TestTextSearchHeedsLimitOffsetAndFilters(t *testing.T) {
	table, one := textTable(t), int64(1)
	for _, c := range []struct {
		name   string
		change func(*query.Query)
		want   []string
	}{
		{"limit", func(r *query.Query) { r.Limit = &one }, []string{"id=4"}},
		{"offset", func(r *query.Query) { r.Offset = 1 }, []string{"id=1"}},
		{"limit and offset", func(r *query.Query) { r.Limit, r.Offset = &one, 1 }, []string{"id=1"}},
		{"filter before", func(r *query.Query) { r.Limit, r.Filter, r.Prefilter = &one, "id < 4", true }, []string{"id=1"}},
		{"filter after", func(r *query.Query) { r.Limit, r.Filter = &one, "id < 4" }, []string{}},
		{"another order", func(r *query.Query) { r.Order = []query.Order{asc("id")} }, []string{"id=1", "id=4"}},
		{"order of the best", func(r *query.Query) { r.Limit, r.Order = &one, []query.Order{asc("id")} }, []string{"id=4"}},
		{"offset in another order", func(r *query.Query) { r.Limit, r.Offset, r.Order = &one, 1, []query.Order{asc("id")} }, []string{"id=4"}},
		{"only indexed rows", func(r *query.Query) { r.FastSearch = true }, []string{}},
	} {
		q := wordQuery(`{"query":"fox","columns":["v"]}`)
		q.Columns = []query.Column{{Name: "id"}}
		c.change(q)
		got := enginetest.Show(t, table, q)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], " ")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", c.name, diff)
		}
	}
}

func TestPlanOfATextSearchInAnotherOrder(t *testing.T) {
	three := int64(3)
	q := wordQuery(`{"query":"fox","columns":["v"]}`)
	q.Limit, q.Filter, q.Order, q.Columns = &three, "id < 9", []query.Order{desc("id")}, []query.Column{{Name: "id"}}
	got, err := textTable(t).Explain(t.Context(), engine.AsOf{}, q, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `
Project: columns=[id, _score], native=ProjectionExec
  Take: columns=[id], native=LanceRead
    Sort: by=[id desc], columns=[id], native=SortExec
      Filter: filter=id < 9, columns=[id], native=FilterExec
        MatchText: columns=[v], k=3, native=MatchQuery+GlobalLimitExec+FlatMatchQuery
          Scan: columns=[v], native=LanceRead+LanceScan
`
	if diff := cmp.Diff(want[1:], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextSearchesThatMakeNoSenseAreInvalid(t *testing.T) {
	table := textTable(t)
	for query, code := range map[string]protocol.Code{
		`{"query":"fox"}`:                                                             protocol.InvalidInput,
		`{"query":"fox","columns":["id"]}`:                                            protocol.InvalidInput,
		`{"query":"fox","columns":["w"]}`:                                             protocol.TableColumnNotFound,
		`{"query":{"match":{"terms":"fox","column":"v","boost":-1}}}`:                 protocol.InvalidInput,
		`{"query":{"boolean":{"must_not":[{"match":{"terms":"fox","column":"v"}}]}}}`: protocol.InvalidInput,
		`{"query":{"combined_fields":{"query":"fox","columns":["v"]}}}`:               protocol.InvalidInput,
		`{"query":{"phrase":{"terms":"fox","column":"v","slop":-1}}}`:                 protocol.InvalidInput,
		`{"query":{"multi_match":{"query":"fox","columns":[]}}}`:                      protocol.InvalidInput,
	} {
		_, err := table.Query(t.Context(), engine.AsOf{}, wordQuery(query))
		if got := protocol.CodeOf(err); got != code {
			t.Errorf("%s: error %v has code %v, want %v", query, err, got, code)
		}
	}
}

// A search may find more rows than one answer holds; then a limit has to be given.
func TestTextSearchesFindAsManyRowsAsMayBeHeld(t *testing.T) {
	table := enginetest.Table(memstore.New(), engine.Limits{TopK: 2})
	if _, err := table.Create(t.Context(), enginetest.Rows(t, pairs, `[{"id":1,"v":"a"},{"id":2,"v":"a"},{"id":3,"v":"a b"}]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Query(t.Context(), engine.AsOf{}, wordQuery(`{"query":"a","columns":["v"]}`)); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("all of three rows with room for two: error is %v, want InvalidInput", err)
	}
	two := int64(2)
	q := wordQuery(`{"query":"a","columns":["v"]}`)
	q.Limit = &two
	if got := enginetest.Show(t, table, q); len(got) != 2 {
		t.Errorf("the best two of three rows are %q", got)
	}
	if got := enginetest.Show(t, table, wordQuery(`{"query":"b","columns":["v"]}`)); len(got) != 1 {
		t.Errorf("the only row with b is %q", got)
	}
}
