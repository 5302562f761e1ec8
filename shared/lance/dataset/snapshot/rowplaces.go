package snapshot

import (
	"context"

	"tiltyard/shared/lance/internal/deletion"
)

// Places replaces the row ids stored in a segment by their addresses in this version. The result is
// NoAddress for deleted and unknown rows and for rows in fragments that the segment does not cover.
// In a table with stable row ids, ids are stable ids; otherwise they are addresses at the time the
// segment was written.
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
		// Ids come in runs of one fragment, so its rows are looked up once per run.
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

// fragmentPlaces caches the rows of the last fragment looked up.
type fragmentPlaces struct {
	snapshot *Snapshot
	segment  *Segment

	known   bool
	id      uint64
	rows    int64 // 0 if the segment does not cover the fragment
	deleted *deletion.Vector
}

// load makes fragment id the current one.
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
