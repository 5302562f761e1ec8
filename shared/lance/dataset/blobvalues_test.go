package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// markedBlobs are columns of blobs as all versions take them.
var markedBlobs = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "blob", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"lance-encoding:blob": "true"})},
}, nil)

// blobRows makes rows of values, nil being null, with ids from first on.
func blobRows(first int64, values ...[]byte) dataset.Rows {
	b := array.NewRecordBuilder(memory.DefaultAllocator, markedBlobs)
	for i, v := range values {
		b.Field(0).(*array.Int64Builder).Append(first + int64(i))
		if v == nil {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.BinaryBuilder).Append(v)
		}
	}
	return only(b.NewRecordBatch())
}

func only(batch arrow.RecordBatch) dataset.Rows {
	return dataset.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// inPlaces are values for all places that a blob of version 2.2 can be in.
var inPlaces = [][]byte{
	[]byte("inline"), nil, {}, bytes.Repeat([]byte("p"), 70_000), bytes.Repeat([]byte("d"), 5<<20), []byte("last"),
}

// blobsByID reads all blobs of a version in two ways, which must agree.
func blobsByID(t *testing.T, d *dataset.Dataset) map[int64][]byte {
	t.Helper()
	found := map[int64][]byte{}
	_, batches, err := d.ScanValues(t.Context(), snapshot.ScanOptions{Columns: []string{"blob", "id", snapshot.RowAddr}})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		ids, addresses := batch.Column(1).(*array.Int64), batch.Column(2).(*array.Uint64)
		read, err := d.ReadBlobs(t.Context(), "blob", addresses.Uint64Values())
		if err != nil {
			t.Fatal(err)
		}
		for i := range ids.Len() {
			value := blobValue(batch.Column(0), i)
			if (value == nil) != (read[i] == nil) || !bytes.Equal(value, read[i]) {
				t.Fatalf("blob of row %d: scanned %d bytes, read %d", ids.Value(i), len(value), len(read[i]))
			}
			found[ids.Value(i)] = value
		}
	}
	return found
}

// blobValue returns a value that is data, not nil unless it is null.
func blobValue(column arrow.Array, i int) []byte {
	if s, ok := column.(*array.Struct); ok {
		column = s.Field(0)
	}
	if column.IsNull(i) {
		return nil
	}
	return append([]byte{}, column.(*array.LargeBinary).Value(i)...)
}

// idIn keeps rows with one of the ids.
func idIn(ids ...int64) *snapshot.Where {
	return datasettest.WhereID(func(id int64) bool { return slices.Contains(ids, id) })
}

func sameBlobs(t *testing.T, what string, d *dataset.Dataset, want map[int64][]byte) {
	t.Helper()
	if diff := cmp.Diff(digests(want), digests(blobsByID(t, d))); diff != "" {
		t.Errorf("%s: blobs (-want +got):\n%s", what, diff)
	}
}

// digests are short forms of values, to compare and to print.
func digests(values map[int64][]byte) map[int64]string {
	short := map[int64]string{}
	for id, v := range values {
		if short[id] = "null"; v != nil {
			short[id] = fmt.Sprintf("%d bytes of %08x", len(v), crc32.ChecksumIEEE(v))
		}
	}
	return short
}

func TestBlobsLiveThroughEveryWrite(t *testing.T) {
	for _, version := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
		t.Run(version.String(), func(t *testing.T) {
			ctx := t.Context()
			table := datasettest.TableIn(memstore.New())
			made, err := table.CreateAs(ctx, blobRows(0, inPlaces...), dataset.CreateOptions{Version: version})
			if err != nil {
				t.Fatal(err)
			}
			want := map[int64][]byte{}
			for i, v := range inPlaces {
				want[int64(i)] = v
			}
			sameBlobs(t, "create", made.Dataset, want)

			if made, err = table.Append(ctx, blobRows(10, nil, []byte("more"), inPlaces[3])); err != nil {
				t.Fatal(err)
			}
			want[10], want[11], want[12] = nil, []byte("more"), inPlaces[3]
			sameBlobs(t, "append", made.Dataset, want)

			change := dataset.Replacement{Delete: rowset.At(datasettest.AddressesOf(t, made.Dataset, idIn(0, 4))...), Insert: blobRows(20, inPlaces[4])}
			if made, err = made.Dataset.Replace(ctx, change); err != nil {
				t.Fatal(err)
			}
			delete(want, 0)
			delete(want, 4)
			want[20] = inPlaces[4]
			sameBlobs(t, "replace", made.Dataset, want)

			again, err := compaction.Rewrite(ctx, made.Dataset, [][]uint64{{0, 1, 2}})
			if err != nil {
				t.Fatal(err)
			}
			d, err := again.Commit(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameBlobs(t, "rewrite", d, want)
		})
	}
}

