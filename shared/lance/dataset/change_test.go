package dataset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/faultstore"
	"tiltyard/shared/objectstore/memstore"
)

// A lineage is what a table with stable row ids knows of a row.
type lineage struct {
	ID               int64
	RowID            uint64
	Created, Updated uint64
}

// lineages reads those of all rows, by their column id, from the manifest itself.
func lineages(t datasettest.Fataler, d *Dataset) map[int64]lineage {
	t.Helper()
	ctx := context.Background()
	found := map[int64]lineage{}
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id", snapshot.RowID, snapshot.RowAddr}})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		ids, rowIDs, addresses := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Uint64), batch.Column(2).(*array.Uint64)
		for i := range ids.Len() {
			f := d.Fragment(addresses.Value(i) >> 32)
			created, err := f.CreatedAt(ctx)
			if err != nil {
				t.Fatal(err)
			}
			updated, err := f.UpdatedAt(ctx)
			if err != nil {
				t.Fatal(err)
			}
			row := int64(uint32(addresses.Value(i)))
			found[ids.Value(i)] = lineage{ids.Value(i), rowIDs.Value(i), created(row), updated(row)}
		}
	}
	return found
}

// createStable makes a table of fragments of ten rows, with stable row ids.
func createStable(t datasettest.Fataler, table *Table, fragments int64) *Dataset {
	t.Helper()
	ctx := context.Background()
	made, err := table.CreateAs(ctx, rowsOf(datasettest.UpTo(10)...), CreateOptions{StableRowIDs: true})
	for n := int64(10); err == nil && n < 10*fragments; n += 10 {
		made, err = table.Append(ctx, rowsOf(datasettest.UpTo(n + 10)[n:]...))
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

func TestUpdatedRowsKeepTheirIDs(t *testing.T) {
	ctx := t.Context()
	table := tableIn(memstore.New())
	d := createStable(t, table, 3)
	want := lineages(t, d)
	rows := datasettest.AddressesOf(t, d, datasettest.Multiples(7)) // 0 7 14 21 28
	made, err := d.Replace(ctx, Replacement{Delete: rowset.At(rows...), Moved: rows[:4], Insert: rowsOf(0, 7, 14, 21, 100, 101)})
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
	want[100] = lineage{100, 30, version, version}
	want[101] = lineage{101, 31, version, version}
	if diff := cmp.Diff(want, lineages(t, made.Dataset)); diff != "" {
		t.Errorf("lineage (-want +got):\n%s", diff)
	}
	if got, want := made.Dataset.Manifest().NextRowID, uint64(32); got != want {
		t.Errorf("next row id %d, want %d", got, want)
	}
}

// Of an update that is rebased over an append the new rows get ids that the append did not take.
func TestRebasedUpdateTakesFreshRowIDs(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	a, b := tableIn(store), tableIn(store)
	d := createStable(t, a, 1)
	if _, err := b.Append(ctx, rowsOf(50, 51)); err != nil {
		t.Fatal(err)
	}
	rows := datasettest.AddressesOf(t, d, nil)[:1]
	made, err := d.Replace(ctx, Replacement{Delete: rowset.At(rows...), Moved: rows, Insert: rowsOf(0, 60)})
	if err != nil {
		t.Fatal(err)
	}
	got := lineages(t, made.Dataset)
	for id, want := range map[int64]lineage{0: {0, 0, 1, 3}, 50: {50, 10, 2, 2}, 60: {60, 12, 3, 3}} {
		if got[id] != want {
			t.Errorf("row %d: %+v, want %+v", id, got[id], want)
		}
	}
}

func TestDeletesInOneFragmentGoTogether(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	a, b := tableIn(store), tableIn(store)
	da := mustCreate(t, a, datasettest.UpTo(10)...)
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
	if _, err := db.Delete(ctx, rowset.At(rows[2:4]...), ""); !IsRowsChanged(err) || !errors.Is(err, ErrConflict) {
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
	table := tableIn(memstore.New())
	d := createStable(t, table, 2)
	if _, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(2))...), ""); err != nil {
		t.Fatal(err)
	}
	restored, err := table.Restore(ctx, d.Version())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lineages(t, d), lineages(t, restored)); diff != "" {
		t.Error(diff)
	}
	if got, want := restored.Version(), d.Version()+2; got != want {
		t.Errorf("version %d, want %d", got, want)
	}
	if _, err := table.Restore(ctx, 1); err != nil {
		t.Fatal(err)
	}
	made, err := table.Append(ctx, rowsOf(77))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := lineages(t, made.Dataset)[77].RowID, uint64(20); got != want {
		t.Errorf("a row after the restore has id %d, want %d: ids are not given twice", got, want)
	}
	if _, err := table.Restore(ctx, 99); !errors.Is(err, ErrNoVersion) {
		t.Errorf("restore of no version: %v, want ErrNoVersion", err)
	}
}

