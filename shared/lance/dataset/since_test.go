package dataset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A history is a table that random operations change. No value is written twice.
type history struct {
	t     *rapid.T
	table *dataset.Table
	value int64
}

var historyColumns = arrow.NewSchema([]arrow.Field{
	{Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "c", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}, nil)

// batch returns n rows of new values.
func (h *history) batch(s *arrow.Schema, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, s)
	for range n {
		for i := range s.NumFields() {
			h.value++
			b.Field(i).(*array.Int64Builder).Append(h.value)
		}
	}
	return b.NewRecordBatch()
}

func (h *history) rows(s *arrow.Schema, n int) dataset.Rows {
	return rowsFrom(h.batch(s, n))
}

// some returns the addresses of some rows.
func (h *history) some(d *dataset.Dataset) []uint64 {
	all := datasettest.AddressesOf(h.t, d, nil)
	return slices.DeleteFunc(all, func(uint64) bool { return !rapid.Bool().Draw(h.t, "row") })
}

// step does one operation.
func (h *history) step(d *dataset.Dataset) error {
	ctx := context.Background()
	switch rapid.SampledFrom([]string{"append", "delete", "update", "update", "compact", "restore", "add", "drop", "rename", "overwrite", "replace", "config"}).Draw(h.t, "operation") {
	case "append":
		_, err := h.table.Append(ctx, h.rows(d.ArrowSchema(), rapid.IntRange(1, 5).Draw(h.t, "rows")))
		return err
	case "delete":
		if gone := h.some(d); len(gone) > 0 {
			_, err := d.Delete(ctx, rowset.At(gone...), "")
			return err
		}
	case "update":
		moved := h.some(d)
		if fresh := rapid.IntRange(0, 2).Draw(h.t, "inserted"); len(moved)+fresh > 0 {
			_, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(moved...), Moved: moved, Insert: h.rows(d.ArrowSchema(), len(moved)+fresh)})
			return err
		}
	case "compact":
		if len(d.Fragments()) > 0 {
			return h.compact(d)
		}
	case "restore":
		_, err := h.table.Restore(ctx, rapid.Uint64Range(1, d.Version()).Draw(h.t, "version"))
		return err
	case "add":
		return h.add(d)
	case "drop":
		if len(d.Schema().Fields) > 1 {
			_, err := alter.DropColumns(ctx, d, []string{d.Schema().Fields[len(d.Schema().Fields)-1].Name})
			return err
		}
	case "rename":
		_, err := alter.Apply(ctx, d, []alter.Alteration{{Path: d.Schema().Fields[0].Name, Rename: fmt.Sprintf("b%d", d.Version())}}, nil)
		return err
	case "overwrite":
		_, err := h.table.Overwrite(ctx, h.rows(historyColumns, 3), nil)
		return err
	case "replace":
		return h.replace(d)
	case "config":
		_, err := d.Commit(ctx, &pb.UpdateConfig{Config: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: "k", Value: new(string)}}}})
		return err
	}
	return nil
}

// compact rewrites the fragments in two groups.
func (h *history) compact(d *dataset.Dataset) error {
	groups := [][]uint64{{d.Fragments()[0].Meta.ID}}
	if rest := d.Fragments()[1:]; len(rest) > 0 {
		groups = append(groups, nil)
		for _, f := range rest {
			groups[1] = append(groups[1], f.Meta.ID)
		}
	}
	rewriting, err := compaction.Rewrite(context.Background(), d, groups)
	if err == nil {
		_, err = rewriting.Commit(context.Background(), nil)
	}
	return err
}

