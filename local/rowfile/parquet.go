package rowfile

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"tiltyard/shared/client"
)

const (
	// parquetGroup is the compressed size in bytes at which a row group ends. A writer keeps one group
	// in memory.
	parquetGroup = 64 << 20
	// A batch has at most parquetRows rows, and about parquetBatch bytes.
	parquetRows  = 8192
	parquetBatch = 16 << 20
)

// ErrPipe is the error for Parquet that does not come from a [File].
var ErrPipe = errors.New("a Parquet file is read from its end: name the file instead of sending it to standard input")

// A File is a file of known size. It is told how many rows it has, if that is known before they are read: Parquet is read in
// large pieces ahead of its rows, so progress counts rows, not bytes.
type File interface {
	parquet.ReaderAtSeeker
	HasRows(rows int64)
}

// openParquet reads a Parquet file. Its metadata is at the end, so it cannot come from a pipe.
func openParquet(ctx context.Context, in io.Reader) (client.Source, error) {
	f, ok := in.(File)
	if !ok {
		return client.Source{}, ErrPipe
	}
	whole, err := file.NewParquetReader(f)
	if err != nil {
		return client.Source{}, err
	}
	f.HasRows(whole.NumRows())
	reader, err := pqarrow.NewFileReader(whole, pqarrow.ArrowReadProperties{BatchSize: batchRows(whole)}, memory.DefaultAllocator)
	if err != nil {
		return client.Source{}, err
	}
	rows, err := reader.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return client.Source{}, err
	}
	return withoutIDs(client.FromReader(rows)), nil
}

// withoutIDs removes the metadata of fields that have no id in the file. The library gives them the id -1, which a table would
// keep.
func withoutIDs(rows client.Source) client.Source {
	metadata := rows.Schema.Metadata()
	schema := arrow.NewSchema(plainFields(rows.Schema.Fields()), &metadata)
	batches := rows.Batches
	return client.Source{Schema: schema, Once: rows.Once, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if err == nil {
				batch = array.NewRecordBatch(schema, batch.Columns(), batch.NumRows())
			}
			if !yield(batch, err) {
				return
			}
		}
	}}
}

func plainFields(fields []arrow.Field) []arrow.Field {
	plain := make([]arrow.Field, len(fields))
	for i, field := range fields {
		plain[i] = plainField(field)
	}
	return plain
}

func plainField(f arrow.Field) arrow.Field {
	const key = "PARQUET:field_id"
	if id, _ := f.Metadata.GetValue(key); id == "-1" {
		metadata := f.Metadata.ToMap()
		delete(metadata, key)
		f.Metadata = arrow.MetadataFrom(metadata)
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		f.Type = arrow.StructOf(plainFields(t.Fields())...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(plainField(t.ElemField()))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(plainField(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), plainField(t.ElemField()))
	}
	return f
}

// batchRows returns the number of rows per batch, by the mean size of the rows of each group.
func batchRows(whole *file.Reader) int64 {
	rows := int64(parquetRows)
	for i := range whole.NumRowGroups() {
		if group := whole.MetaData().RowGroup(i); group.NumRows() > 0 {
			rows = min(rows, parquetBatch/max(group.TotalByteSize()/group.NumRows(), 1))
		}
	}
	return max(rows, 1)
}

// parquetWriter writes a Parquet file with Arrow types, in row groups of bounded size.
type parquetWriter struct{ *pqarrow.FileWriter }

func newParquetWriter(w io.Writer, schema *arrow.Schema) (parquetWriter, error) {
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd))
	// The wrapper hides w's Close, which the writer would call.
	f, err := pqarrow.NewFileWriter(schema, struct{ io.Writer }{w}, properties, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	return parquetWriter{f}, err
}

// Write writes a batch to the open row group.
func (w parquetWriter) Write(batch arrow.RecordBatch) error {
	if w.RowGroupTotalBytesWritten() >= parquetGroup {
		w.NewBufferedRowGroup()
	}
	return w.WriteBuffered(batch)
}