func TestBlobsOfNewTablesAreOfTheFilesVersion(t *testing.T) {
	for _, version := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
		made, err := datasettest.TableIn(memstore.New()).CreateAs(t.Context(), blobRows(0, nil), dataset.CreateOptions{Version: version})
		if err != nil {
			t.Fatal(err)
		}
		f := made.Dataset.Schema().Field("blob")
		if got, want := f.IsBlobV2(), version == lance.V2_2; got != want || !f.IsBlob() {
			t.Errorf("version %s: blobs of version 2.2: %v, want %v", version, got, want)
		}
	}
}

// Batches of values are cut so that their blobs are not all in memory at once.
func TestValuesComeInBatchesOfBoundedSize(t *testing.T) {
	values := make([][]byte, 12)
	for i := range values {
		values[i] = bytes.Repeat([]byte{byte(i)}, 6<<20)
	}
	table := datasettest.TableIn(memstore.New())
	made, err := table.Create(t.Context(), blobRows(0, values...))
	if err != nil {
		t.Fatal(err)
	}
	_, batches, err := made.Dataset.ScanValues(t.Context(), snapshot.ScanOptions{Columns: []string{"blob"}})
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, batch.NumRows())
	}
	if want := []int64{5, 5, 2}; !slices.Equal(rows, want) {
		t.Errorf("batches of %v rows, want %v", rows, want)
	}
	addresses := datasettest.AddressesOf(t, made.Dataset, idIn(datasettest.UpTo(12)...))
	if n, err := made.Dataset.FitValues(t.Context(), []string{"blob"}, addresses); n != 5 || err != nil {
		t.Errorf("%d rows fit, error %v; want 5", n, err)
	}
	taken, err := made.Dataset.TakeValues(t.Context(), []string{"blob"}, []uint64{addresses[7], addresses[2], addresses[7]})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{7, 2, 7} {
		if got := blobValue(taken.Column(0), i); !bytes.Equal(got, values[want]) {
			t.Errorf("taken value %d is not blob %d", i, want)
		}
	}
}

// externalRow is a row with a blob that is elsewhere.
func externalRow(uri string) dataset.Rows {
	s := arrow.StructOf(
		arrow.Field{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		arrow.Field{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true},
	)
	as := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "blob", Type: s, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"ARROW:extension:name": "lance.blob.v2"})},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, as)
	b.Field(0).(*array.Int64Builder).Append(1)
	blob := b.Field(1).(*array.StructBuilder)
	blob.Append(true)
	blob.FieldBuilder(0).AppendNull()
	blob.FieldBuilder(1).(*array.StringBuilder).Append(uri)
	return only(b.NewRecordBatch())
}

