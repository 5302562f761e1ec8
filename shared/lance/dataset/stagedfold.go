package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
)

// ErrStaleFold says that an index got other segments while segments of a fold were built.
var ErrStaleFold = errors.New("the index has other segments than when its fold began")

// A StagedFold is a [Fold] whose segments several processes build. It names the entries of the index by their UUIDs.
type StagedFold struct {
	Like     string   `json:"like"`               // the segment whose parameters the new ones get
	Replaced []string `json:"replaced,omitempty"` // segments whose place they take
	Entries  []string `json:"entries"`            // all segments that the index had
}

// Staged returns what the processes that build segments for a fold of d need to know of it.
func (d *Dataset) Staged(f Fold) (*StagedFold, error) {
	entries, err := d.entriesOf(f.Index.Name)
	if err != nil {
		return nil, err
	}
	return &StagedFold{Like: f.like.UUID.String(), Replaced: segmentIDs(f.replaced), Entries: segmentIDs(entries)}, nil
}

// Fragments returns the ids of the fragments that the new segment covers.
func (f *Fold) Fragments() *roaring.Bitmap {
	ids := roaring.New()
	for _, m := range f.fragments {
		ids.Add(uint32(m.ID))
	}
	return ids
}

// LikeOf returns the index of a name and its segment with a UUID. The error is ErrStaleFold if there is none.
func (d *Dataset) LikeOf(name, id string) (snapshot.Index, *snapshot.Segment, error) {
	entries, err := d.entriesOf(name)
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

// CommitFold puts staged segments in the place of those that a fold replaces. Each must cover fragments whose indexed
// values are the same in d as in the version that the segment was built of. When the index meanwhile got other
// segments, the error is ErrStaleFold.
func (d *Dataset) CommitFold(ctx context.Context, f *StagedFold, n NewIndex, segments []StagedSegment) (*Dataset, error) {
	entries, err := d.entriesOf(n.Name)
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
	if op.NewIndices, err = d.stagedEntries(n, segments); err != nil {
		return nil, err
	}
	for _, e := range op.NewIndices {
		e.Fields = entries[0].Fields
	}
	return d.table.commit(ctx, &change{read: d, operation: op})
}

// entriesOf returns the entries of an index.
func (d *Dataset) entriesOf(name string) ([]*pb.IndexMetadata, error) {
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
