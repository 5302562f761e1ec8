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

// An Extender builds additional segments of existing indices. Package engine/build implements it.
type Extender interface {
	// CanExtend reports, from the index description alone, whether the Extender supports it.
	CanExtend(snapshot.Index) bool
	// Extend returns the description of a segment over the rows of part, with the parameters of
	// segment like. If the files of the index have an unsupported form, the error is
	// lance.ErrUnsupported.
	Extend(ctx context.Context, part *dataset.Dataset, index snapshot.Index, like *snapshot.Segment) (NewIndex, error)
}

// A Fold adds a segment to an index for the uncovered fragments. The new segment may also replace
// older segments and cover their fragments.
type Fold struct {
	Index  snapshot.Index
	Rows   int64 // live rows covered by the new segment
	Fresh  int   // fragments covered by no segment before
	Merged int   // replaced segments that still cover a fragment

	fragments []*pb.Fragment      // covered by the new segment
	replaced  []*pb.IndexMetadata // entries replaced by the new segment
	like      *pb.IndexMetadata   // entry that provides the parameters
}

// mergeRatio bounds the rows of a replaced segment in multiples of the new segment's rows. Each
// segment of an index is thus at least four times larger than the next, and a row is indexed at
// most as often as there are segments.
const mergeRatio = 4

// fullRows is the size from which a segment is replaced only if it must be, so that the large
// segments built by many workers are not rebuilt for a few rows.
const fullRows = 1 << 25

// Folds returns the pending work on the indices of a version, in the order of their names, from the
// manifest alone. It leaves out indices rejected by can and those with a segment of an unknown
// version.
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
		// A segment of an unknown form must not be combined with others.
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
// Source: index/append.rs of crate lance, select_segments_to_merge and merge_scalar_indices, for
// the segments that must be replaced.
func foldOf(d *dataset.Dataset, x snapshot.Index, entries []*pb.IndexMetadata) (Fold, error) {
	f := Fold{Index: x, like: entries[len(entries)-1]}
	var segments []snapshot.Covering
	var taken roaring.Bitmap // fragments covered by the new segment
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
		if taken.IsEmpty() { // the newest segment may be merged with the one before it
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

// mustGo reports whether a segment must be replaced when a new one is added. In a table with stable
// row ids, an updated row keeps its id: the old segment would hold its old value, the new one its
// new value, and native Lance would find both. Any fragment with deleted rows may have had such a
// row. In addition, an index must not mix segments of ids and of addresses, which early BTREE
// segments store.
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

// Apply builds the new segment of a Fold and commits it in place of the replaced ones. It returns
// nil if the build writes no files, for lack of rows for training. If other writers rewrite covered
// fragments or change the same index, it fails with an error for which dataset.IsRowsChanged holds.
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

// PartOf returns a view of the version restricted to some fragments, as input of a segment.
func PartOf(d *dataset.Dataset, fragments []*pb.Fragment) (*dataset.Dataset, error) {
	s, err := d.Part(fragments)
	if err != nil {
		return nil, err
	}
	return d.With(s), nil
}

// Built is a segment whose files may still be uploading.
type Built struct {
	Entry *pb.IndexMetadata
	Wait  func() error
}

// PlanLike returns the description of a segment over the rows of part with the parameters of
// another segment.
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

// Extend builds a segment over the rows of part with the parameters of another segment. The context
// must last until the files are durable.
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
