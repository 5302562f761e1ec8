package catalog

import (
	"context"
	"errors"
	"slices"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// enter puts what a batch is to do to a table into its record.
func (c *Catalog) enter(ctx context.Context, b *running, s *share) error {
	for attempt := range claimAttempts {
		record, etag, err := c.settled(ctx, s.id)
		if !auth.Sees(ctx, auth.Table(s.id)) {
			err = objectstore.ErrNotExist
		}
		switch {
		case errors.Is(err, errArriving), err == nil && record.Pending != nil:
			if waited, err := c.goPast(ctx, b, s, attempt); err != nil || !waited {
				return inShare(s, err)
			}
			continue
		case errors.Is(err, objectstore.ErrNotExist):
			record = nil
		case err != nil:
			return inShare(s, err)
		}
		if err := c.claimShare(ctx, b, s, record); err != nil {
			return inShare(s, err)
		}
		next, err := c.pendingOf(ctx, b, s, record)
		if err != nil || s.before || next == nil {
			return err
		}
		next.Pending.Batch, next.Pending.Until = b.name, c.until()
		if record == nil {
			etag, err = c.createChild(ctx, s.id, tableKey(s.id), next)
		} else {
			etag, err = c.write(ctx, tableKey(s.id), next, objectstore.Condition{IfMatch: etag})
		}
		if err == nil {
			s.record, s.etag = next, etag
			s.first = record != nil && !next.Pending.Gone && len(next.Pending.Next) > 0 && record.Ledger == nil
			return nil
		}
		if !gone(err) {
			return inShare(s, err)
		}
	}
	return inShare(s, lostRace("table", s.id, objectstore.ErrPrecondition))
}

func inShare(s *share, err error) error {
	if err == nil {
		return nil
	}
	return inBatch(s.operations[0], err)
}

// claimShare claims the place that a batch has named for a table. record is what has the name;
// one that was made by the same batch before has the place already.
func (c *Catalog) claimShare(ctx context.Context, b *running, s *share, record *tableRecord) error {
	before := record != nil && record.MadeBy == b.request
	if s.named == nil || s.claimed != nil || before || record != nil && !s.deregister {
		return nil
	}
	claimed, err := c.claimPlace(ctx, s.id, *s.named, false, s.deregister)
	if err != nil {
		return err
	}
	s.claimed, s.declare.Claim = claimed, claimed.UID
	return nil
}

// confirmShare makes sure, before a batch is decided, that nobody thought its claim left behind.
func (c *Catalog) confirmShare(ctx context.Context, s *share) error {
	if s.claimed == nil {
		return nil
	}
	still, err := c.stillClaimed(ctx, s.claimed)
	if err == nil && !still {
		err = lostRace("the place of table", s.id, objectstore.ErrPrecondition)
	}
	return inShare(s, err)
}

// goPast waits for what is under way at a name, or ends a batch when ours comes first: by
// their names, so that no two batches wait for each other. It has not waited when the batch
// is ours: then the answer to our entering was lost.
func (c *Catalog) goPast(ctx context.Context, b *running, s *share, attempt int) (waited bool, err error) {
	record := new(tableRecord)
	etag, err := c.read(ctx, tableKey(s.id), record)
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case record.Pending == nil:
		return true, sleep(ctx, dropPause<<min(attempt, 5))
	case record.Pending.Batch == b.name:
		s.record, s.etag = record, etag
		return false, nil
	case b.name < record.Pending.Batch:
		_, err := c.decide(ctx, record.Pending.Batch, decision{Outcome: aborted})
		return true, err
	}
	return true, c.awaitBatch(ctx, record.Pending, attempt)
}

// pendingOf returns the record of a table with what a batch is to do to it. record is nil when
// there is no table. The result is nil when there is nothing to do, or s.before says that it
// has been done.
func (c *Catalog) pendingOf(ctx context.Context, b *running, s *share, record *tableRecord) (*tableRecord, error) {
	switch {
	case s.deregister && record == nil, record != nil && record.MadeBy == b.request && s.declare != nil:
		return nil, c.findBefore(ctx, b, s, record)
	case record == nil && s.declare == nil:
		return nil, inShare(s, c.tableNotFound(ctx, s.id))
	case record != nil && s.declare != nil && !s.deregister:
		return nil, inShare(s, c.taken(ctx, s.id, TableExists(s.id)))
	}
	next, p := record, &pending{}
	switch {
	case record == nil:
		next, p.New = s.declare, true
	case s.deregister:
		p.Gone, p.Then = true, s.declare
	}
	stays := next // has the versions
	if p.Gone {
		stays = p.Then
	}
	if stays != nil {
		if err := c.checkVersions(ctx, b, s, stays); err != nil || s.before {
			return nil, err
		}
		p.Next, p.Old = s.next, doomed(s.old)
	}
	if !p.New && !p.Gone && len(p.Next)+len(p.Old) == 0 {
		return nil, nil
	}
	after := *next
	after.Pending = p
	return &after, nil
}

// findBefore looks for what a batch of the same request has done to a table that it has
// declared or deregistered.
func (c *Catalog) findBefore(ctx context.Context, b *running, s *share, record *tableRecord) error {
	s.made = record
	if s.deregister {
		last, err := c.lastOf(ctx, b.request)
		if err != nil {
			return inShare(s, err)
		}
		s.gone = last.removed(s.id)
		if s.gone == nil || record == nil && s.declare != nil {
			return inShare(s, c.tableNotFound(ctx, s.id))
		}
	}
	if len(s.next) > 0 {
		err := c.checkVersions(ctx, b, s, record)
		if err == nil && !s.before {
			err = inShare(s, TableExists(s.id))
		}
		return err
	}
	s.before = true
	return nil
}

// removed returns the record of a table that went with a batch, nil when none did.
func (d *decision) removed(id []string) *tableRecord {
	if d == nil {
		return nil
	}
	for _, record := range d.Removed {
		if slices.Equal(record.ID, id) {
			return record
		}
	}
	return nil
}

// checkVersions refuses versions that may not come next, unless all were made before; and
// what was prepared for another table than that of the record.
func (c *Catalog) checkVersions(ctx context.Context, b *running, s *share, record *tableRecord) error {
	for _, i := range s.operations {
		if op := &b.Operations[i]; op.Table != nil && op.Table.uid != record.UID {
			return inBatch(i, protocol.Errorf(protocol.ConcurrentModification, "%w", ErrMoved))
		}
	}
	if len(s.next) == 0 {
		return nil
	}
	table, err := c.table(record)
	if err != nil {
		return inShare(s, err)
	}
	l := record.Ledger
	if l == nil {
		l = &ledger{}
	}
	s.at = table.Location
	newest, err := c.catchUp(ctx, s.at, l)
	if err != nil {
		return inBatch(s.versions[0], err)
	}
	known := 0
	for n, i := range s.versions {
		m := *b.Operations[i].Create
		switch {
		case l.has(m) && m.Version <= newest:
			known++
		case m.Version != newest+1+uint64(n):
			return inBatch(i, notNext(s.id, m.Version, newest))
		case m.Data == nil:
			return inBatch(i, m.errNoSource())
		}
	}
	if known > 0 && known < len(s.versions) {
		i := s.versions[known]
		return inBatch(i, notNext(s.id, b.Operations[i].Create.Version, newest))
	}
	s.before = known > 0
	return nil
}
