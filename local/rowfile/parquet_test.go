package rowfile_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/local/rowfile"
)

// A parquetFile is a file of known size.
type parquetFile struct{ *os.File }

// HasRows implements rowfile.File.
func (parquetFile) HasRows(int64) {}

// The columns of a file are those that were written, with their metadata and no other.
func TestParquetKeepsTheMetadataOfColumns(t *testing.T) {
	unit := arrow.MetadataFrom(map[string]string{"unit": "m"})
	long := arrow.Field{Name: "long", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: unit}
	schema := arrow.NewSchema([]arrow.Field{
		long,
		{Name: "s", Type: arrow.StructOf(long, arrow.Field{Name: "list", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}), Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	if err := b.UnmarshalJSON([]byte(`{"long":1,"s":{"long":2,"list":["a"]},"v":[1,2]}`)); err != nil {
		t.Fatal(err)
	}
	want := b.NewRecordBatch()
	file, err := os.Create(filepath.Join(t.TempDir(), "rows.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	w, err := rowfile.NewWriter(file, rowfile.Parquet, schema)
	if err == nil {
		err = errors.Join(w.Write(want), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	source, err := rowfile.Read(t.Context(), parquetFile{file}, rowfile.Parquet, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	member := source.Schema.Field(1).Type.(*arrow.StructType).Field(0)
	for _, got := range append(source.Schema.Fields(), member) {
		if want := unit.ToMap(); got.Name != "long" && got.HasMetadata() || got.Name == "long" && !maps.Equal(got.Metadata.ToMap(), want) {
			t.Errorf("column %s has the metadata %v", got.Name, got.Metadata)
		}
	}
	for batch, err := range source.Batches {
		if err != nil || !array.RecordEqual(batch, want) {
			t.Errorf("the rows are %v, %v", batch, err)
		}
	}
}

// Rows of large values come in batches of a few.
func TestParquetIsReadInBatchesOfBoundedSize(t *testing.T) {
	const each, all = 3 << 20, 20
	schema := arrow.NewSchema([]arrow.Field{{Name: "b", Type: arrow.BinaryTypes.LargeBinary}}, nil)
	path := filepath.Join(t.TempDir(), "large.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	w, err := rowfile.NewWriter(file, rowfile.Parquet, schema)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range all {
		b.Field(0).(*array.BinaryBuilder).Append(bytes.Repeat([]byte{byte(i)}, each))
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	source, err := rowfile.Read(t.Context(), parquetFile{file}, rowfile.Parquet, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for batch, err := range source.Batches {
		if err != nil {
			t.Fatal(err)
		}
		rows += batch.NumRows()
		if size := batch.NumRows() * each; size > 16<<20 {
			t.Errorf("a batch has %d bytes", size)
		}
	}
	if rows != all {
		t.Errorf("%d rows, want %d", rows, all)
	}
}
