package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestUpdatedRowsKeepTheirIDs(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.CreateStable(t, table, 3)
	want := datasettest.Lineages(t, d)
	rows := datasettest.AddressesOf(t, d, datasettest.Multiples(7)) // 0 7 14 21 28
	made, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(rows...), Moved: rows[:4], Insert: datasettest.RowsOf(0, 7, 14, 21, 100, 101)})
	if err != nil {
		t.Fatal(err)
	}
	version := made.Dataset.Version()
	for _, id := range []int64{0, 7, 14, 21} {
		l := want[id]
		l.Updated = version
		want[id] = l
	}
	delete(want, 28)
	want[100] = datasettest.Lineage{ID: 100, RowID: 30, Created: version, Updated: version}
	want[101] = datasettest.Lineage{ID: 101, RowID: 31, Created: version, Updated: version}
	if diff := cmp.Diff(want, datasettest.Lineages(t, made.Dataset)); diff != "" {
		t.Errorf("lineage (-want +got):\n%s", diff)
	}
	if got, want := made.Dataset.Manifest().NextRowID, uint64(32); got != want {
		t.Errorf("next row id %d, want %d", got, want)
	}
}

// When an update is rebased over an append, its new rows get ids that the append did not use.
func TestRebasedUpdateTakesFreshRowIDs(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	a, b := datasettest.TableIn(store), datasettest.TableIn(store)
	d := datasettest.CreateStable(t, a, 1)
	if _, err := b.Append(ctx, datasettest.RowsOf(50, 51)); err != nil {
		t.Fatal(err)
	}
	rows := datasettest.AddressesOf(t, d, nil)[:1]
	made, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(rows...), Moved: rows, Insert: datasettest.RowsOf(0, 60)})
	if err != nil {
		t.Fatal(err)
	}
	got := datasettest.Lineages(t, made.Dataset)
	for id, want := range map[int64]datasettest.Lineage{0: {ID: 0, RowID: 0, Created: 1, Updated: 3}, 50: {ID: 50, RowID: 10, Created: 2, Updated: 2}, 60: {ID: 60, RowID: 12, Created: 3, Updated: 3}} {
		if got[id] != want {
			t.Errorf("row %d: %+v, want %+v", id, got[id], want)
		}
	}
}

func TestDeletesInOneFragmentGoTogether(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	a, b := datasettest.TableIn(store), datasettest.TableIn(store)
	da := datasettest.Create(t, a, datasettest.UpTo(10)...)
	db, err := b.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows := datasettest.AddressesOf(t, da, nil)
	if _, err := da.Delete(ctx, rowset.At(rows[:3]...), "id < 3"); err != nil {
		t.Fatal(err)
	}
	made, err := db.Delete(ctx, rowset.At(rows[5:7]...), "5 and 6")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, made.Dataset, snapshot.ScanOptions{}), []int64{3, 4, 7, 8, 9}; !cmp.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	txn, err := made.Dataset.Transaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if op, ok := txn.Operation.(*pb.Delete); !ok || op.Predicate != "5 and 6" || op.UpdatedFragments[0].DeletionFile.DeletedRows != 5 {
		t.Errorf("transaction %+v, want a Delete that leaves 5 rows", txn.Operation)
	}
	if _, err := db.Delete(ctx, rowset.At(rows[2:4]...), ""); !dataset.IsRowsChanged(err) || !errors.Is(err, dataset.ErrConflict) {
		t.Errorf("delete of a row that is gone: %v, want a conflict that says to try again", err)
	}
	if _, err := made.Dataset.Delete(ctx, rowset.At(10), ""); err == nil {
		t.Error("delete of a row past the fragment succeeds")
	}
	if _, err := made.Dataset.Delete(ctx, rowset.At(5<<32), ""); err == nil {
		t.Error("delete in a fragment that is not there succeeds")
	}
}

func TestRestoreBringsAVersionBack(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.CreateStable(t, table, 2)
	if _, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(2))...), ""); err != nil {
		t.Fatal(err)
	}
	restored, err := table.Restore(ctx, d.Version())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(datasettest.Lineages(t, d), datasettest.Lineages(t, restored)); diff != "" {
		t.Error(diff)
	}
	if got, want := restored.Version(), d.Version()+2; got != want {
		t.Errorf("version %d, want %d", got, want)
	}
	if _, err := table.Restore(ctx, 1); err != nil {
		t.Fatal(err)
	}
	made, err := table.Append(ctx, datasettest.RowsOf(77))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.Lineages(t, made.Dataset)[77].RowID, uint64(20); got != want {
		t.Errorf("a row after the restore has id %d, want %d: ids are not given twice", got, want)
	}
	if _, err := table.Restore(ctx, 99); !errors.Is(err, dataset.ErrNoVersion) {
		t.Errorf("restore of no version: %v, want ErrNoVersion", err)
	}
}

