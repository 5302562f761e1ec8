package dataset

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/schema"
)

// A Dataset is a table at one version. It does not change and is safe for concurrent use.
type Dataset struct {
	table     *Table
	manifest  *manifest.Manifest
	fragments func() []*fragment.Fragment // made at the first use: a version that was just written may never be read
	rows      int64                       // not deleted
	arrow     *arrow.Schema
	scanned   *arrow.Schema
	indices   func() ([]Index, error)
	recent    []committed // what made the versions up to this one, when that was here
}

func newDataset(t *Table, m *manifest.Manifest) (*Dataset, error) {
	if err := m.CheckReadable(); err != nil {
		return nil, err
	}
	t = t.plain()
	d := &Dataset{table: t, manifest: m, arrow: m.Schema.Arrow(), scanned: m.Schema.Described().Arrow()}
	for i := range m.Fragments {
		d.rows += fragment.LiveRows(m.Fragments[i])
	}
	d.fragments = sync.OnceValue(func() []*fragment.Fragment { return fragment.List(m, t.bases(m), t.session.cache) })
	d.indices = sync.OnceValues(d.readIndices)
	return d, nil
}

// Version returns the number of the version.
func (d *Dataset) Version() uint64 { return d.manifest.Version }

// Now returns what the clock of the session says.
func (d *Dataset) Now() time.Time { return d.table.session.now() }

// scheme returns how the table names its manifests.
func (d *Dataset) scheme() manifest.Scheme { return d.manifest.Location.Scheme }

// Manifest returns what is stored of the version. It must not be changed.
func (d *Dataset) Manifest() *manifest.Manifest { return d.manifest }

// Schema returns the table's columns. It must not be changed.
func (d *Dataset) Schema() *schema.Schema { return d.manifest.Schema }

// ArrowSchema returns the table's columns as Arrow sees them.
func (d *Dataset) ArrowSchema() *arrow.Schema { return d.arrow }

// TextSchema returns the columns as clients are told them: JSON is text.
func (d *Dataset) TextSchema() *arrow.Schema { return schema.TextSchema(d.arrow) }

// ScanSchema returns the columns as scans answer them: blobs are described.
func (d *Dataset) ScanSchema() *arrow.Schema { return d.scanned }

// CountRows returns the number of rows that are not deleted.
func (d *Dataset) CountRows() int64 { return d.rows }

// Stats are sizes of a table.
type Stats struct {
	Rows        int64 // not deleted
	DeletedRows int64
	Bytes       int64   // of all data files of the version, as far as it tells
	Lengths     []int64 // rows by fragment, deleted ones included
}

// Stats sums up the fragments, without reading anything.
func (d *Dataset) Stats() Stats {
	stats := Stats{Rows: d.rows}
	for _, f := range d.manifest.Fragments {
		stats.DeletedRows += fragment.DeletedRows(f)
		stats.Lengths = append(stats.Lengths, int64(f.PhysicalRows))
		for i := range f.Files {
			stats.Bytes += int64(f.Files[i].SizeBytes)
		}
	}
	return stats
}

// Summary returns the sizes of the version under the names that native Lance lists with
// its versions.
func (d *Dataset) Summary() map[string]string {
	physical, files, deletionFiles := int64(0), 0, 0
	for _, f := range d.manifest.Fragments {
		physical += int64(f.PhysicalRows)
		files += len(f.Files)
		if f.DeletionFile != nil {
			deletionFiles++
		}
	}
	stats := d.Stats()
	return map[string]string{
		"total_rows":               strconv.FormatInt(stats.Rows, 10),
		"total_data_file_rows":     strconv.FormatInt(physical, 10),
		"total_deletion_file_rows": strconv.FormatInt(stats.DeletedRows, 10),
		"total_fragments":          strconv.Itoa(len(d.manifest.Fragments)),
		"total_data_files":         strconv.Itoa(files),
		"total_deletion_files":     strconv.Itoa(deletionFiles),
		"total_files_size":         strconv.FormatInt(stats.Bytes, 10),
	}
}

// loadDeletions reads the deletion vectors that are not there yet, side by side.
func (d *Dataset) loadDeletions(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	for _, f := range d.fragments() {
		if f.Meta.DeletionFile != nil {
			group.Go(func() error {
				_, err := f.Deletions(ctx)
				return err
			})
		}
	}
	return group.Wait()
}

// maxConcurrentReads bounds the files of one table that are read side by side.
const maxConcurrentReads = 32

// memBytes estimates what the dataset occupies.
func (d *Dataset) memBytes() int64 {
	const perFragment, perField = 800, 500
	return int64(len(d.manifest.Fragments))*perFragment + int64(len(d.arrow.Fields()))*perField + int64(len(d.manifest.IndexSection)) + d.manifest.DictionaryBytes()
}
