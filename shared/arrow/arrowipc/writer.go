package arrowipc

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Content types of the two forms that a Writer writes.
const (
	ContentTypeFile   = "application/vnd.apache.arrow.file"
	ContentTypeStream = "application/vnd.apache.arrow.stream"
)

// A Compression is the compression of the buffers that a Writer writes.
type Compression uint8

// The compressions of a Writer. Not every reader can decompress, so use Uncompressed for
// unknown readers.
const (
	Uncompressed Compression = iota
	LZ4
	ZSTD
)

// A Writer writes record batches in one of the two forms of Arrow IPC. It streams: when Write returns, it
// has passed the whole batch to the underlying writer, in pieces of any size, many of them only a few
// bytes. It is used by one goroutine at a time.
type Writer struct {
	format interface {
		Write(batch arrow.RecordBatch) error
		Close() error
	}
}

// NewFileWriter returns a Writer of the file form, which ends with a footer. A file has one
// dictionary per dictionary-encoded column; a batch with another dictionary is an error.
func NewFileWriter(w io.Writer, schema *arrow.Schema, c Compression) (*Writer, error) {
	format, err := ipc.NewFileWriter(w, options(schema, c)...)
	if err != nil {
		return nil, fmt.Errorf("write arrow file: %w", err)
	}
	return &Writer{format}, nil
}

// NewStreamWriter returns a Writer of the stream form.
func NewStreamWriter(w io.Writer, schema *arrow.Schema, c Compression) *Writer {
	return &Writer{ipc.NewWriter(w, options(schema, c)...)}
}

func options(schema *arrow.Schema, c Compression) []ipc.Option {
	opts := []ipc.Option{ipc.WithSchema(schema)}
	switch c {
	case LZ4:
		opts = append(opts, ipc.WithLZ4())
	case ZSTD:
		opts = append(opts, ipc.WithZstd())
	}
	return opts
}

// Write writes a batch of the writer's schema. Arrays may be slices of larger ones; only
// the slice is written.
func (w *Writer) Write(batch arrow.RecordBatch) error {
	if err := w.format.Write(batch); err != nil {
		return fmt.Errorf("write arrow batch: %w", err)
	}
	return nil
}

// Close writes the end, preceded by the schema if there was no batch. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	if err := w.format.Close(); err != nil {
		return fmt.Errorf("end arrow output: %w", err)
	}
	return nil
}