// add adds a column, with values or without.
func (h *history) add(d *dataset.Dataset) error {
	s := arrow.NewSchema([]arrow.Field{{Name: fmt.Sprintf("d%d", d.Version()), Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	add := alter.NewColumns{Schema: s}
	if rapid.Bool().Draw(h.t, "values") {
		add.Values = func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
			return h.batch(s, int(batch.NumRows())), nil
		}
	}
	_, err := alter.AddColumns(context.Background(), d, add)
	return err
}

// replace rewrites all values of a column into additional files.
func (h *history) replace(d *dataset.Dataset) error {
	field := rapid.SampledFrom(d.Schema().Fields).Draw(h.t, "column")
	return datasettest.ReplaceColumn(context.Background(), d, field.Name, h.batch)
}

// A historyRow is the state of a row with some id.
type historyRow struct {
	updated uint64
	values  string // of the columns that are compared
}

// rowsByID reads all rows of a version.
func rowsByID(t datasettest.Fataler, d *dataset.Dataset, fields []int32) map[uint64]historyRow {
	t.Helper()
	columns := []string{snapshot.RowID, snapshot.RowUpdatedAt}
	for _, id := range fields {
		if f := d.Schema().ByID(id); f != nil {
			columns = append(columns, f.Name)
		}
	}
	_, batches, err := d.Scan(context.Background(), snapshot.ScanOptions{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[uint64]historyRow{}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			row := historyRow{updated: batch.Column(1).(*array.Uint64).Value(i), values: fmt.Sprint(len(columns))}
			for _, column := range batch.Columns()[2:] {
				row.values += " " + column.ValueStr(i)
			}
			rows[batch.Column(0).(*array.Uint64).Value(i)] = row
		}
	}
	return rows
}

func sorted[T any](rows map[uint64]T) []uint64 { return slices.Sorted(maps.Keys(rows)) }

func TestDifferencesAreThoseOfIDsAndValues(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, table: datasettest.TableIn(memstore.New())}
		if _, err := h.table.CreateAs(ctx, h.rows(historyColumns, 6), dataset.CreateOptions{StableRowIDs: rapid.Bool().Draw(t, "stable row ids")}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			d, err := h.table.Latest(ctx)
			if err == nil {
				err = h.step(d)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		newest, err := h.table.Latest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			version := rapid.Uint64Range(1, newest.Version())
			was, err1 := h.table.Version(ctx, version.Draw(t, "from"))
			now, err2 := h.table.Version(ctx, version.Draw(t, "to"))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			var fields []int32
			for _, f := range now.Schema().Fields {
				if rapid.Bool().Draw(t, "read") {
					fields = append(fields, f.ID)
				}
			}
			checkDifference(t, was, now, fields)
		}
	})
}

