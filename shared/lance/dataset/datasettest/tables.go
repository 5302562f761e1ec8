package datasettest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// RowsOf makes rows with the given ids, in batches of at most 100. Every seventh name is null.
func RowsOf(ids ...int64) dataset.Rows {
	return dataset.Rows{Schema: People, Batches: BatchesOf(ids...)}
}

// TableIn returns the table at t.lance in a store, in its own session.
func TableIn(store objectstore.Store) *dataset.Table {
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	return dataset.NewSession(64<<20, time.Now).Table(at, 0)
}

// Create creates a table of rows with the ids.
func Create(t testing.TB, table *dataset.Table, ids ...int64) *dataset.Dataset {
	t.Helper()
	made, err := table.Create(context.Background(), RowsOf(ids...))
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

// Many creates a table with one fragment per row count, with ids from 0 on.
func Many(t Fataler, table *dataset.Table, stable bool, rows ...int) *dataset.Dataset {
	t.Helper()
	ctx, next := context.Background(), int64(0)
	var d *dataset.Dataset
	for i, n := range rows {
		ids := make([]int64, n)
		for j := range ids {
			ids[j] = next
			next++
		}
		var made dataset.Commit
		var err error
		if i == 0 {
			made, err = table.CreateAs(ctx, RowsOf(ids...), dataset.CreateOptions{StableRowIDs: stable})
		} else {
			made, err = table.Append(ctx, RowsOf(ids...))
		}
		if err != nil {
			t.Fatal(err)
		}
		d = made.Dataset
	}
	return d
}

// OnBranch opens the newest version of a branch.
func OnBranch(t testing.TB, table *dataset.Table, name string) *dataset.Dataset {
	t.Helper()
	branch, err := branches.Open(context.Background(), table, name)
	if err != nil {
		t.Fatalf("open branch %q: %v", name, err)
	}
	d, err := branch.Latest(context.Background())
	if err != nil {
		t.Fatalf("newest version of branch %q: %v", name, err)
	}
	return d
}

// Append appends rows with some ids to a branch.
func Append(t testing.TB, table *dataset.Table, branch string, ids ...int64) *dataset.Dataset {
	t.Helper()
	on, err := branches.Open(context.Background(), table, branch)
	if err != nil {
		t.Fatal(err)
	}
	made, err := on.Append(context.Background(), RowsOf(ids...))
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

// Branch creates a branch from a version of another one.
func Branch(t testing.TB, table *dataset.Table, name, from string, version uint64) *dataset.Dataset {
	t.Helper()
	d, err := branches.Create(context.Background(), table, name, from, version)
	if err != nil {
		t.Fatalf("create branch %q: %v", name, err)
	}
	return d
}

// CreateStable creates a table of fragments of ten rows with stable row ids.
func CreateStable(t Fataler, table *dataset.Table, fragments int64) *dataset.Dataset {
	t.Helper()
	ctx := context.Background()
	made, err := table.CreateAs(ctx, RowsOf(UpTo(10)...), dataset.CreateOptions{StableRowIDs: true})
	for n := int64(10); err == nil && n < 10*fragments; n += 10 {
		made, err = table.Append(ctx, RowsOf(UpTo(n + 10)[n:]...))
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

// A Lineage is the stable row id and the row versions of a row.
type Lineage struct {
	ID               int64
	RowID            uint64
	Created, Updated uint64
}

// Lineages returns the lineage of all rows by the value of column id, read from the fragments.
func Lineages(t Fataler, d *dataset.Dataset) map[int64]Lineage {
	t.Helper()
	ctx := context.Background()
	found := map[int64]Lineage{}
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
			found[ids.Value(i)] = Lineage{ids.Value(i), rowIDs.Value(i), created(row), updated(row)}
		}
	}
	return found
}

// CrashAnywhere runs do on a table of twenty rows with a fault at each of its requests in turn. It
// checks that look returns the state before or after do, and that the error of do tells which.
func CrashAnywhere(t *testing.T, do func(*dataset.Dataset) error, look func(*dataset.Dataset) string) {
	open := func(store objectstore.Store) *dataset.Dataset {
		d, err := TableIn(store).Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	clean := memstore.New()
	before := look(CreateStable(t, TableIn(clean), 2))
	if err := do(open(clean)); err != nil {
		t.Fatal(err)
	}
	after := look(open(clean))
	for n := 1; ; n++ {
		reached := false
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
			inner := memstore.New()
			CreateStable(t, TableIn(inner), 2)
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

// Double adds a column with twice the id.
func Double(name string) alter.NewColumns {
	s := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64}}, nil)
	return alter.NewColumns{Schema: s, Read: []string{"id"}, Values: func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for _, id := range batch.Column(0).(*array.Int64).Int64Values() {
			b.Append(2 * id)
		}
		return array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, batch.NumRows()), nil
	}}
}

// CheckDoubles checks that a column holds twice the ids.
func CheckDoubles(t Fataler, d *dataset.Dataset, column string) {
	t.Helper()
	_, batches, err := d.Scan(context.Background(), snapshot.ScanOptions{Columns: []string{"id", column}})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range batch.Column(0).(*array.Int64).Int64Values() {
			if got, want := batch.Column(1).ValueStr(i), fmt.Sprint(2*id); got != want {
				t.Fatalf("%s of row %d is %s, want %s", column, id, got, want)
			}
		}
	}
}

// ReplaceColumn rewrites all values of a column into additional files, with the values computed for
// a number of rows.
func ReplaceColumn(ctx context.Context, d *dataset.Dataset, name string, values func(s *arrow.Schema, rows int) arrow.RecordBatch) error {
	s, err := d.Schema().Project([]string{name})
	if err != nil {
		return err
	}
	match, err := s.Match(s.Arrow())
	if err != nil {
		return err
	}
	fresh := alter.ColumnValues{
		Columns: []string{name}, Read: []string{snapshot.RowAddr},
		Values: func(_ context.Context, batch arrow.RecordBatch) ([]arrow.Array, int64, error) {
			made, err := match.Columns(values(s.Arrow(), int(batch.NumRows())))
			return made, batch.NumRows(), err
		},
	}
	var files []pb.DataFile
	for _, f := range d.Fragments() {
		piece, err := alter.StageColumns(ctx, d, f, fresh, 0, f.Rows)
		if err != nil {
			return err
		}
		files = append(files, *piece.File)
	}
	_, err = d.Commit(ctx, &pb.Merge{
		Fragments: alter.ReplaceFields(d.Manifest().Fragments, files, d.Schema()),
		Schema:    d.Schema().PB(), SchemaMetadata: d.Schema().Metadata, PreservesNullability: true,
	})
	return err
}

// Tagged opens the version of a tag.
func Tagged(ctx context.Context, table *dataset.Table, name string) (*dataset.Dataset, error) {
	tag, _, err := table.Refs().Tag(ctx, name)
	if err != nil {
		return nil, err
	}
	on, err := branches.Open(ctx, table, tag.BranchName())
	if err != nil {
		return nil, err
	}
	return on.Version(ctx, tag.Version)
}
