package tables_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

const root = "memory://test"

// open returns the tables of a process over a store. The queue may be nil.
func open(t *testing.T, objects objectstore.Store, queue *memqueue.Queue) tables.Tables {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: root, Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	stores := tables.Stores{Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Maintain: true}
	if queue != nil {
		stores.Queue = queue
	}
	return tables.Open(stores)
}

// numbered is one row with an id.
func numbered(id int) dataset.Rows {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(fmt.Sprintf(`[{"id": %d}]`, id)))
	if err != nil {
		panic(err)
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// create makes a table of one row and returns its location.
func create(t *testing.T, in tables.Tables, name string, row int) objectstore.Location {
	t.Helper()
	at := in.Names.Places.New([]string{name})
	if _, err := in.Rows.Table([]string{name}, at).Create(t.Context(), numbered(row)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Names.CreateTable(t.Context(), []string{name}, at, 1, nil); err != nil {
		t.Fatal(err)
	}
	return at
}

// insert appends a row to a branch of a table.
func insert(ctx context.Context, in tables.Tables, name, branch string, row int) (tables.Changed, error) {
	return in.Open([]string{name}, branch).Commit(ctx, func(table tables.Table) (engine.Written, error) {
		return table.Insert(ctx, numbered(row))
	})
}

// count returns how many rows a branch has with an id from low on.
func count(t *testing.T, in tables.Tables, name, branch string, low int) int64 {
	t.Helper()
	found, err := in.Names.Table(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	table, err := in.On(t.Context(), found, branch)
	if err != nil {
		t.Fatal(err)
	}
	n, err := table.Count(t.Context(), engine.AsOf{}, fmt.Sprintf("id >= %d", low))
	if err != nil {
		t.Fatal(err)
	}
	return n.Rows
}

func TestCommitNamesItsTransaction(t *testing.T) {
	in := open(t, memstore.New(), nil)
	create(t, in, "t", 0)
	done, err := insert(t.Context(), in, "t", "", 1)
	if err != nil || done.Version != 2 {
		t.Fatalf("got version %d, error %v; want 2", done.Version, err)
	}
	if want, _ := transaction.CommitID([]string{"t"}, transaction.Commit{Version: 2, UUID: done.Transaction}); done.TransactionID != want || want == "" {
		t.Errorf("got transaction %q, want %q", done.TransactionID, want)
	}
	if n := count(t, in, "t", "", 0); n != 2 {
		t.Errorf("got %d rows, want 2", n)
	}
}

func TestCommitOnABranchLeavesTheTableAlone(t *testing.T) {
	in := open(t, memstore.New(), nil)
	create(t, in, "t", 0)
	found, err := in.Names.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := branches.Create(t.Context(), in.At(found).Data(), "b", "", 0); err != nil {
		t.Fatal(err)
	}
	done, err := insert(t.Context(), in, "t", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := transaction.CommitID([]string{"t"}, transaction.Commit{Branch: "b", Version: uint64(done.Version), UUID: done.Transaction}); done.TransactionID != want {
		t.Errorf("got transaction %q, want %q", done.TransactionID, want)
	}
	if table, branch := count(t, in, "t", "", 0), count(t, in, "t", "b", 0); table != 1 || branch != 2 {
		t.Errorf("got %d rows in the table and %d in the branch, want 1 and 2", table, branch)
	}
	if done, err = insert(t.Context(), in, "t", "main", 2); err != nil || count(t, in, "t", "", 0) != 2 {
		t.Errorf("a change of the branch main: got version %d, error %v; want a row of the table itself", done.Version, err)
	}
}

// Another process drops a table that this one remembers, and makes one of the same name. The work
// begins on the table that is gone, and runs again on the one that the name stands for now.
func TestCommitFollowsTheName(t *testing.T) {
	objects := faultstore.New(memstore.New(), nil)
	in, other := open(t, objects, nil), open(t, objects, nil)
	create(t, in, "t", 0)
	if _, err := insert(t.Context(), in, "t", "", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Names.DropTable(t.Context(), []string{"t"}); err != nil {
		t.Fatal(err)
	}
	create(t, other, "t", 10)
	runs := 0
	done, err := in.Open([]string{"t"}, "").Commit(t.Context(), func(table tables.Table) (engine.Written, error) {
		runs++
		return table.Insert(t.Context(), numbered(11))
	})
	if err != nil || runs != 2 || done.Version != 2 {
		t.Fatalf("got version %d after %d runs, error %v; want version 2 after 2 runs", done.Version, runs, err)
	}
	if n := count(t, other, "t", "", 10); n != 2 {
		t.Errorf("got %d rows in the second table, want 2", n)
	}
}

func TestCommitToNoTableIsRefused(t *testing.T) {
	in := open(t, memstore.New(), nil)
	if _, err := insert(t.Context(), in, "t", "", 1); protocol.CodeOf(err) != protocol.TableNotFound {
		t.Errorf("got error %v, want TableNotFound", err)
	}
	create(t, in, "t", 0)
	if _, err := insert(t.Context(), in, "t", "b", 1); err == nil {
		t.Error("a change of a branch that does not exist has no error")
	}
	failed := errors.New("of the work")
	_, err := in.Open([]string{"t"}, "").Commit(t.Context(), func(tables.Table) (engine.Written, error) { return engine.Written{}, failed })
	if !errors.Is(err, failed) {
		t.Errorf("got error %v, want that of the work", err)
	}
}

// Every sixteenth version suggests a poll, some time after the version was made.
func TestWritersSuggestMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := new(memqueue.Queue)
		in := open(t, memstore.New(), queue)
		create(t, in, "t", 0)
		suggested := func() string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			d, err := queue.Receive(ctx, time.Minute)
			if err != nil {
				return ""
			}
			if err := queue.Done(ctx, d); err != nil {
				t.Fatal(err)
			}
			return d.Kind + " " + strings.Join(d.Object, "$")
		}
		var at []int64
		for row := 1; row <= 33; row++ {
			done, err := insert(t.Context(), in, "t", "", row)
			if err != nil {
				t.Fatal(err)
			}
			if got := suggested(); got == tables.MaintainKind+" t" {
				at = append(at, done.Version)
			} else if got != "" {
				t.Errorf("version %d: got the suggestion %q", done.Version, got)
			}
		}
		if want := []int64{16, 32}; !slices.Equal(at, want) {
			t.Errorf("got suggestions at versions %v, want %v", at, want)
		}
	})
}

// The record of a table learns its version every few changes, so that another process does not
// search for it from the first one on.
func TestChangesMoveTheHint(t *testing.T) {
	objects := memstore.New()
	in := open(t, objects, nil)
	create(t, in, "t", 0)
	for row := 1; row <= 40; row++ {
		if _, err := insert(t.Context(), in, "t", "", row); err != nil {
			t.Fatal(err)
		}
	}
	found, err := open(t, objects, nil).Names.Table(t.Context(), []string{"t"})
	if err != nil || found.Hint < 24 || found.Hint > 41 {
		t.Errorf("got the hint %d, error %v; want one near version 41", found.Hint, err)
	}
}

func TestUnnamedTableHasTheIDOfTheRequest(t *testing.T) {
	in := open(t, memstore.New(), nil)
	at := create(t, in, "t", 0)
	table := in.Unnamed([]string{"ns", "asked"}, &catalog.Table{ID: []string{"t"}, Location: at, Hint: 99})
	if n, err := table.Count(t.Context(), engine.AsOf{}, ""); err != nil || n.Rows != 1 {
		t.Errorf("got %v rows, error %v; want 1", n, err)
	}
	version := int64(7)
	if _, err := table.Count(t.Context(), engine.AsOf{Version: &version}, ""); err == nil || !strings.Contains(err.Error(), "asked") {
		t.Errorf("got error %v, want one that names the table asked", err)
	}
}
