package snapshot

import (
	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
)

// A Covering is what a segment covers of the fragments of a version.
type Covering struct {
	Entry *pb.IndexMetadata
	Live  *roaring.Bitmap // ids of fragments
	Rows  int64           // that are not deleted
}

// CoveringOf returns which of the fragments of the version a segment covers: none if it is to be built anew
// because a compaction has moved its rows.
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

// RowsIn returns how many rows of some fragments are not deleted.
func (s *Snapshot) RowsIn(fragments *roaring.Bitmap) int64 {
	rows := int64(0)
	for _, m := range s.manifest.Fragments {
		if fragments.Contains(uint32(m.ID)) {
			rows += fragment.LiveRows(m)
		}
	}
	return rows
}
