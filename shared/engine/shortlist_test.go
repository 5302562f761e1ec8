package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
)

// createAlike creates a table with an index of texts most of which have the same scores.
func createAlike(t *testing.T) *engine.Table {
	t.Helper()
	rows := make([]string, 4000)
	for id := range rows {
		rows[id] = fmt.Sprintf(`{"id":%d,"text":"word3 word%d"}`, id, id/1300)
	}
	table := enginetest.CreateOf(t, enginetest.Rows(t, wordSchema, "["+strings.Join(rows, ",")+"]"), dataset.CreateOptions{})
	params := fulltext.DefaultParams()
	params.WithPosition = true
	built := partitioned{indexbuild.Index{Name: "words", Column: "text", Kind: indexmeta.Text, Params: params}, 3}
	if _, err := indices.Create(t.Context(), table, built); err != nil {
		t.Fatal(err)
	}
	return table
}

// A search looks up the rows of the best documents only, and one with a filter those of all that may be among them. Both
// find the same, whether no rows are deleted, some, or nearly all, and if many have the same score.
func TestBestDocumentsAreFoundWithAndWithoutTheirRows(t *testing.T) {
	without := func(table *engine.Table, rows string) *engine.Table {
		if _, err := table.Delete(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		return table
	}
	for what, table := range map[string]*engine.Table{
		"some are deleted": createWorded(t), "stable ids": createWordedOf(t, dataset.CreateOptions{StableRowIDs: true}),
		"most are deleted": without(createWorded(t), "id % 50 > 2"), "the best are deleted": without(createWorded(t), "text LIKE '%word12%' AND id % 9 > 0"),
		"alike": createAlike(t), "alike, some are deleted": without(createAlike(t), "id % 3 > 0"),
	} {
		for name, q := range wordQueries() {
			if q.Filter != "" {
				continue
			}
			for _, k := range []int64{1, 2, 10, 60, 3000} {
				q := *q
				q.Limit = &k
				got := enginetest.Show(t, table, &q)
				q.Filter, q.Prefilter = "id >= 0", true
				if diff := cmp.Diff(enginetest.Show(t, table, &q), got); diff != "" {
					t.Errorf("%s: %s, k = %d (-rows as it goes +rows of the best):\n%s", what, name, k, diff)
				}
			}
		}
	}
}
