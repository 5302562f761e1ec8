package rowfile_test

import (
	"bytes"
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
