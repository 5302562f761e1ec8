package command

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"tiltyard/shared/client"
)

const (
	// parquetGroup is the size from which a row group of a file ends, in bytes as compressed. A writer
	// holds one group.
	parquetGroup = 64 << 20
	// parquetRows is how many rows of a file become a batch.
	parquetRows = 8192
)

// openParquet reads a Parquet file. It begins at the end, so it cannot come from a pipe.
func openParquet(ctx context.Context, in io.Reader) (client.Source, error) {
	f, ok := in.(*countedFile)
	if !ok {
		return client.Source{}, usagef("Parquet is read from its end: name a file instead of sending it to standard input")
	}
	whole, err := file.NewParquetReader(f)
	if err != nil {
		return client.Source{}, err
	}
	// The file is read in large pieces, ahead of its rows, so bytes do not tell how far that is.
	f.rows = whole.NumRows()
	reader, err := pqarrow.NewFileReader(whole, pqarrow.ArrowReadProperties{BatchSize: parquetRows}, memory.DefaultAllocator)
	if err != nil {
		return client.Source{}, err
	}
	rows, err := reader.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return client.Source{}, err
	}
	return client.FromReader(rows), nil
}

// parquetWriter writes a Parquet file with the types of Arrow, in row groups of bounded size.
type parquetWriter struct{ *pqarrow.FileWriter }

func newParquetWriter(w io.Writer, schema *arrow.Schema) (parquetWriter, error) {
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd))
	// The writer would close w, if that could be closed.
	f, err := pqarrow.NewFileWriter(schema, struct{ io.Writer }{w}, properties, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	return parquetWriter{f}, err
}

// Write writes a batch into the row group that is open.
func (w parquetWriter) Write(batch arrow.RecordBatch) error {
	if w.RowGroupTotalBytesWritten() >= parquetGroup {
		w.NewBufferedRowGroup()
	}
	return w.WriteBuffered(batch)
}