// Rewritten rows are found at the addresses that Moved returns.
func TestRewriteMovesRows(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		table := datasettest.TableIn(memstore.New())
		d := datasettest.CreateStable(t, table, 5)
		gone := datasettest.AddressesOf(t, d, datasettest.Multiples(rapid.Int64Range(2, 9).Draw(t, "deleted multiples of")))
		made, err := d.Delete(ctx, rowset.At(gone...), "")
		if err != nil {
			t.Fatal(err)
		}
		d = made.Dataset
		cut := rapid.IntRange(1, len(d.Manifest().Fragments)).Draw(t, "first group")
		var groups [][]uint64
		for i, f := range d.Manifest().Fragments {
			if i == 0 || i == cut {
				groups = append(groups, nil)
			}
			groups[len(groups)-1] = append(groups[len(groups)-1], f.ID)
		}
		rewriting, err := compaction.Rewrite(ctx, d, groups)
		if err != nil {
			t.Fatal(err)
		}
		rewritten, err := rewriting.Commit(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(datasettest.Lineages(t, d), datasettest.Lineages(t, rewritten)); diff != "" {
			t.Fatalf("lineage (-before +after):\n%s", diff)
		}
		if got := rewritten.Stats(); len(got.Lengths) != len(groups) || got.DeletedRows != 0 {
			t.Fatalf("stats %+v, want %d fragments and nothing deleted", got, len(groups))
		}
		for _, address := range datasettest.AddressesOf(t, d, nil) {
			to, ok, err := rewriting.Moved(ctx, address)
			if err != nil || !ok {
				t.Fatalf("row %x went nowhere: %v", address, err)
			}
			before, err := d.Take(ctx, []string{"id"}, []uint64{address})
			if err != nil {
				t.Fatal(err)
			}
			after, err := rewritten.Take(ctx, []string{"id"}, []uint64{to})
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(before.Column(0), after.Column(0)) {
				t.Fatalf("row %x is %s; at %x is %s", address, before.Column(0), to, after.Column(0))
			}
		}
		if _, ok, err := rewriting.Moved(ctx, gone[0]); ok || err != nil {
			t.Fatalf("the deleted row %x went somewhere (%v)", gone[0], err)
		}
	})
}

func TestRewriteIsStaleAfterADelete(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.CreateStable(t, table, 2)
	rewriting, err := compaction.Rewrite(ctx, d, [][]uint64{{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(ctx, rowset.At(3), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := rewriting.Commit(ctx, nil); !dataset.IsRowsChanged(err) {
		t.Errorf("%v, want that it be worked out again", err)
	}
}

// Each operation is tried with a crash, a lost answer and an error at each of its
// requests. Afterwards the table is as before or as it should be, and the latter when the
// operation said so.
func TestOperationsSurviveACrashAnywhere(t *testing.T) {
	ctx := context.Background()
	all := func(d *dataset.Dataset) string {
		return fmt.Sprint(d.ArrowSchema().Fields(), datasettest.IDsOf(t, d, snapshot.ScanOptions{}), d.Stats(), d.Manifest().Config)
	}
	value := "b"
	for name, do := range map[string]func(*dataset.Dataset) error{
		"delete": func(d *dataset.Dataset) error {
			_, err := d.Delete(ctx, rowset.At(1, 1<<32|2), "")
			return err
		},
		"replace": func(d *dataset.Dataset) error {
			rows := []uint64{1, 1<<32 | 2}
			_, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(rows...), Moved: rows, Insert: datasettest.RowsOf(1, 12, 77)})
			return err
		},
		"add columns": func(d *dataset.Dataset) error {
			_, err := alter.AddColumns(ctx, d, datasettest.Double("y"))
			return err
		},
		"drop columns": func(d *dataset.Dataset) error {
			_, err := alter.DropColumns(ctx, d, []string{"v"})
			return err
		},
		"restore": func(d *dataset.Dataset) error {
			_, err := d.Table().Restore(ctx, 1)
			return err
		},
		"config": func(d *dataset.Dataset) error {
			_, err := d.Commit(ctx, &pb.UpdateConfig{Config: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: "a", Value: &value}}}})
			return err
		},
		"overwrite": func(d *dataset.Dataset) error {
			_, err := d.Table().Overwrite(ctx, datasettest.RowsOf(5), map[string]string{"a": "b"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { datasettest.CrashAnywhere(t, do, all) })
	}
}
