package rowfile

import (
	"encoding/csv"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/arrow/rowjson"
)

// A Writer writes batches of rows in a format. Close writes the end; it does not close the file.
type Writer interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// NewWriter returns a writer of rows in a format.
func NewWriter(w io.Writer, format Format, schema *arrow.Schema) (Writer, error) {
	switch format {
	case Parquet:
		return newParquetWriter(w, schema)
	case Arrow:
		return ipc.NewWriter(w, ipc.WithSchema(schema)), nil
	case CSV:
		return newCSVWriter(w, schema)
	}
	return lineWriter{w}, nil
}

// csvWriter writes CSV in the form that openCSV reads: nested values are JSON, bytes are base64.
type csvWriter struct{ *csv.Writer }

func newCSVWriter(w io.Writer, schema *arrow.Schema) (csvWriter, error) {
	header := make([]string, schema.NumFields())
	for i, field := range schema.Fields() {
		header[i] = field.Name
	}
	writer := csvWriter{csv.NewWriter(w)}
	return writer, writer.Writer.Write(header)
}

// Write writes a line for each row.
func (w csvWriter) Write(batch arrow.RecordBatch) error {
	line := make([]string, batch.NumCols())
	for i := range int(batch.NumRows()) {
		for j, column := range batch.Columns() {
			line[j] = ""
			if column.IsValid(i) {
				line[j] = column.ValueStr(i)
			}
		}
		if err := w.Writer.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// Close flushes the output.
func (w csvWriter) Close() error {
	w.Flush()
	return w.Error()
}

// lineWriter writes rows as JSON objects, one per line. Bytes are base64.
type lineWriter struct{ io.Writer }

// Write writes a line for each row.
func (w lineWriter) Write(batch arrow.RecordBatch) error { return rowjson.Write(w.Writer, batch) }

// Close does nothing, because lines need no end.
func (w lineWriter) Close() error { return nil }
