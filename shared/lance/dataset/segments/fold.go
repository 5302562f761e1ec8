package segments

import (
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// An Extender builds further segments of existing indices. Package engine/build has one.
type Extender interface {
	// CanExtend reports, by the entry of an index alone, whether the Extender builds segments of it.
	CanExtend(snapshot.Index) bool
	// Extend returns how a segment of an index is built over the rows of part, with the parameters of
	// the segment like. An index whose files turn out to be of a form that cannot be built is
	// lance.ErrUnsupported.
	Extend(ctx context.Context, part *dataset.Dataset, index snapshot.Index, like *snapshot.Segment) (NewIndex, error)
}

// A Fold adds a segment to an index for the fragments that have none. The new segment also replaces older ones and covers their
// fragments.
type Fold struct {
	Index  snapshot.Index
	Rows   int64 // that the new segment covers
	Fresh  int   // fragments that had no segment
	Merged int   // segments whose place it takes, without those that cover no fragment any more

	fragments []*pb.Fragment      // that the new segment covers
	replaced  []*pb.IndexMetadata // entries that the new one takes the place of
	like      *pb.IndexMetadata   // whose parameters it gets
}

// mergeRatio bounds the rows of a replaced segment in multiples of the rows of the new one. So each segment of an index is larger
// than the next one by this factor, and a row is indexed as often as there are segments.
const mergeRatio = 4

// fullRows is the size from which on a segment is replaced only if it must be, so that the large segments of an index built by
// many workers are not built again for a few rows.
const fullRows = 1 << 25

// Folds returns the work on the indices of the version in the order of their names. It reads nothing and leaves out indices for
// which can is false and those with a segment of an unknown version.
func Folds(d *dataset.Dataset, can func(snapshot.Index) bool) ([]Fold, error) {
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
		f, err := foldOf(d, x, of)
		if err != nil {
			return nil, err
		}
		if len(f.fragments) > 0 {
			folds = append(folds, f)
		}
	}
	return folds, nil
}

// foldOf chooses the segments of an index that a new one replaces.
//
// Source: index/append.rs of crate lance, select_segments_to_merge and merge_scalar_indices, for the segments that must be
// replaced.
func foldOf(d *dataset.Dataset, x snapshot.Index, entries []*pb.IndexMetadata) (Fold, error) {
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
		if f.Fresh > 0 && mustGo(d, c) {
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

// mustGo reports whether a new segment must replace a segment. In a table with stable row ids, an updated row keeps its id. A
// segment over ids would have the old value of the id and the new segment the new one, and native Lance would find both; a
// fragment with deleted rows may have had such a row. Also, an index must not have segments over ids beside segments over
// addresses, and early BTREE segments are over addresses.
func mustGo(d *dataset.Dataset, c snapshot.Covering) bool {
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

// Apply builds the new segment of a Fold and commits it in place of the replaced ones. It returns nil without a commit if the
// build writes no files because there are too few rows to train with. If other writers rewrite covered fragments or change
// the same index, it is stale; see dataset.IsRowsChanged.
func Apply(ctx context.Context, d *dataset.Dataset, f Fold, extend Extender) (*dataset.Dataset, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	part, err := PartOf(d, f.fragments)
	if err != nil {
		return nil, err
	}
	s, err := Extend(ctx, d, part, f.like, extend)
	if err != nil || len(s.Entry.Files) == 0 {
		return nil, err
	}
	op := &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{s.Entry}, RemovedIndices: f.replaced}
	return d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op, Wait: s.Wait})
}

// PartOf returns a view of the version with some fragments only, from which a segment is built.
func PartOf(d *dataset.Dataset, fragments []*pb.Fragment) (*dataset.Dataset, error) {
	s, err := d.Part(fragments)
	if err != nil {
		return nil, err
	}
	return d.With(s), nil
}

// Built is a segment whose files may still be on their way.
type Built struct {
	Entry *pb.IndexMetadata
	Wait  func() error
}

// PlanLike returns how to build a segment over the rows of a part with the parameters of another segment.
func PlanLike(ctx context.Context, d *dataset.Dataset, part *dataset.Dataset, like *pb.IndexMetadata, extend Extender) (NewIndex, error) {
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

// Extend builds a segment over the rows of a part with the parameters of another segment. The context must last until the files
// are durable.
func Extend(ctx context.Context, d *dataset.Dataset, part *dataset.Dataset, like *pb.IndexMetadata, extend Extender) (Built, error) {
	n, err := PlanLike(ctx, d, part, like, extend)
	if err != nil {
		return Built{}, err
	}
	entry, err := newEntry(part, n)
	if err != nil {
		return Built{}, err
	}
	entry.Fields = like.Fields
	out, err := newSegmentFiles(d, entry.UUID.String())
	if err != nil {
		return Built{}, err
	}
	defer out.abort()
	if err := n.Build(ctx, out); err != nil {
		return Built{}, fmt.Errorf("index %s: %w", n.Name, err)
	}
	if len(out.open) > 0 {
		return Built{}, fmt.Errorf("index %s: %d files of the segment were not closed", n.Name, len(out.open))
	}
	entry.Files = out.files
	return Built{entry, out.puts.Wait}, nil
}
