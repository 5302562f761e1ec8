package engine_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
)

func TestPlansTellTheSteps(t *testing.T) {
	table, lower := points(t), 4.0
	near := &query.Nearest{Vectors: [][]float64{{0, 0}}}
	three := int64(3)
	for name, c := range map[string]struct {
		q       query.Query
		verbose bool
		want    string
	}{
		"scan": {
			query.Query{Limit: &three, Offset: 2, Filter: "id > 4"}, false, `
Project: columns=[id, vector], native=ProjectionExec
  Scan: columns=[id, vector], filter=id > 4, offset=2, limit=3, native=LanceRead+LanceScan+FilterExec+GlobalLimitExec
`,
		},
		"verbose": {
			query.Query{Columns: []query.Column{{Name: "x", Expression: "id + 1"}}}, true, `
Project: columns=[x], types=[int64], native=ProjectionExec
  Scan: columns=[id], version=1, fragments=1, rows=10, deleted_rows=0, bytes_estimate=80, native=LanceRead+LanceScan
`,
		},
		"sort": {
			query.Query{Limit: &three, Order: []query.Order{desc("id")}}, false, `
Project: columns=[id, vector], native=ProjectionExec
  Sort: by=[id desc], limit=3, native=SortExec+TopK
    Scan: columns=[id, vector], native=LanceRead+LanceScan
`,
		},
		"search": {
			query.Query{Limit: &three, Offset: 1, Nearest: &query.Nearest{Vectors: near.Vectors, Lower: &lower}, Filter: "id < 9"}, false, `
Project: columns=[id, vector, _distance], native=ProjectionExec
  Take: columns=[id, vector], offset=1, native=LanceRead+GlobalLimitExec
    Filter: filter=id < 9, columns=[id], native=FilterExec
      Nearest: column=vector, metric=l2, k=4, queries=1, index=none, from=4, native=SortExec+TopK+KNNVectorDistance
        Scan: columns=[vector], native=LanceRead+LanceScan
`,
		},
		"fast search": {
			query.Query{Limit: &three, Nearest: near, FastSearch: true, Filter: "id < 9", Prefilter: true, Columns: []query.Column{{Name: "id"}}}, false, `
Project: columns=[id, _distance], native=ProjectionExec
  Take: columns=[id], native=LanceRead
    Nearest: column=vector, metric=l2, k=3, queries=1, index=none (nothing to search fast), native=SortExec+TopK+KNNVectorDistance
      Scan: columns=[vector], filter=id < 9, native=LanceRead+LanceScan+FilterExec
`,
		},
	} {
		got, err := table.Explain(t.Context(), engine.AsOf{}, &c.q, c.verbose)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want[1:], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnalyzeMeasuresTheSteps(t *testing.T) {
	table := points(t)
	three := int64(3)
	q := &query.Query{
		Limit: &three, Nearest: &query.Nearest{Vectors: [][]float64{{0, 0}}}, Filter: "id > 4", Prefilter: true,
		Columns: []query.Column{{Name: "id"}},
	}
	text, err := table.Analyze(t.Context(), engine.AsOf{}, q)
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(elapsed|bytes_read|requests)=[^],]+`).ReplaceAllString(text, "$1=*")
	want := `Query: version=1 [rows=3, elapsed=*]
  Project: columns=[id, _distance], types=[int64, float32], native=ProjectionExec [rows=3, batches=1, bytes=36, elapsed=*]
    Take: columns=[id], native=LanceRead [rows=3, batches=1, bytes=24, requests=*, bytes_read=*, elapsed=*]
      Nearest: column=vector, metric=l2, k=3, queries=1, index=none, native=SortExec+TopK+KNNVectorDistance [rows=3, elapsed=*]
        Scan: columns=[vector], filter=id > 4, filter_columns=[id], version=1, fragments=1, rows=10, deleted_rows=0, bytes_estimate=80, native=LanceRead+LanceScan+FilterExec [rows=5, batches=1, bytes=80, requests=*, bytes_read=*, elapsed=*]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A fast search of a table without an index finds nothing, as in native Lance.
func TestFastSearchWithoutAnIndexFindsNothing(t *testing.T) {
	table := points(t)
	q := &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{{0, 0}}}, FastSearch: true}
	if got := enginetest.Show(t, table, q); len(got) != 0 {
		t.Errorf("found %v", got)
	}
}