func TestCloneRefersToTheFilesOfItsSource(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	session := tableIn(store).session
	at := func(name string) *Table {
		return session.Table(objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name}, 0)
	}
	d := mustCreate(t, at("a.lance"), datasettest.UpTo(10)...)
	made, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(2))...), "")
	if err != nil {
		t.Fatal(err)
	}
	clone, err := made.Dataset.Clone(ctx, at("b.lance"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, clone, snapshot.ScanOptions{}), []int64{1, 3, 5, 7, 9}; !cmp.Equal(got, want) || clone.Version() != 2 {
		t.Errorf("version %d of the clone holds %v, want %v in version 2", clone.Version(), got, want)
	}
	deleted, err := clone.Delete(ctx, rowset.At(datasettest.AddressesOf(t, clone, datasettest.Multiples(3))...), "")
	if err != nil {
		t.Fatal(err)
	}
	appended, err := at("b.lance").Append(ctx, rowsOf(50))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, appended.Dataset, snapshot.ScanOptions{}), []int64{1, 5, 7, 50}; !cmp.Equal(got, want) {
		t.Errorf("the clone holds %v, want %v", got, want)
	}
	if deleted.Dataset.Version() != 3 {
		t.Errorf("version %d of the clone, want 3", deleted.Dataset.Version())
	}
	if _, err := d.Clone(ctx, at("b.lance"), ""); !errors.Is(err, ErrTableExists) {
		t.Errorf("clone over a table: %v, want ErrTableExists", err)
	}
}