// checkDifference compares a difference with the full contents of both versions.
func checkDifference(t *rapid.T, was, now *dataset.Dataset, fields []int32) {
	got, err := difference.Since(context.Background(), now, was, fields)
	if !now.Manifest().StableRowIDs() {
		if !errors.Is(err, difference.ErrNotComparable) {
			t.Fatalf("without stable row ids: %v, want ErrNotComparable", err)
		}
		got, err = difference.ByAddress(context.Background(), was.Snapshot, now.Snapshot, fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	sameColumns := !slices.ContainsFunc(fields, func(id int32) bool { return was.Schema().ByID(id) == nil })
	checkRows(t, got, rowsByID(t, was, fields), rowsByID(t, now, fields), sameColumns)
}

// checkRows compares a difference with the rows of two versions. sameColumns reports whether both
// have values of the same columns.
func checkRows(t datasettest.Fataler, got *difference.Rows, before, after map[uint64]historyRow, sameColumns bool) {
	t.Helper()
	gone, fresh := maps.Clone(before), maps.Clone(after)
	for id := range after {
		delete(gone, id)
	}
	for id := range before {
		delete(fresh, id)
	}
	if diff := cmp.Diff(sorted(gone), idsOf(got.Gone)); diff != "" {
		t.Fatalf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(fresh), idsOf(got.Fresh)); diff != "" {
		t.Fatalf("fresh (-want +got):\n%s", diff)
	}
	for id, row := range before {
		other, ok := after[id]
		changed := got.Changed.Contains(id)
		switch {
		case !ok && changed:
			t.Fatalf("row %d has changed and is gone", id)
		case ok && other.values != row.values && !changed:
			t.Fatalf("row %d was %v, is %v, and has not changed", id, row, other)
		case ok && sameColumns && other == row && changed:
			t.Fatalf("row %d, of version %d, has changed, and is the same", id, row.updated)
		}
	}
	for id := range roaring64.Values(got.Changed) {
		if _, ok := before[id]; !ok {
			t.Fatalf("row %d has changed and is not among those before", id)
		}
	}
}

func idsOf(set *roaring64.Bitmap) []uint64 { return slices.Collect(roaring64.Values(set)) }

// Between any two versions, rows moved and changed as native Lance's own answers show.
func TestDifferencesOfNativeVersions(t *testing.T) {
	ctx := t.Context()
	native := &nativeTables{store: memstore.New()}
	native.unpack(t, "testdata/rows.zip")
	var answers map[uint64][][3]any
	if err := json.Unmarshal(native.get(t, "rows.json"), &answers); err != nil {
		t.Fatal(err)
	}
	table := dataset.NewSession(64<<20, time.Now).Table(objectstore.Location{URI: "memory://rows.lance", Store: native.store, Prefix: "rows.lance"}, 0)
	versions := map[uint64]*dataset.Dataset{}
	rows := map[uint64]map[uint64]historyRow{}
	for version, answer := range answers {
		d, err := table.Version(ctx, version)
		if err != nil {
			t.Fatal(err)
		}
		versions[version], rows[version] = d, map[uint64]historyRow{}
		for _, r := range answer {
			rows[version][uint64(r[0].(float64))] = historyRow{updated: uint64(r[1].(float64)), values: r[2].(string)}
		}
	}
	if len(versions) < 20 {
		t.Fatalf("a history of %d versions, want 20 and more", len(versions))
	}
	for from, was := range versions {
		for to, now := range versions {
			column := now.Schema().Field("x")
			if column == nil {
				continue
			}
			if f := was.Schema().ByID(column.ID); f != nil && f.Name != "x" {
				continue // rows.json does not list its values
			}
			got, err := difference.Since(ctx, now, was, []int32{column.ID})
			if err != nil {
				t.Fatal(err)
			}
			other := was.Schema().Field("x")
			t.Run(fmt.Sprintf("%d to %d", from, to), func(t *testing.T) {
				checkRows(t, got, rows[from], rows[to], other != nil && other.ID == column.ID)
			})
			got.Release()
		}
	}
}

// A view's rows are found by the ids of their source rows, and rows by their own.
func TestRowsAreFoundByIDs(t *testing.T) {
	ctx := t.Context()
	d := datasettest.CreateStable(t, datasettest.TableIn(memstore.New()), 3)
	made, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.Multiples(4))...), "")
	if err != nil {
		t.Fatal(err)
	}
	d = made.Dataset
	ids := roaring64.BitmapOf(3, 4, 5, 17, 29, 1000, 1<<40)
	var held memory.Hold
	found, err := difference.Find(ctx, &held, d.Snapshot, "id", ids)
	if err != nil {
		t.Fatal(err)
	}
	want := datasettest.AddressesOf(t, d, datasettest.WhereID(func(id int64) bool { return ids.Contains(uint64(id)) }))
	if diff := cmp.Diff(want, slices.Collect(found.All())); diff != "" {
		t.Errorf("by values (-want +got):\n%s", diff)
	}
	var placed memory.Hold
	places, err := difference.Places(ctx, &placed, d.Snapshot, ids)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, slices.Collect(places.All())); diff != "" {
		t.Errorf("by row ids (-want +got):\n%s", diff)
	}
	if _, err := difference.Find(ctx, &held, d.Snapshot, "name", ids); !errors.Is(err, difference.ErrNotComparable) {
		t.Errorf("find by names: %v, want ErrNotComparable", err)
	}
}
