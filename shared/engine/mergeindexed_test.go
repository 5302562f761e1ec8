package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A merge that looks its keys up in an index has the outcome of one that reads all keys, also after
// deletions, and when the index does not cover all rows.
func TestMergesByAnIndexComeOutAsThoseWithout(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	asked := 0
	for range 25 {
		stable, keys := r.IntN(2) == 0, 3+r.IntN(40)
		kind := []indexmeta.Kind{indexmeta.BTree, indexmeta.Bitmap}[r.IntN(2)]
		seed := r.Uint64()
		twins := []*engine.Table{enginetest.Table(memstore.New(), engine.Limits{IndexBytes: 1, IndexShare: 2}), enginetest.Table(memstore.New(), engine.Limits{IndexBytes: 1 << 50})}
		steps := r.IntN(6) + 2
		var shown [2]string
		for i, table := range twins {
			shown[i] = mergeHistory(t, table, rand.New(rand.NewPCG(seed, 1)), kind, stable, keys, steps)
		}
		if diff := cmp.Diff(shown[1], shown[0]); diff != "" {
			t.Fatalf("with an index (-without +with):\n%s", diff)
		}
		d, err := twins[0].Data().Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		source, err := merge.ReadSource(t.Context(), randomRows(t, r, wideRows, 5, keys), 1<<20, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		means := twins[0].Engine().MergeMeans()
		having := means.Having
		means.Having = merge.Having(func(ctx context.Context, d *dataset.Dataset, column string, values arrow.Array) (*snapshot.Candidates, error) {
			found, err := having(ctx, d, column, values)
			if found != nil {
				asked++
			}
			return found, err
		})
		if _, err := merge.NewPlan(t.Context(), d, source, merge.Spec{On: []string{"s", "k"}, InsertAll: true}, means); err != nil {
			t.Fatal(err)
		}
		source.Close()
	}
	if asked < 20 {
		t.Errorf("the index was asked for the keys of %d merges of 25", asked)
	}
}

// mergeHistory changes a table at random, and shows its rows after each change.
func mergeHistory(t *testing.T, table *engine.Table, r *rand.Rand, kind indexmeta.Kind, stable bool, keys, steps int) string {
	t.Helper()
	ctx, shown := t.Context(), []string{}
	if _, err := table.Data().CreateAs(ctx, randomRows(t, r, wideRows, 60, keys), dataset.CreateOptions{StableRowIDs: stable}); err != nil {
		t.Fatal(err)
	}
	if _, err := indices.Create(ctx, table, indexbuild.Index{Name: "by k", Column: "k", Kind: kind}); err != nil {
		t.Fatal(err)
	}
	for range steps {
		var outcome any
		var err error
		switch r.IntN(4) {
		case 0:
			_, err = table.Delete(ctx, fmt.Sprintf("v = %d", r.IntN(5)))
		case 1:
			_, err = table.Insert(ctx, randomRows(t, r, wideRows, 5, keys))
		default:
			spec := merge.Spec{On: []string{"k"}, UpdateAll: r.IntN(2) == 0, InsertAll: true}
			if r.IntN(3) == 0 {
				spec.On = []string{"s", "k"}
			}
			if r.IntN(5) == 0 {
				spec.BySource = true
			}
			var done engine.Written
			done, err = table.Merge(ctx, randomRows(t, r, wideRows, 1+r.IntN(6), keys), spec)
			done.Transaction = ""
			outcome = done
		}
		lines := enginetest.Show(t, table, &query.Query{Columns: []query.Column{
			{Name: "k"}, {Name: "s"}, {Name: "v"}, {Name: "w"}, {Name: snapshot.RowID},
		}})
		slices.Sort(lines)
		shown = append(shown, fmt.Sprintln(outcome, err), strings.Join(lines, "\n"))
	}
	return strings.Join(shown, "\n")
}
