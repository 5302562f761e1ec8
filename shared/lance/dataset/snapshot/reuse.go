package snapshot

import (
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/fragreuse"
	"tiltyard/shared/lance/pb"
)

// A reuse records row moves by compactions for index segments that still hold the old addresses.
type reuse struct {
	moves   *fragreuse.Moves // nil: none, or unknown
	unknown bool             // the index entry cannot be read
	moved   *roaring.Bitmap  // if unknown: fragments that rows moved to; nil: any
}

// readReuse reads the fragment reuse index. In a table with stable row ids an entry is treated as
// unreadable: ids survive a compaction, and native Lance defers no remapping for the indices that
// store addresses.
func (s *Snapshot) readReuse() (r reuse, err error) {
	entries, err := s.manifest.Indices()
	if err != nil {
		return r, err
	}
	for _, x := range entries {
		if x.Name != fragreuse.Name {
			continue
		}
		if s.manifest.StableRowIDs() {
			return s.unknownReuse(x), nil
		}
		r.moves, err = fragreuse.Parse(x)
		if errors.Is(err, lance.ErrCorrupt) || errors.Is(err, lance.ErrUnsupported) {
			return s.unknownReuse(x), nil
		}
		return r, err
	}
	return r, nil
}

// unknownReuse describes an unreadable entry by the fragments in its coverage.
func (s *Snapshot) unknownReuse(x *pb.IndexMetadata) reuse {
	r := reuse{unknown: true}
	if covered, err := coveredBy(x); err == nil && !covered.IsEmpty() {
		r.moved = covered
	}
	return r
}

// coverageOf returns the fragments that a segment covers in this version, and the moves that
// translate its rows to them.
func (s *Snapshot) coverageOf(x *pb.IndexMetadata) (*roaring.Bitmap, *fragreuse.Moves, error) {
	covered, err := coveredBy(x)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.reuse()
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
	case r.unknown && r.moved == nil:
		return roaring.New(), nil, nil
	case r.unknown:
		covered.AndNot(r.moved)
		return covered, nil, nil
	}
	r.moves.Follow(covered)
	return covered, r.moves, nil
}

// IsMoved reports whether a segment may hold row addresses from before a compaction. It must be
// rebuilt before its rows move again.
func (s *Snapshot) IsMoved(x *pb.IndexMetadata) (bool, error) {
	covered, err := coveredBy(x)
	if err != nil {
		return false, err
	}
	r, err := s.reuse()
	if err != nil || r.unknown {
		return r.unknown && (r.moved == nil || covered.Intersects(r.moved)), err
	}
	return r.moves.Concern(x.DatasetVersion, covered), nil
}
