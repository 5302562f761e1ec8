package dataset

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/legacyfile"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A columnFile is an open data file of any version of the format, of which rows of fields are
// read. Package datafile says what the methods do.
type columnFile interface {
	Version() lance.Version
	NumRows() int64
	MemBytes() int64
	BytesPerRow(fields []*schema.Field) float64
	ReadRange(ctx context.Context, fields []*schema.Field, from, to int64) ([]arrow.Array, error)
	Take(ctx context.Context, fields []*schema.Field, rows []int64) ([]arrow.Array, error)
}

// openColumns reads the metadata of the file. Which of its columns a table has is for viewOf:
// the file is for all tables and versions that name it.
func (d *dataFile) openColumns(ctx context.Context) (columnFile, error) {
	size := int64(d.meta.SizeBytes)
	if isLegacy(d.meta) {
		return legacyfile.Open(ctx, d.base.Store, d.key, size)
	}
	return datafile.Open(ctx, d.base.Store, d.key, size, noColumns)
}

var noColumns = map[int32]int32{}

// viewOf returns the file as the manifest sees it.
func (d *dataFile) viewOf(file columnFile) columnFile {
	switch file := file.(type) {
	case *datafile.File:
		return file.View(d.columns)
	case *legacyfile.File:
		return file.View(d.columns)
	}
	return file
}

func isLegacy(file *pb.DataFile) bool {
	version, err := lance.VersionOf(file.MajorVersion, file.MinorVersion)
	return err == nil && version == lance.Legacy
}

// checkVersion refuses a file of another version than its entry in the manifest says: the
// version decides what the entry's list of fields means.
func (d *dataFile) checkVersion(is lance.Version) error {
	want, err := lance.VersionOf(d.meta.MajorVersion, d.meta.MinorVersion)
	if err == nil && want != is {
		err = fmt.Errorf("%w: data file %s is of version %s, and the manifest says %s", lance.ErrCorrupt, d.key, is, want)
	}
	return err
}

// openBlobs returns a file that can hold blobs.
func (d *dataFile) openBlobs(ctx context.Context, cache *Cache) (*datafile.File, error) {
	opened, err := d.open(ctx, cache)
	if err != nil {
		return nil, err
	}
	file, ok := opened.(*datafile.File)
	if !ok {
		return nil, fmt.Errorf("%w: blobs in legacy data files", lance.ErrUnsupported)
	}
	return file, nil
}

// A columnWriter writes a data file of any version of the format. Package datafile says what
// the methods do.
type columnWriter interface {
	Write(rec arrow.RecordBatch) error
	Need(rec arrow.RecordBatch) int64
	Flush() error
	Close() (datafile.Summary, error)
}

// A legacyWriter writes files of the legacy version, whose entries name no columns.
type legacyWriter struct{ *legacyfile.Writer }

// Need counts the rows that wait for a batch to fill, which are put together then.
func (w legacyWriter) Need(rec arrow.RecordBatch) int64 {
	total := int64(0)
	for _, batch := range append(w.Waiting(), rec) {
		for _, column := range batch.Columns() {
			total += datafile.SizeOf(column).Bytes
		}
	}
	return 2 * total
}

// Flush does nothing: the batches of a file have the lengths that they have.
func (w legacyWriter) Flush() error { return nil }

func (w legacyWriter) Close() (datafile.Summary, error) {
	sum, err := w.Writer.Close()
	return datafile.Summary{Rows: sum.Rows, Size: sum.Size, Fields: sum.Fields}, err
}

// newColumnWriter begins to write the file.
func (f *stagedFile) newColumnWriter(ctx context.Context, t *Table, s *schema.Schema, format fileFormat) (columnWriter, error) {
	if format.version == lance.Legacy {
		w, err := legacyfile.NewWriter(f.upload, s, format.batches)
		return legacyWriter{w}, err
	}
	return datafile.NewBlobWriter(f.upload, s, format.version, f.blobPlaces(ctx, t, format))
}

// withBatches returns the format for a further file of a fragment: native readers of legacy
// files read the batches of all of them side by side.
func (f *fragment) withBatches(ctx context.Context, format fileFormat) (fileFormat, error) {
	if format.version != lance.Legacy || len(f.files) == 0 {
		return format, nil
	}
	opened, err := f.files[0].open(ctx, f.table.session.cache)
	if err != nil {
		return format, err
	}
	file, ok := opened.(*legacyfile.File)
	if !ok {
		return format, fmt.Errorf("%w: fragment %d has files of version %s in a legacy table", lance.ErrUnsupported, f.meta.ID, opened.Version())
	}
	format.batches = file.Batches()
	return format, nil
}
