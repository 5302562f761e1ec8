package batch

import (
	"context"
	"path"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// enter adds the operations on a table, as pending, to the record of the table.
func (c *Committer) enter(ctx context.Context, b *running, s *batchTable) error {
	lost := inTable(s, objects.LostRace("table", s.id, objectstore.ErrPrecondition))
	return objects.Race{Tries: objects.Many, Lost: lost}.Run(ctx, func(attempt int) (done bool, err error) {
		found, err := c.names.Settled(ctx, s.id)
		if !auth.Sees(ctx, auth.Table(s.id)) {
			found, err = stored.Found{}, nil
		}
		record, etag := found.Record, found.ETag
		switch {
		case err != nil:
			return true, inTable(s, err)
		case found.Soon, record != nil && record.Pending != nil:
			waited, err := c.goPast(ctx, b, s, attempt)
			return !waited, inTable(s, err)
		}
		if err := c.claimNamed(ctx, b, s, record); err != nil {
			return true, inTable(s, err)
		}
		next, err := c.pendingOf(ctx, b, s, record)
		if err != nil || s.before || next == nil {
			return true, err
		}
		next.Pending.Batch, next.Pending.Until = b.name, c.until()
		if next.Pending.Gone {
			if l, ok := naming.LeavingTable(record, nil); ok {
				if err := c.names.Watch.Leaves(ctx, l); err != nil {
					return true, inTable(s, err)
				}
			}
		}
		if record == nil {
			etag, err = c.names.CreateChild(ctx, s.id, keys.Table(s.id), next)
		} else {
			etag, err = c.names.Store.Write(ctx, keys.Table(s.id), next, objectstore.Condition{IfMatch: etag})
		}
		if err == nil {
			s.record, s.etag = next, etag
			s.first = record != nil && !next.Pending.Gone && len(next.Pending.Next) > 0 && record.Ledger == nil
		}
		done, err = objects.Written(err)
		return done, inTable(s, err)
	})
}

// claimNamed claims the location that a client chose for a table of the batch. record is the
// current record of the name, if any. If an earlier batch of the same request made it, it has the
// claim already.
func (c *Committer) claimNamed(ctx context.Context, b *running, s *batchTable, record *stored.Table) error {
	before := record != nil && record.MadeBy == b.request
	if s.named == nil || s.claimed != nil || before || record != nil && !s.deregister {
		return nil
	}
	claimed, err := c.names.Places.Take(ctx, s.id, *s.named, false, s.deregister)
	if err != nil {
		return err
	}
	s.claimed, s.declare.Claim = claimed, claimed.UID
	return nil
}

// confirmClaimed checks, before a batch is decided, that no other process has deleted its claim as
// abandoned.
func (c *Committer) confirmClaimed(ctx context.Context, s *batchTable) error {
	if s.claimed == nil {
		return nil
	}
	still, err := c.names.Places.StillHeld(ctx, s.claimed)
	if err == nil && !still {
		err = objects.LostRace("the location of table", s.id, objectstore.ErrPrecondition)
	}
	return inTable(s, err)
}

// goPast handles a rename or another batch that is under way at a name. It waits for it, or aborts
// the other batch if the name of ours sorts first, so that two batches never wait for each other.
// It reports whether it waited. If the batch in the record is ours, only the answer of our put was
// lost, and goPast does not wait.
func (c *Committer) goPast(ctx context.Context, b *running, s *batchTable, attempt int) (waited bool, err error) {
	record := new(stored.Table)
	etag, found, err := c.names.Store.Find(ctx, keys.Table(s.id), record)
	switch {
	case err != nil || !found:
		return err == nil, err
	case record.Pending == nil:
		return true, objects.Pause(ctx, attempt)
	case record.Pending.Batch == b.name:
		s.record, s.etag = record, etag
		return false, nil
	case b.name < record.Pending.Batch:
		_, err := c.names.Decide(ctx, record.Pending.Batch, stored.Decision{Outcome: stored.Aborted})
		return true, err
	}
	return true, c.names.AwaitBatch(ctx, record.Pending, attempt)
}

// pendingOf returns the record of a table with the operations of a batch added as pending. record
// is nil if the table does not exist. The result is nil if there is nothing to do, or if an earlier
// batch did it (s.before).
func (c *Committer) pendingOf(ctx context.Context, b *running, s *batchTable, record *stored.Table) (*stored.Table, error) {
	switch {
	case s.deregister && record == nil, record != nil && record.MadeBy == b.request && s.declare != nil:
		return nil, c.findBefore(ctx, b, s, record)
	case record == nil && s.declare == nil:
		return nil, inTable(s, c.names.TableNotFound(ctx, s.id))
	case record != nil && s.declare != nil && !s.deregister:
		return nil, inTable(s, c.names.Taken(ctx, s.id, naming.TableExists(s.id)))
	}
	next, p := record, &stored.Pending{}
	switch {
	case record == nil:
		next, p.New = s.declare, true
	case s.deregister:
		p.Gone, p.Then = true, s.declare
	}
	stays := next // the versions stay in this record
	if p.Gone {
		stays = p.Then
	}
	if stays != nil {
		if err := c.checkVersions(ctx, b, s, stays); err != nil || s.before {
			return nil, err
		}
		p.Next, p.Old = s.next, doomed(s.old, c.names.Now())
	}
	if !p.New && !p.Gone && len(p.Next)+len(p.Old) == 0 {
		return nil, nil
	}
	after := *next
	after.Pending = p
	return &after, nil
}

// doomed converts listed manifests, newest first, to the list of versions to delete.
func doomed(infos []objectstore.Info, now time.Time) []stored.OldVersion {
	old := make([]stored.OldVersion, len(infos))
	for i, info := range infos {
		old[i] = stored.OldVersion{Name: path.Base(info.Key), ETag: info.ETag, Recent: manifest.Recent(info.Modified, now)}
	}
	return old
}
