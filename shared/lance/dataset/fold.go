package dataset

import (
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// An Extender builds further segments of indices that exist. Package build has one.
type Extender interface {
	// CanExtend reports, by the entry of an index alone, whether the Extender builds segments of it.
	CanExtend(snapshot.Index) bool
	// Extend returns how a segment of an index is built over the rows of part, with the parameters of
	// the segment like. An index whose files turn out to be of a form that cannot be built is
	// lance.ErrUnsupported.
	Extend(ctx context.Context, part *Dataset, index snapshot.Index, like *snapshot.Segment) (NewIndex, error)
}

// A Fold is work on an index that leaves no fragment without a segment: one new segment covers the
// fragments that had none, and those of the segments whose place it takes.
type Fold struct {
	Index  snapshot.Index
	Rows   int64 // that the new segment covers
	Fresh  int   // fragments that had no segment
	Merged int   // segments whose place it takes, without those that cover no fragment any more

	fragments []*pb.Fragment      // that the new segment covers
	replaced  []*pb.IndexMetadata // entries that the new one takes the place of
	like      *pb.IndexMetadata   // whose parameters it gets
}

// mergeRatio: a new segment takes the place of older segments, the newest first, that have at most so
// many times its rows. So the segments of an index that is folded time and again grow by this factor
// from each to the one before, and a row is indexed as often as there are segments.
const mergeRatio = 4

// fullRows: a segment of at least so many rows stays, unless it must go. So the segments of an index that many
// workers build, and that are as large as one of them can write, are not built anew for a few rows.
const fullRows = 1 << 25

// Folds returns what there is to fold into the indices of the version, in the order of their names. It
// reads nothing. Indices for which can is false, and those of which some segment is of an unknown
// version, are left out.
func (d *Dataset) Folds(can func(snapshot.Index) bool) ([]Fold, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	indices, err := d.Indices()
	if err != nil {
		return nil, err
	}
	entries, err := d.Manifest().Indices()
	if err != nil {
		return nil, fmt.Errorf("%w: indices: %w", lance.ErrCorrupt, err)
	}
	var folds []Fold
	for _, x := range indices {
		var of []*pb.IndexMetadata
		for _, e := range entries {
			if e.Name == x.Name {
				of = append(of, e)
			}
		}
		if slices.ContainsFunc(of, func(e *pb.IndexMetadata) bool { return !indexmeta.IsKnown(e) || len(e.CoveringFields) > 0 }) || !can(x) {
			continue
		}
		f, err := d.foldOf(x, of)
		if err != nil {
			return nil, err
		}
		if len(f.fragments) > 0 {
			folds = append(folds, f)
		}
	}
	return folds, nil
}

// foldOf decides which segments of an index a new one takes the place of.
//
// Source: index/append.rs of crate lance, select_segments_to_merge and merge_scalar_indices, for which
// segments must not stay beside a new one.
func (d *Dataset) foldOf(x snapshot.Index, entries []*pb.IndexMetadata) (Fold, error) {
	f := Fold{Index: x, like: entries[len(entries)-1]}
	var segments []snapshot.Covering
	var taken roaring.Bitmap // fragments that the new segment covers
	for _, m := range d.Manifest().Fragments {
		if m.ID > 1<<32-1 {
			return f, fmt.Errorf("%w: an index over fragment %d", lance.ErrUnsupported, m.ID)
		}
		taken.Add(uint32(m.ID))
	}
	for _, e := range entries {
		c, err := d.CoveringOf(e)
		if err != nil {
			return f, err
		}
		taken.AndNot(c.Live)
		if c.Live.IsEmpty() {
			f.replaced = append(f.replaced, e)
			continue
		}
		segments, f.like = append(segments, c), e
	}
	f.Rows = d.RowsIn(&taken)
	f.Fresh = int(taken.GetCardinality())
	take := func(c snapshot.Covering) {
		taken.Or(c.Live)
		f.Rows, f.Merged = f.Rows+c.Rows, f.Merged+1
		f.replaced = append(f.replaced, c.Entry)
	}
	rest := segments[:0:0]
	for _, c := range segments {
		if f.Fresh > 0 && d.mustGo(c) {
			take(c)
		} else {
			rest = append(rest, c)
		}
	}
	rest = slices.DeleteFunc(rest, func(c snapshot.Covering) bool { return c.Rows >= fullRows })
	for n := len(rest) - 1; n >= 0; n-- {
		if taken.IsEmpty() { // then the newest may be merged with the one before
			if n == 0 || rest[n-1].Rows > mergeRatio*rest[n].Rows {
				continue
			}
		} else if rest[n].Rows > mergeRatio*f.Rows {
			break
		}
		take(rest[n])
	}
	f.fragments = slices.DeleteFunc(slices.Clone(d.Manifest().Fragments), func(m *pb.Fragment) bool { return !taken.Contains(uint32(m.ID)) })
	return f, nil
}

// mustGo reports whether a segment must not stay beside a new one. In a table with stable row ids an
// updated row keeps its id in segments that name rows by ids, where native Lance takes it for a row
// with the value of before once the new value is indexed, too; a fragment with deleted rows may have had
// such a row. Also one index must not name rows by ids in one segment and by addresses in another,
// which BTREE indices of early versions would.
func (d *Dataset) mustGo(c snapshot.Covering) bool {
	kind := indexmeta.KindOf(c.Entry.Details.TypeURL)
	if !d.Manifest().StableRowIDs() || indexmeta.NamesAddresses(c.Entry) || kind == indexmeta.Vector {
		return false
	}
	if kind.NamesAddresses(kind.Newest()) {
		return true
	}
	return slices.ContainsFunc(d.Manifest().Fragments, func(m *pb.Fragment) bool {
		return m.DeletionFile != nil && c.Live.Contains(uint32(m.ID))
	})
}

// Fold builds the new segment of a Fold, and commits it in the place of the others. A segment of which
// the build writes no files, because there are too few rows to train with, is not committed: the
// Dataset is nil then. Others that meanwhile rewrite fragments that the segment covers, or change the
// same index, make it stale; see IsRowsChanged.
func (d *Dataset) Fold(ctx context.Context, f Fold, extend Extender) (*Dataset, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	part, err := d.part(f.fragments)
	if err != nil {
		return nil, err
	}
	s, err := d.extend(ctx, part, f.like, extend)
	if err != nil || len(s.entry.Files) == 0 {
		return nil, err
	}
	op := &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{s.entry}, RemovedIndices: f.replaced}
	return d.table.commit(ctx, &change{read: d, operation: op, wait: s.wait})
}

