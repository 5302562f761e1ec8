package snapshot

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Snapshot reads a table at one version. It is immutable and safe for concurrent use.
type Snapshot struct {
	place      Place
	manifest   *manifest.Manifest
	fragments  func() []*fragment.Fragment // built on first use, because a version just written may never be read
	widths     func() fragment.Widths      // of all fragments
	rows       int64                       // live rows
	physical   int64                       // rows, with deleted ones
	bytes      int64                       // see MemBytes
	deletions  int64                       // see DeletionBytes
	arrow      *arrow.Schema
	scanned    *arrow.Schema
	rowColumns func() *arrow.Schema // of scanned
	indices    func() (knownIndices, error)
	reuse      func() (reuse, error)
	loaded     *atomic.Bool // all deletion vectors
	once       *sync.Map    // see Once
	isPart     bool         // see Part
}

// New returns the snapshot of a manifest. A manifest with unknown reader features is
// lance.ErrUnsupported.
func New(at Place, m *manifest.Manifest) (*Snapshot, error) {
	if err := m.CheckReadable(); err != nil {
		return nil, err
	}
	at.Reach = nil // all readers of the version share the snapshot
	s := &Snapshot{place: at, manifest: m, loaded: new(atomic.Bool), once: new(sync.Map), arrow: m.Schema.Arrow(), scanned: m.Schema.Described().Arrow()}
	for i := range m.Fragments {
		s.rows += fragment.LiveRows(m.Fragments[i])
		s.physical += int64(m.Fragments[i].PhysicalRows)
		s.deletions += deletion.MemBytes(m.Fragments[i].PhysicalRows, uint64(fragment.DeletedRows(m.Fragments[i])))
	}
	const perFragment, perField = 800, 500
	s.bytes = perFragment*int64(len(m.Fragments)) + perField*int64(len(s.arrow.Fields())) + m.MemBytes()
	s.fragments = sync.OnceValue(func() []*fragment.Fragment { return fragment.List(m, at.bases(m), at.Cache) })
	s.widths = sync.OnceValue(func() fragment.Widths { return fragment.WidthsOf(s.fragments()) })
	s.rowColumns = sync.OnceValue(func() *arrow.Schema { return withRowColumns(s.scanned) })
	s.indices = sync.OnceValues(s.readIndices)
	s.reuse = sync.OnceValues(s.readReuse)
	return s, nil
}

// Part returns a view of the version with only the given fragments, which need not be committed. It
// serves to read their rows.
func (s *Snapshot) Part(fragments []*pb.Fragment) (*Snapshot, error) {
	m := *s.manifest
	m.Fragments = slices.SortedFunc(slices.Values(fragments), func(a, b *pb.Fragment) int { return cmp.Compare(a.ID, b.ID) })
	part, err := New(s.place, &m)
	if err == nil {
		part.isPart = true
	}
	return part, err
}

// ReachWith returns a view with an access check for blobs outside of the table's location.
func (s *Snapshot) ReachWith(reach Reach) *Snapshot {
	reaching := *s
	reaching.place.Reach = reach
	return &reaching
}

// Version returns the number of the version.
func (s *Snapshot) Version() uint64 { return s.manifest.Version }

// Manifest returns the decoded manifest. It must not be changed.
func (s *Snapshot) Manifest() *manifest.Manifest { return s.manifest }

// Schema returns the table's columns. It must not be changed.
func (s *Snapshot) Schema() *schema.Schema { return s.manifest.Schema }

// ArrowSchema returns the table's columns as an Arrow schema.
func (s *Snapshot) ArrowSchema() *arrow.Schema { return s.arrow }

// TextSchema returns the columns as clients see them: JSON columns are text.
func (s *Snapshot) TextSchema() *arrow.Schema { return schema.TextSchema(s.arrow) }

// ScanSchema returns the columns as scans return them: blobs are descriptions.
func (s *Snapshot) ScanSchema() *arrow.Schema { return s.scanned }

// WithRowColumns returns a schema with the row columns added. That of ScanSchema is made once.
func (s *Snapshot) WithRowColumns(columns *arrow.Schema) *arrow.Schema {
	if columns == s.scanned {
		return s.rowColumns()
	}
	return withRowColumns(columns)
}

func withRowColumns(columns *arrow.Schema) *arrow.Schema {
	return arrow.NewSchema(append(slices.Clone(columns.Fields()), RowColumns()...), nil)
}

