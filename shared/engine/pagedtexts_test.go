package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol/queryapi"
)

// A text index whose documents are read by page finds the rows that a scan finds.
func TestTextSearchesByPageFindTheRowsOfAScan(t *testing.T) {
	const count = 1<<18 + 5_000 // more documents than an index reads as a whole
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String},
	}, nil)
	rows := dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for at := 0; at < count; at += 1 << 14 {
			batch := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
			for n := at; n < min(at+1<<14, count); n++ {
				batch.Field(0).(*array.Int64Builder).Append(int64(n))
				batch.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("a%d b%d", n%11, n%2017) + strings.Repeat(" zzz", n%13))
			}
			if !yield(batch.NewRecordBatch(), nil) {
				return
			}
		}
	}}
	table := enginetest.CreateOf(t, rows, dataset.CreateOptions{})
	k := int64(40)
	var cases []*query.Query
	for _, text := range []string{"a3 b17", "a4 b9 b10 b11"} {
		cases = append(cases, &query.Query{Text: &queryapi.FullTextQuery{Text: text, Columns: []string{"text"}}})
	}
	for _, node := range []*queryapi.TextQuery{
		{Match: &queryapi.MatchQuery{Terms: "a3 b25", Column: "text", Operator: queryapi.TextAnd}},
		{Boolean: &queryapi.BooleanQuery{
			Must:    []queryapi.TextQuery{{Match: &queryapi.MatchQuery{Terms: "a5", Column: "text"}}},
			MustNot: []queryapi.TextQuery{{Match: &queryapi.MatchQuery{Terms: "b5 b16", Column: "text"}}},
		}},
	} {
		cases = append(cases, &query.Query{Text: &queryapi.FullTextQuery{Node: node}})
	}
	filtered := &query.Query{Text: &queryapi.FullTextQuery{Text: "a3", Columns: []string{"text"}}, Filter: "n % 1000 = 3", Prefilter: true}
	cases = append(cases, filtered, &query.Query{Filter: "contains_tokens(text, 'a7 b40')"})
	show := func() (all [][]string) {
		for _, q := range cases {
			q.Limit, q.Columns = &k, []query.Column{{Name: "n"}}
			lines := enginetest.Show(t, table, q)
			for i := range lines {
				lines[i], _, _ = strings.Cut(lines[i], " _score") // statistics may differ, the order does not
			}
			all = append(all, lines)
		}
		return all
	}
	want := show()
	if _, err := indices.Create(t.Context(), table, indexbuild.Index{Name: "by text", Column: "text", Kind: indexmeta.Text}); err != nil {
		t.Fatal(err)
	}
	got := show()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-scan +index):\n%s", diff)
	}
	for i, lines := range want {
		if len(lines) < 5 {
			t.Errorf("query %d finds %d rows, too few", i, len(lines))
		}
	}
}
