package snapshot

import (
	"context"
	"fmt"
	"sync/atomic"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowid"
)

// LiveRows resolves the row ids stored in an index segment to addresses in the version, one at a
// time and without I/O. It is safe for concurrent use. Making one costs nothing per fragment once the
// deletion vectors of the version are loaded.
type LiveRows struct {
	snapshot *Snapshot
	segment  *Segment
	index    *rowid.Index           // nil: the ids are addresses
	wrong    atomic.Pointer[uint64] // an address beyond its fragment's end, if one was found
}

// LiveRows loads the data that locates the rows of a segment: deletion files and, if the segment
// stores stable row ids, the row ids of all fragments. byID is as for RowsOf.
func (s *Snapshot) LiveRows(ctx context.Context, segment *Segment, byID bool) (*LiveRows, error) {
	if err := s.loadDeletions(ctx); err != nil {
		return nil, err
	}
	r := &LiveRows{snapshot: s, segment: segment}
	if !byID || !s.manifest.StableRowIDs() {
		return r, nil
	}
	var err error
	r.index, err = s.rowIndex(ctx)
	return r, err
}

// Find returns the address of a row. ok is false for a deleted row and for a row in a fragment that
// the segment does not cover.
func (r *LiveRows) Find(id uint64) (address uint64, ok bool) {
	if r.index != nil {
		id, ok = r.index.Address(id)
	} else {
		id, ok = r.segment.moves.Address(id)
	}
	if !ok {
		return 0, false
	}
	f := r.snapshot.Fragment(id >> 32)
	if f == nil || !r.segment.Covers(id>>32) {
		return 0, false
	}
	if int64(uint32(id)) >= f.Rows {
		wrong := id // a copy, because id would be allocated for each row otherwise
		r.wrong.Store(&wrong)
		return 0, false
	}
	return id, !f.IsDeleted(uint32(id))
}

// Err returns [lance.ErrCorrupt] if Find met an address beyond the last row of its fragment.
func (r *LiveRows) Err() error {
	if id := r.wrong.Load(); id != nil {
		return fmt.Errorf("%w: segment %s has row %d of fragment %d", lance.ErrCorrupt, r.segment.UUID, uint32(*id), *id>>32)
	}
	return nil
}
