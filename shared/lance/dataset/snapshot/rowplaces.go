package snapshot

import (
	"context"

	"tiltyard/shared/lance/deletion"
)

// Places replaces the ids of rows that a segment has stored by the addresses at which the version
// has them: NoAddress for rows that are deleted, that the version does not have, or for whose
// fragment the segment does not answer. In a table with stable row ids the ids are those.
func (s *Snapshot) Places(ctx context.Context, segment *Segment, ids []uint64) error {
	if s.manifest.StableRowIDs() {
		index, err := s.rowIndex(ctx)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if address, ok := index.Address(id); ok && segment.Covers(address>>32) {
				ids[i] = address
			} else {
				ids[i] = NoAddress
			}
		}
		return nil
	}
	at := fragmentPlaces{snapshot: s, segment: segment}
	for i, id := range ids {
		id, ok := segment.moves.Address(id)
		if !ok {
			ids[i] = NoAddress
			continue
		}
		ids[i] = id
		if id>>32 != at.id || !at.known {
			if err := at.load(ctx, id>>32); err != nil {
				return err
			}
		}
		if row := uint32(id); int64(row) >= at.rows || at.deleted.Contains(row) {
			ids[i] = NoAddress
		}
	}
	return nil
}

// fragmentPlaces are the rows of a fragment for which a segment answers.
type fragmentPlaces struct {
	snapshot *Snapshot
	segment  *Segment

	known   bool
	id      uint64
	rows    int64 // none in a fragment for which the segment does not answer
	deleted *deletion.Vector
}

func (p *fragmentPlaces) load(ctx context.Context, id uint64) (err error) {
	p.known, p.id, p.rows, p.deleted = true, id, 0, nil
	f := p.snapshot.Fragment(id)
	if f == nil || !p.segment.Covers(id) {
		return nil
	}
	p.rows = f.Rows
	p.deleted, err = f.Deletions(ctx)
	return err
}
