package segments

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
)

// ErrStaleFold reports that the segments of an index have changed since its fold was planned.
var ErrStaleFold = errors.New("the index has other segments than when its fold began")

// A StagedFold is a serializable [Fold] for segments built by several processes. Segments are
// identified by UUID.
type StagedFold struct {
	Like     string   `json:"like"`               // segment that provides the parameters
	Replaced []string `json:"replaced,omitempty"` // segments to replace
	Entries  []string `json:"entries"`            // all segments of the index at planning time
}

// StageFold converts a fold of d for other processes.
func StageFold(d *dataset.Dataset, f Fold) (*StagedFold, error) {
	entries, err := entriesOf(d, f.Index.Name)
	if err != nil {
		return nil, err
	}
	return &StagedFold{Like: f.like.UUID.String(), Replaced: segmentIDs(f.replaced), Entries: segmentIDs(entries)}, nil
}

// Fragments returns the ids of the fragments covered by the new segment.
func (f *Fold) Fragments() *roaring.Bitmap {
	ids := roaring.New()
	for _, m := range f.fragments {
		ids.Add(uint32(m.ID))
	}
	return ids
}

// LikeOf returns an index and its segment with a UUID, or ErrStaleFold if the segment is gone.
func LikeOf(d *dataset.Dataset, name, id string) (snapshot.Index, *snapshot.Segment, error) {
	entries, err := entriesOf(d, name)
	if err != nil {
		return snapshot.Index{}, nil, err
	}
	at := slices.IndexFunc(entries, func(e *pb.IndexMetadata) bool { return e.UUID.String() == id })
	if at < 0 {
		return snapshot.Index{}, nil, fmt.Errorf("index %s: %w: segment %s is gone", name, ErrStaleFold, id)
	}
	index, err := d.Index(name)
	if err != nil {
		return index, nil, err
	}
	segment, err := d.SegmentOf(entries[at])
	return index, segment, err
}

// CommitFold replaces the segments of a fold by staged ones. Covered fragments must have the same
// indexed values in d as in the version that the segments were built from. The error is
// ErrStaleFold if the segments of the index have changed.
func CommitFold(ctx context.Context, d *dataset.Dataset, f *StagedFold, n NewIndex, segments []Staged) (*dataset.Dataset, error) {
	entries, err := entriesOf(d, n.Name)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(segmentIDs(entries), f.Entries) {
		return nil, fmt.Errorf("index %s: %w", n.Name, ErrStaleFold)
	}
	op := new(pb.CreateIndex)
	for _, e := range entries {
		if slices.Contains(f.Replaced, e.UUID.String()) {
			op.RemovedIndices = append(op.RemovedIndices, e)
		}
	}
	if op.NewIndices, err = stagedEntries(d, n, segments); err != nil {
		return nil, err
	}
	for _, e := range op.NewIndices {
		e.Fields = entries[0].Fields
	}
	return d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op})
}

// entriesOf returns the entries of an index.
func entriesOf(d *dataset.Dataset, name string) ([]*pb.IndexMetadata, error) {
	entries, err := d.Manifest().Indices()
	if err != nil {
		return nil, fmt.Errorf("%w: indices: %w", lance.ErrCorrupt, err)
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e *pb.IndexMetadata) bool { return e.Name != name }), nil
}

// segmentIDs returns the UUIDs of entries.
func segmentIDs(entries []*pb.IndexMetadata) []string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.UUID.String())
	}
	return ids
}
