package stage

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/internal/legacyfile"
	"tiltyard/shared/lance/schema"
)

// A columnWriter writes a data file of any format version. Package datafile documents the methods.
type columnWriter interface {
	Write(rec arrow.RecordBatch) error
	Need(rec arrow.RecordBatch) int64
	Flush() error
	AddBuffer(b []byte) (int, error)
	Close() (datafile.Summary, error)
}

// A legacyWriter writes legacy files. Their manifest entries list no column indices.
type legacyWriter struct{ *legacyfile.Writer }

// Need counts the rows waiting for a full batch, twice because they are concatenated, and the
// dictionaries for value lookups.
func (w legacyWriter) Need(rec arrow.RecordBatch) int64 {
	total := int64(0)
	for _, batch := range append(w.Waiting(), rec) {
		for _, column := range batch.Columns() {
			total += datafile.SizeOf(column).Bytes
		}
	}
	return 2*total + w.DictionaryBytes()
}

// Flush does nothing, because batch lengths are fixed.
func (w legacyWriter) Flush() error { return nil }

// AddBuffer fails, because legacy files have no global buffers.
func (w legacyWriter) AddBuffer([]byte) (int, error) {
	return 0, fmt.Errorf("%w: a global buffer in a file of the legacy version", lance.ErrUnsupported)
}

// Close returns a summary without column indices, which legacy entries lack.
func (w legacyWriter) Close() (datafile.Summary, error) {
	sum, err := w.Writer.Close()
	return datafile.Summary{Rows: sum.Rows, Size: sum.Size, Fields: sum.Fields}, err
}

// newColumnWriter returns a writer for the file's format.
func (f *File) newColumnWriter(ctx context.Context, p Place, s *schema.Schema, format Format) (columnWriter, error) {
	if format.Version == lance.Legacy {
		w, err := legacyfile.NewWriter(f.upload.writer(ctx), s, format.Legacy)
		return legacyWriter{w}, err
	}
	return datafile.NewBlobWriter(f.upload.writer(ctx), s, format.Version, f.blobPlaces(ctx, p, format))
}
