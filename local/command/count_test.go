package command

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/local/rowfile"
)

func TestCells(t *testing.T) {
	for _, test := range []struct {
		done, of int64
		want     string
	}{
		{0, 0, ""},
		{0, 10, "[--------------------]   0% "},
		{5, 10, "[##########----------]  50% "},
		{10, 10, "[####################] 100% "},
		{20, 10, "[####################] 100% "}, // a file that has grown meanwhile
		{1 << 62, 1 << 62, "[####################] 100% "},
	} {
		if got := cellsOf(test.done, test.of); got != test.want {
			t.Errorf("%d of %d: got %q, want %q", test.done, test.of, got, test.want)
		}
	}
}

// What of a Parquet file has become rows is counted, and not what has been read ahead of them.
func TestProgressOfParquetCountsItsRows(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	name := filepath.Join(t.TempDir(), "rows.parquet")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rowfile.NewWriter(struct{ io.Writer }{file}, rowfile.Parquet, schema)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for id := range int64(3 * 8192) {
		b.Field(0).(*array.Int64Builder).Append(id)
	}
	for _, write := range []func() error{func() error { return w.Write(b.NewRecordBatch()) }, w.Close} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if file, err = os.Open(name); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	counted := countFile(file)
	source, err := rowfile.Read(t.Context(), counted, rowfile.Parquet, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for batch, err := range source.Batches {
		if err != nil {
			t.Fatal(err)
		}
		rows += batch.NumRows()
		if done, of := counted.share(rows); done != rows || of != 3*8192 {
			t.Errorf("after %d rows it has done %d of %d", rows, done, of)
		}
	}
	if rows != 3*8192 {
		t.Errorf("read %d rows", rows)
	}
}
