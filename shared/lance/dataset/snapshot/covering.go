package snapshot

import (
	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
)

// A Covering lists the fragments of a version that an index segment covers.
type Covering struct {
	Entry *pb.IndexMetadata
	Live  *roaring.Bitmap // fragment ids
	Rows  int64           // live rows
}

// CoveringOf returns the fragments of the version that a segment covers. It covers none if a
// compaction has moved its rows, because it must then be rebuilt.
func (s *Snapshot) CoveringOf(x *pb.IndexMetadata) (Covering, error) {
	covered, err := coveredBy(x)
	if err != nil {
		return Covering{}, err
	}
	c := Covering{Entry: x, Live: roaring.New()}
	if moved, err := s.IsMoved(x); moved || err != nil {
		return c, err
	}
	for _, m := range s.manifest.Fragments {
		if m.ID <= 1<<32-1 && covered.Contains(uint32(m.ID)) {
			c.Live.Add(uint32(m.ID))
		}
	}
	c.Rows = s.RowsIn(c.Live)
	return c, nil
}

// RowsIn counts the live rows of some fragments.
func (s *Snapshot) RowsIn(fragments *roaring.Bitmap) int64 {
	rows := int64(0)
	for _, m := range s.manifest.Fragments {
		if fragments.Contains(uint32(m.ID)) {
			rows += fragment.LiveRows(m)
		}
	}
	return rows
}
