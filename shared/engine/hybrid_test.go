package engine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	gocmp "github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

var described = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

// describedRows returns rows with few different texts and vectors, so that many distances and scores are equal.
func describedRows(r *rand.Rand, from, n int) string {
	rows := make([]string, n)
	for i := range rows {
		words := make([]string, 1+r.IntN(4))
		for w := range words {
			words[w] = []string{"fox", "dog", "cat", "river"}[r.IntN(4)]
		}
		rows[i] = fmt.Sprintf(`{"id":%d,"text":%q,"vector":[%d,%d]}`, from+i, strings.Join(words, " "), r.IntN(4), r.IntN(4))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// describedTable returns a table with or without indices that cover all rows except the last ones.
func describedTable(t *testing.T, r *rand.Rand, indexed bool) *engine.Table {
	t.Helper()
	table := enginetest.Table(memstore.New(), engine.Limits{})
	if _, err := table.Create(t.Context(), enginetest.Rows(t, described, describedRows(r, 0, 60))); err != nil {
		t.Fatal(err)
	}
	if indexed {
		for _, x := range []indexbuild.Index{
			{Name: "words", Column: "text", Kind: indexmeta.Text, Params: fulltext.DefaultParams()},
			{Name: "near", Column: "vector", Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: "IVF_FLAT", Metric: "l2", Partitions: 2}},
		} {
			if _, err := indices.Create(t.Context(), table, x); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := table.Insert(t.Context(), enginetest.Rows(t, described, describedRows(r, 60, 20))); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Delete(t.Context(), "id % 11 = 5"); err != nil {
		t.Fatal(err)
	}
	return table
}

// A ranked row is a row of a hybrid search. Its distance and score are texts, because they may be null.
type ranked struct {
	ID              int64
	Distance, Score string
	Relevance       float32
}

// rankedRows runs a query whose columns are the id and those that a search adds.
func rankedRows(t *testing.T, table *engine.Table, q query.Query) (rows []ranked) {
	t.Helper()
	q.Columns = []query.Column{{Name: "id"}}
	answer, err := table.Query(t.Context(), engine.AsOf{}, &q)
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range answer.Batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			row := ranked{ID: batch.Column(0).(*array.Int64).Value(i)}
			for c, column := range batch.Columns() {
				switch batch.ColumnName(c) {
				case "_distance":
					row.Distance = column.ValueStr(i)
				case "_score":
					row.Score = column.ValueStr(i)
				case "_relevance_score":
					row.Relevance = column.(*array.Float32).Value(i)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// joined is the fusion as the clients of LanceDB compute it from the rows of two queries.
func joined(nearest, words []ranked, f query.Fusion) []ranked {
	var all []ranked
	relevances := map[int64]float64{}
	add := func(rows []ranked, weight float64) {
		for i, row := range rows {
			relevances[row.ID] += weight / float64(int64(i)+1+f.K)
			if at := slices.IndexFunc(all, func(a ranked) bool { return a.ID == row.ID }); at >= 0 {
				all[at].Score = row.Score
				continue
			}
			all = append(all, ranked{ID: row.ID, Distance: cmp.Or(row.Distance, array.NullValueStr), Score: cmp.Or(row.Score, array.NullValueStr)})
		}
	}
	add(nearest, f.Vector)
	add(words, f.Text)
	for i := range all {
		all[i].Relevance = float32(relevances[all[i].ID])
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return all
}

func TestHybridSearchJoinsTheRowsOfTwoQueries(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, indexed := range []bool{false, true} {
		table := describedTable(t, r, indexed)
		for range 200 {
			limit := int64(1 + r.IntN(100))
			q := query.Query{
				Limit: &limit, Offset: int64(r.IntN(3) * r.IntN(20)),
				Filter: []string{"", "id < 40", "id % 2 = 0"}[r.IntN(3)], Prefilter: r.IntN(2) == 0, FastSearch: r.IntN(4) == 0,
				Nearest: &query.Nearest{Vectors: [][]float64{{r.Float64() * 3, r.Float64() * 3}}, BypassIndex: r.IntN(4) == 0},
				Text:    &queryapi.FullTextQuery{Text: []string{"fox", "dog river", "nothing"}[r.IntN(3)], Columns: []string{"text"}},
				Fusion:  query.Fusion{K: int64(1 + r.IntN(80)), Vector: float64(r.IntN(3)), Text: 1},
			}
			if r.IntN(3) == 0 {
				q.Nearest.Upper = new(2.5)
			}
			half := q
			half.Limit, half.Offset = new(limit+q.Offset), 0
			nearest, words := half, half
			nearest.Text, words.Nearest = nil, nil
			want := joined(rankedRows(t, table, nearest), rankedRows(t, table, words), q.Fusion)
			want = want[min(q.Offset, int64(len(want))):]
			want = want[:min(limit, int64(len(want)))]
			if diff := gocmp.Diff(append([]ranked{}, want...), append([]ranked{}, rankedRows(t, table, q)...)); diff != "" {
				t.Fatalf("indexed %t, %+v (-want +got):\n%s", indexed, q, diff)
			}
		}
	}
}

// hybridQuery returns a query for the three best rows of a vector and a word.
func hybridQuery() *query.Query {
	return &query.Query{
		Limit: new(int64(3)), Nearest: &query.Nearest{Vectors: [][]float64{{0, 0}}},
		Text:   &queryapi.FullTextQuery{Text: "fox", Columns: []string{"text"}},
		Fusion: query.Fusion{K: 60, Vector: 1, Text: 1},
	}
}

func TestHybridSearchOrdersTheBestRows(t *testing.T) {
	table := describedTable(t, rand.New(rand.NewPCG(3, 4)), false)
	q := hybridQuery()
	best := rankedRows(t, table, *q)
	slices.SortFunc(best, func(a, b ranked) int { return cmp.Compare(b.ID, a.ID) })
	q.Limit, q.Offset, q.Order = new(int64(2)), 1, []query.Order{desc("id")}
	if diff := gocmp.Diff(best[1:], rankedRows(t, table, *q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanOfAHybridSearchHasBothHalves(t *testing.T) {
	q := hybridQuery()
	q.Filter, q.Offset, q.Columns = "id < 9", 1, []query.Column{{Name: "id"}}
	got, err := describedTable(t, rand.New(rand.NewPCG(3, 4)), false).Explain(t.Context(), engine.AsOf{}, q, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `
Project: columns=[id, _distance, _score, _relevance_score], native=ProjectionExec
  Take: columns=[id], offset=1, native=LanceRead+GlobalLimitExec
    Fuse: method=rrf, k=60, weights=[vector=1, text=1], limit=4
      Filter: filter=id < 9, columns=[id], native=FilterExec
        Nearest: column=vector, metric=l2, k=4, queries=1, index=none, native=SortExec+TopK+KNNVectorDistance
          Scan: columns=[vector], native=LanceRead+LanceScan
      Filter: filter=id < 9, columns=[id], native=FilterExec
        MatchText: columns=[text], k=4, native=MatchQuery+GlobalLimitExec+FlatMatchQuery
          Scan: columns=[text], native=LanceRead+LanceScan
`
	if diff := gocmp.Diff(want[1:], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHybridSearchRefusesSeveralQueriesAndElements(t *testing.T) {
	table := enginetest.Create(t, arrow.NewSchema(append(described.Fields(), arrow.Field{Name: "texts", Type: arrow.ListOf(arrow.BinaryTypes.String)}), nil),
		`[{"id":1,"text":"a","vector":[1,2],"texts":["a"]}]`)
	for name, change := range map[string]func(*query.Query){
		"several query vectors": func(q *query.Query) { q.Nearest.Vectors, q.Nearest.Numbered = [][]float64{{0, 0}, {1, 1}}, true },
		"list elements": func(q *query.Query) {
			q.Text = &queryapi.FullTextQuery{Node: &queryapi.TextQuery{Match: &queryapi.MatchQuery{Terms: "a", Column: "texts", Documents: queryapi.GranularityElement}}}
		},
	} {
		q := hybridQuery()
		change(q)
		_, err := table.Query(t.Context(), engine.AsOf{}, q)
		if protocol.CodeOf(err) != protocol.InvalidInput || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want InvalidInput that names them", name, err)
		}
	}
}

func TestHybridSearchAcceptsSeveralVectorsForListsOfVectors(t *testing.T) {
	many := arrow.Field{Name: "many", Type: arrow.ListOf(described.Field(2).Type), Nullable: true}
	table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{described.Field(0), described.Field(1), many}, nil),
		`[{"id":1,"text":"dog","many":[[5,5]]},{"id":2,"text":"fox","many":[[0,0],[9,9]]}]`)
	q := hybridQuery()
	q.Nearest = &query.Nearest{Vectors: [][]float64{{0, 0}, {1, 1}}, Numbered: true, Column: "many"}
	want := []ranked{{2, "2", "0.6931472", float32(2.0 / 61)}, {1, "82", array.NullValueStr, float32(1.0 / 62)}}
	if diff := gocmp.Diff(want, rankedRows(t, table, *q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
