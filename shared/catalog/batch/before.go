package batch

import (
	"context"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
)

// findBefore looks for the results of an earlier batch of the same request, for a table that this
// batch declares or deregisters.
func (c *Committer) findBefore(ctx context.Context, b *running, s *batchTable, record *stored.Table) error {
	s.made = record
	if s.deregister {
		last, err := c.names.LastOf(ctx, b.request)
		if err != nil {
			return inTable(s, err)
		}
		s.gone = last.RemovedTable(s.id)
		if s.gone == nil || record == nil && s.declare != nil {
			return inTable(s, c.names.TableNotFound(ctx, s.id))
		}
	}
	if len(s.next) > 0 {
		err := c.checkVersions(ctx, b, s, record)
		if err == nil && !s.before {
			err = inTable(s, naming.TableExists(s.id))
		}
		return err
	}
	s.before = true
	return nil
}

// checkVersions returns an error unless the versions directly follow the newest one, or an earlier
// batch of the same request made all of them. It also returns an error if the name now belongs to
// another table than the one for which the versions were staged.
func (c *Committer) checkVersions(ctx context.Context, b *running, s *batchTable, record *stored.Table) error {
	for _, i := range s.operations {
		if op := &b.Operations[i]; op.UID != "" && op.UID != record.UID {
			return inBatch(i, protocol.Errorf(protocol.ConcurrentModification, "%w", stored.ErrMoved))
		}
	}
	if len(s.next) == 0 {
		return nil
	}
	at, err := c.names.Locate(record)
	if err != nil {
		return inTable(s, err)
	}
	l := record.Ledger
	if l == nil {
		l = &ledger.Ledger{}
	}
	s.at = at
	newest, err := c.names.Writer.CatchUp(ctx, s.at, l)
	if err != nil {
		return inBatch(s.versions[0], err)
	}
	known := 0
	for n, i := range s.versions {
		m := *b.Operations[i].Create
		switch {
		case l.Has(m) && m.Version <= newest:
			known++
		case m.Version != newest+1+uint64(n):
			return inBatch(i, ledger.NotNext(s.id, m.Version, newest))
		case m.Data == nil:
			return inBatch(i, m.ErrNoSource())
		}
	}
	if known > 0 && known < len(s.versions) {
		i := s.versions[known]
		return inBatch(i, ledger.NotNext(s.id, b.Operations[i].Create.Version, newest))
	}
	s.before = known > 0
	return nil
}