// part returns a [snapshot.Snapshot.Part] of the version, of which segments are built.
func (d *Dataset) part(fragments []*pb.Fragment) (*Dataset, error) {
	s, err := d.Part(fragments)
	if err != nil {
		return nil, err
	}
	return &Dataset{Snapshot: s, table: d.table}, nil
}

// An extension is a segment that was built, and whose files are on their way.
type extension struct {
	entry *pb.IndexMetadata
	wait  func() error
}

// planLike returns how a segment is built over the rows of a part, with the parameters of another segment.
func (d *Dataset) planLike(ctx context.Context, part *Dataset, like *pb.IndexMetadata, extend Extender) (NewIndex, error) {
	index, err := d.Index(like.Name)
	if err != nil {
		return NewIndex{}, err
	}
	segment, err := d.SegmentOf(like)
	if err != nil {
		return NewIndex{}, err
	}
	n, err := extend.Extend(ctx, part, index, segment)
	if err != nil {
		err = fmt.Errorf("index %s: %w", like.Name, err)
	}
	return n, err
}

// extend builds a segment over the rows of a part, with the parameters of another segment. The context
// must last until the files are durable.
func (d *Dataset) extend(ctx context.Context, part *Dataset, like *pb.IndexMetadata, extend Extender) (extension, error) {
	n, err := d.planLike(ctx, part, like, extend)
	if err != nil {
		return extension{}, err
	}
	entry, err := part.newEntry(n)
	if err != nil {
		return extension{}, err
	}
	entry.Fields = like.Fields
	out, err := d.newSegmentFiles(entry.UUID.String())
	if err != nil {
		return extension{}, err
	}
	defer out.abort()
	if err := n.Build(ctx, out); err != nil {
		return extension{}, fmt.Errorf("index %s: %w", n.Name, err)
	}
	if len(out.open) > 0 {
		return extension{}, fmt.Errorf("index %s: %d files of the segment were not closed", n.Name, len(out.open))
	}
	entry.Files = out.files
	return extension{entry, out.puts.Wait}, nil
}
