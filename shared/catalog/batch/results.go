package batch

import (
	"context"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// results returns the results of a committed batch.
func (c *Committer) results(ctx context.Context, b *running) []Result {
	results := make([]Result, len(b.Operations))
	_ = b.eachTable(ctx, func(ctx context.Context, s *batchTable) error {
		for _, i := range s.operations {
			op := &b.Operations[i]
			switch {
			case op.Create != nil:
				results[i].Version = c.madeVersion(ctx, s, op.Create)
			case op.Declare != nil:
				results[i].Record = s.declared()
			case op.Deregister:
				results[i].Record = s.deregistered()
			}
		}
		return nil
	})
	return results
}

// madeVersion describes a manifest that this process, or another one on its behalf, has put.
func (c *Committer) madeVersion(ctx context.Context, s *batchTable, m *ledger.Manifest) objectstore.Info {
	if s.done != nil {
		if info, ok := s.done.Made[m.Version]; ok {
			return info
		}
	}
	key := ledger.Key(s.at, m.Name())
	if _, info, err := s.at.Store.GetRanges(ctx, key); err == nil {
		return info
	}
	return objectstore.Info{Key: key, Size: int64(len(m.Data)), Modified: c.names.Now()}
}

// declared returns the record of the table that the batch declared.
func (s *batchTable) declared() *stored.Table {
	switch {
	case s.before:
		return s.made
	case s.done != nil && s.done.After != nil:
		return s.done.After
	}
	return s.declare
}

// deregistered returns the record of the table that the batch deregistered.
func (s *batchTable) deregistered() *stored.Table {
	if s.before {
		return s.gone
	}
	return s.record
}