func TestBlobsElsewhereStayWhereTheyAre(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	if _, err := store.Put(ctx, "outside.bin", []byte("outside"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	table := datasettest.TableIn(store)
	rows := externalRow("memory://test/outside.bin")
	if _, err := table.Create(ctx, rows); !errors.Is(err, operation.ErrInvalid) {
		t.Fatalf("a stranger's blob elsewhere: got %v, want ErrInvalid", err)
	}
	rows.Trusted = true
	made, err := table.Create(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	again, err := compaction.Rewrite(ctx, made.Dataset, [][]uint64{{0}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := again.Commit(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := d.Blobs(ctx, "blob", datasettest.AddressesOf(t, d, idIn(1)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := blobs[0].URI, "memory://test/outside.bin"; got != want || blobs[0].ID != 0 {
		t.Errorf("the blob is at %q below base %d, want %q below none", got, blobs[0].ID, want)
	}
	contents, err := d.Contents(ctx, blobs)
	if err != nil || string(contents[0]) != "outside" {
		t.Errorf("got %q, error %v; want outside", contents, err)
	}
}

// A write that fails leaves files that no version names, and no stream open.
func TestFailedBlobWritesAreGivenUp(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	table := datasettest.TableIn(store)
	made, err := table.Create(ctx, blobRows(0, []byte("there")))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no more rows")
	rows := blobRows(1, inPlaces...)
	batches := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if !yield(batch, err) {
				return
			}
		}
		yield(nil, broken)
	}
	if _, err := table.Append(ctx, rows); !errors.Is(err, broken) {
		t.Fatalf("got %v, want the error of the rows", err)
	}
	d, err := table.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d.Version() != made.Dataset.Version() {
		t.Errorf("version %d, want %d", d.Version(), made.Dataset.Version())
	}
	sameBlobs(t, "after the failure", d, map[int64][]byte{0: []byte("there")})
}

func TestAddedColumnsCanBeBlobs(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.Create(t, table, datasettest.UpTo(5)...)
	deleted, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, idIn(2))...), "id = 2")
	if err != nil {
		t.Fatal(err)
	}
	columns := alter.NewColumns{
		Schema: arrow.NewSchema(markedBlobs.Fields()[1:], nil),
		Read:   []string{"id"},
		Values: func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
			b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(markedBlobs.Fields()[1:], nil))
			for _, id := range batch.Column(0).(*array.Int64).Int64Values() {
				b.Field(0).(*array.BinaryBuilder).Append(bytes.Repeat([]byte{byte(id)}, 70_000))
			}
			return b.NewRecordBatch(), nil
		},
	}
	if d, err = alter.AddColumns(ctx, deleted.Dataset, columns); err != nil {
		t.Fatal(err)
	}
	want := map[int64][]byte{}
	for _, id := range []int64{0, 1, 3, 4} {
		want[id] = bytes.Repeat([]byte{byte(id)}, 70_000)
	}
	sameBlobs(t, "added", d, want)
}

// Writers can put blob metadata on columns of any type. Rows of such a column cannot be rewritten,
// nor its values read as blobs, even if they look like descriptions. Rows of other columns can.
func TestRowsOfColumnsThatAreNoBlobsAreRefused(t *testing.T) {
	for _, column := range []arrow.DataType{
		arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.ListOf(arrow.PrimitiveTypes.Int32),
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}),
		arrow.StructOf(arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}, arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}),
	} {
		s := arrow.NewSchema([]arrow.Field{
			{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "x", Type: column, Nullable: true},
		}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		for _, field := range b.Fields() {
			field.AppendEmptyValues(3)
		}
		made, err := datasettest.TableIn(memstore.New()).Create(t.Context(), only(b.NewRecordBatch()))
		if err != nil {
			t.Fatal(err)
		}
		marked := "true"
		op := &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{
			made.Dataset.Schema().Field("x").ID: {Entries: []pb.UpdateMapEntry{{Key: "lance-encoding:blob", Value: &marked}}},
		}}
		d, err := made.Dataset.Commit(t.Context(), op)
		if err != nil {
			t.Fatal(err)
		}
		for _, columns := range [][]string{nil, {"x"}, {"id", "x"}} {
			if _, _, err := d.ScanValues(t.Context(), snapshot.ScanOptions{Columns: columns}); !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("values of columns %v, x being of type %s: error %v, want ErrUnsupported", columns, column, err)
			}
		}
		if _, err := d.Blobs(t.Context(), "x", []uint64{0}); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("blobs of a column of type %s: error %v, want ErrUnsupported", column, err)
		}
		if _, err := d.TakeValues(t.Context(), []string{"id"}, []uint64{0}); err != nil {
			t.Errorf("values of the other column, x being of type %s: %v", column, err)
		}
	}
}
