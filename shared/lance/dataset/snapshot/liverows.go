package snapshot

import (
	"context"
	"fmt"
	"sync/atomic"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/rowid"
)

// LiveRows finds the rows of a version that a segment has stored by their ids, one at a time and
// without waiting. It is safe for concurrent use.
type LiveRows struct {
	segment   *Segment
	fragments map[uint64]liveFragment // those that the segment answers for
	index     *rowid.Index            // nil: the ids are addresses
	wrong     atomic.Pointer[uint64]  // an address at which no row can be
}

type liveFragment struct {
	rows    int64
	deleted *deletion.Vector
}

// LiveRows reads what tells where the rows of a segment are: deletion files and, if the segment stores
// stable row ids, those of all fragments. byID is as for RowsOf.
func (s *Snapshot) LiveRows(ctx context.Context, segment *Segment, byID bool) (*LiveRows, error) {
	if err := s.loadDeletions(ctx); err != nil {
		return nil, err
	}
	r := &LiveRows{segment: segment, fragments: map[uint64]liveFragment{}}
	for _, f := range s.fragments() {
		if !segment.Covers(f.Meta.ID) {
			continue
		}
		deleted, err := f.Deletions(ctx)
		if err != nil {
			return nil, err
		}
		r.fragments[f.Meta.ID] = liveFragment{f.Rows, deleted}
	}
	if !byID || !s.manifest.StableRowIDs() {
		return r, nil
	}
	var err error
	r.index, err = s.rowIndex(ctx)
	return r, err
}

// Find returns the address of a row. It is false for a row that is deleted, or in a fragment for which
// the segment does not answer.
func (r *LiveRows) Find(id uint64) (address uint64, ok bool) {
	if r.index != nil {
		id, ok = r.index.Address(id)
	} else {
		id, ok = r.segment.moves.Address(id)
	}
	if !ok {
		return 0, false
	}
	f, ok := r.fragments[id>>32]
	if !ok {
		return 0, false
	}
	if int64(uint32(id)) >= f.rows {
		r.wrong.Store(&id)
		return 0, false
	}
	return id, !f.deleted.Contains(uint32(id))
}

// Err is [lance.ErrCorrupt] if Find was asked for an address behind the last row of its fragment.
func (r *LiveRows) Err() error {
	if id := r.wrong.Load(); id != nil {
		return fmt.Errorf("%w: segment %s has row %d of fragment %d", lance.ErrCorrupt, r.segment.UUID, uint32(*id), *id>>32)
	}
	return nil
}