// A deep clone of a shallow clone, whose files lie in two folders, needs neither of the two.
func TestDeepCloneNeedsNoOtherFolder(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	session := tableIn(store).session
	at := func(name string) *Table {
		return session.Table(objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name}, 0)
	}
	d := mustCreate(t, at("a.lance"), datasettest.UpTo(10)...)
	made, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(2))...), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.Dataset.Clone(ctx, at("b.lance"), ""); err != nil {
		t.Fatal(err)
	}
	shallow, err := at("b.lance").Append(ctx, rowsOf(50))
	if err != nil {
		t.Fatal(err)
	}
	deep, err := shallow.Dataset.DeepClone(ctx, at("c.lance"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := store.List(ctx, objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects.Objects {
		if !strings.HasPrefix(o.Key, "c.lance/") {
			if err := store.Delete(ctx, o.Key, objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh, err := tableIn(store).session.Table(objectstore.Location{URI: "memory://test/c.lance", Store: store, Prefix: "c.lance"}, 0).Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, fresh, snapshot.ScanOptions{}), []int64{1, 3, 5, 7, 9, 50}; !cmp.Equal(got, want) {
		t.Errorf("the clone holds %v, want %v", got, want)
	}
	if m := fresh.Manifest(); len(m.BasePaths) != 0 || m.Version != shallow.Dataset.Version() || deep.Version() != m.Version {
		t.Errorf("version %d with base paths %v, want version %d without any", m.Version, m.BasePaths, shallow.Dataset.Version())
	}
	if _, err := deep.DeepClone(ctx, at("c.lance")); !errors.Is(err, ErrTableExists) {
		t.Errorf("deep clone over a table: %v, want ErrTableExists", err)
	}
}

// Rewritten rows are the same, where Moved says.
func TestRewriteMovesRows(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		table := tableIn(memstore.New())
		d := createStable(t, table, 5)
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
		rewriting, err := d.Rewrite(ctx, groups)
		if err != nil {
			t.Fatal(err)
		}
		rewritten, err := rewriting.Commit(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(lineages(t, d), lineages(t, rewritten)); diff != "" {
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
	table := tableIn(memstore.New())
	d := createStable(t, table, 2)
	rewriting, err := d.Rewrite(ctx, [][]uint64{{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(ctx, rowset.At(3), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := rewriting.Commit(ctx, nil); !IsRowsChanged(err) {
		t.Errorf("%v, want that it be worked out again", err)
	}
}

// Each operation is tried with a crash, a lost answer and an error at each of its
// requests. Afterwards the table is as before or as it should be, and the latter when the
// operation said so.
func TestOperationsSurviveACrashAnywhere(t *testing.T) {
	ctx := context.Background()
	all := func(d *Dataset) string {
		return fmt.Sprint(d.ArrowSchema().Fields(), datasettest.IDsOf(t, d, snapshot.ScanOptions{}), d.Stats(), d.Manifest().Config)
	}
	value := "b"
	for name, do := range map[string]func(*Dataset) error{
		"delete": func(d *Dataset) error {
			_, err := d.Delete(ctx, rowset.At(1, 1<<32|2), "")
			return err
		},
		"replace": func(d *Dataset) error {
			rows := []uint64{1, 1<<32 | 2}
			_, err := d.Replace(ctx, Replacement{Delete: rowset.At(rows...), Moved: rows, Insert: rowsOf(1, 12, 77)})
			return err
		},
		"add columns": func(d *Dataset) error {
			_, err := d.AddColumns(ctx, double("y"))
			return err
		},
		"drop columns": func(d *Dataset) error {
			_, err := d.DropColumns(ctx, []string{"v"})
			return err
		},
		"restore": func(d *Dataset) error {
			_, err := d.table.Restore(ctx, 1)
			return err
		},
		"config": func(d *Dataset) error {
			_, err := d.Commit(ctx, &pb.UpdateConfig{Config: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: "a", Value: &value}}}})
			return err
		},
		"overwrite": func(d *Dataset) error {
			_, err := d.table.Overwrite(ctx, rowsOf(5), map[string]string{"a": "b"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { crashAnywhere(t, do, all) })
	}
}

func crashAnywhere(t *testing.T, do func(*Dataset) error, look func(*Dataset) string) {
	open := func(store objectstore.Store) *Dataset {
		d, err := tableIn(store).Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	clean := memstore.New()
	before := look(createStable(t, tableIn(clean), 2))
	if err := do(open(clean)); err != nil {
		t.Fatal(err)
	}
	after := look(open(clean))
	for n := 1; ; n++ {
		reached := false
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
			inner := memstore.New()
			createStable(t, tableIn(inner), 2)
			var armed atomic.Bool
			var calls atomic.Int32
			faulty := faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
				if !armed.Load() || calls.Add(1) != int32(n) {
					return faultstore.Fault{}
				}
				return fault
			})
			d := open(faulty)
			armed.Store(true)
			err := do(d)
			reached = reached || calls.Load() >= int32(n)
			switch got := look(open(inner)); {
			case got != before && got != after:
				t.Errorf("request %d, %+v: the table is %s", n, fault, got)
			case err == nil && got != after:
				t.Errorf("request %d, %+v: it said yes, but nothing has changed", n, fault)
			case err != nil && got == after && !errors.Is(err, objectstore.ErrUnknownOutcome) && !errors.Is(err, faultstore.ErrCrashed):
				t.Errorf("request %d, %+v: it said no (%v), but the table has changed", n, fault, err)
			}
		}
		if !reached {
			return
		}
	}
}