// Once returns a value that depends on nothing but the version and the key, such as what a query
// derives from the indices. derive is called until it succeeds. The type of the key belongs to the
// caller, and a version has few keys of it. The value must not be changed.
func Once[T any](s *Snapshot, key any, derive func() (T, error)) (T, error) {
	if kept, ok := s.once.Load(key); ok {
		return kept.(T), nil
	}
	value, err := derive()
	if err == nil {
		s.once.Store(key, value)
	}
	return value, err
}

// CountRows returns the number of live rows.
func (s *Snapshot) CountRows() int64 { return s.rows }

// Counts returns the numbers of fragments and of deleted rows.
func (s *Snapshot) Counts() (fragments int, deleted int64) {
	return len(s.manifest.Fragments), s.physical - s.rows
}

// Stats holds sizes of a table.
type Stats struct {
	Rows        int64 // live rows
	DeletedRows int64
	Bytes       int64   // sum over the version's data files with a recorded size
	Lengths     []int64 // physical rows per fragment, including deleted ones
}

// Stats sums up the fragments from the manifest alone.
func (s *Snapshot) Stats() Stats {
	stats := Stats{Rows: s.rows}
	for _, f := range s.manifest.Fragments {
		stats.DeletedRows += fragment.DeletedRows(f)
		stats.Lengths = append(stats.Lengths, int64(f.PhysicalRows))
		for i := range f.Files {
			stats.Bytes += int64(f.Files[i].SizeBytes)
		}
	}
	return stats
}

// Summary returns the sizes of the version under the keys of native Lance's version metadata.
func (s *Snapshot) Summary() map[string]string {
	physical, files, deletionFiles := int64(0), 0, 0
	for _, f := range s.manifest.Fragments {
		physical += int64(f.PhysicalRows)
		files += len(f.Files)
		if f.DeletionFile != nil {
			deletionFiles++
		}
	}
	stats := s.Stats()
	return map[string]string{
		"total_rows":               strconv.FormatInt(stats.Rows, 10),
		"total_data_file_rows":     strconv.FormatInt(physical, 10),
		"total_deletion_file_rows": strconv.FormatInt(stats.DeletedRows, 10),
		"total_fragments":          strconv.Itoa(len(s.manifest.Fragments)),
		"total_data_files":         strconv.Itoa(files),
		"total_deletion_files":     strconv.Itoa(deletionFiles),
		"total_files_size":         strconv.FormatInt(stats.Bytes, 10),
	}
}

// loadDeletions loads the missing deletion vectors in parallel. Fragments keep theirs, so once all are
// loaded it costs nothing.
func (s *Snapshot) loadDeletions(ctx context.Context) error {
	if s.loaded.Load() {
		return nil
	}
	return s.loadMissingDeletions(ctx)
}

func (s *Snapshot) loadMissingDeletions(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrentReads)
	for _, f := range s.fragments() {
		if !f.KnowsDeletions() {
			group.Go(func() error {
				_, err := f.Deletions(ctx)
				return err
			})
		}
	}
	err := group.Wait()
	if err == nil {
		s.loaded.Store(true)
	}
	return err
}

// knowsDeletions reports whether all deletion vectors are loaded.
func (s *Snapshot) knowsDeletions() bool {
	return s.loaded.Load() || !slices.ContainsFunc(s.fragments(), func(f *fragment.Fragment) bool { return !f.KnowsDeletions() })
}

// MaxConcurrentReads bounds the files of one table that are read in parallel.
const MaxConcurrentReads = 32

// MemBytes estimates the memory of the snapshot, without file contents that it loads later.
func (s *Snapshot) MemBytes() int64 { return s.bytes }

// DeletionBytes estimates the memory of all deletion vectors. The snapshot keeps each one that it
// loads.
func (s *Snapshot) DeletionBytes() int64 { return s.deletions }

// Fragments returns the fragments of the version in the order of their ids. They must not be changed.
func (s *Snapshot) Fragments() []*fragment.Fragment { return s.fragments() }

// Fragment returns the fragment with the id, or nil.
func (s *Snapshot) Fragment(id uint64) *fragment.Fragment {
	all := s.fragments()
	if len(all) == 0 {
		return nil
	}
	// Ids are mostly consecutive.
	if at := id - all[0].Meta.ID; at < uint64(len(all)) && all[at].Meta.ID == id {
		return all[at]
	}
	at, ok := slices.BinarySearchFunc(all, id, func(f *fragment.Fragment, id uint64) int { return cmp.Compare(f.Meta.ID, id) })
	if !ok {
		return nil
	}
	return all[at]
}
