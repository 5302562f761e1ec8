package batch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// commitEntered decides a batch that has been entered in the records of all its tables.
func (c *Committer) commitEntered(ctx context.Context, b *running) error {
	if slices.ContainsFunc(b.tables, func(s *batchTable) bool { return s.first }) {
		if err := backoff.Sleep(ctx, c.FirstPause); err != nil {
			return err
		}
	}
	if err := b.eachTable(ctx, lookAgain); err != nil {
		return err
	}
	if err := b.eachTable(ctx, c.confirmClaimed); err != nil {
		return err
	}
	want := stored.Decision{Outcome: stored.Committed}
	for _, s := range b.tables {
		if s.record != nil {
			want.Tables = append(want.Tables, s.id)
		}
		if s.deregister && s.record != nil {
			removed := *s.record
			removed.Pending, removed.Ledger = nil, nil
			want.Removed = append(want.Removed, &removed)
		}
	}
	b.asked = true
	switch ended, err := c.names.Decide(ctx, b.name, want); {
	case err != nil:
		return objects.Unsettled(err)
	case ended == stored.Aborted:
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "another writer of one of its tables aborted the batch",
			Detail: "the batch changed nothing; read the tables again and retry",
		}
	}
	return nil
}

// FirstPause is the wait before a batch adds a ledger to a table, for writers that read the record
// before. Most of them need less time from that read to the answer of their put.
const FirstPause = 500 * time.Millisecond

// lookAgain returns an error if another batch of the same request has done part of this one, or if
// a writer without the ledger has made one of its versions.
func lookAgain(ctx context.Context, s *batchTable) error {
	if s.before {
		return inBatch(s.operations[0], &protocol.Error{
			Code: protocol.ConcurrentModification, Message: fmt.Sprintf("an earlier batch has changed table %s in the same way, but not all tables of this batch", keys.Display(s.id)),
			Detail: "send a batch with the remaining tables only",
		})
	}
	if len(s.next) == 0 {
		return nil
	}
	newest, err := ledger.Newest(ctx, s.at)
	if err == nil && newest >= s.next[0].Version {
		err = ledger.NotNext(s.id, s.next[0].Version, newest)
	}
	if err != nil {
		return inBatch(s.versions[0], err)
	}
	return nil
}

// retreat removes a batch that will not commit from the records of its tables.
func (c *Committer) retreat(ctx context.Context, b *running) {
	_ = b.eachTable(ctx, func(ctx context.Context, s *batchTable) error {
		if s.claimed != nil {
			c.names.Places.Release(ctx, s.claimed)
		}
		if s.record != nil {
			_, _ = c.names.Finish(ctx, s.record, s.etag, stored.Aborted)
		} else {
			c.names.Writer.DeleteCopies(ctx, s.next)
		}
		c.names.Forget(s.id)
		return nil
	})
}

// finishAll carries out a committed batch. If that fails for a table, the next reader of the table
// repeats it and needs the decision, so the decision stays. It also stays if tables were
// deregistered, because repeated requests find their results in it. The error names the versions
// that lost to manifests of other writers.
func (c *Committer) finishAll(ctx context.Context, b *running) error {
	err := b.eachTable(ctx, func(ctx context.Context, s *batchTable) error {
		done, err := c.names.Finish(ctx, s.record, s.etag, stored.Committed)
		s.done = done
		c.names.Forget(s.id)
		if l, ok := naming.LeavingTable(s.record, nil); ok && s.deregister {
			c.names.Watch.Left(ctx, l)
		}
		c.names.Watch.Changed(ctx, keys.Tables, s.id)
		return err
	})
	if err == nil && !slices.ContainsFunc(b.tables, func(s *batchTable) bool { return s.deregister }) {
		_ = c.names.Store.Delete(ctx, stored.BatchesPrefix+b.name, objectstore.Condition{}) // no reader will need it
	}
	for _, s := range b.tables {
		if s.done != nil && s.done.After != nil && s.done.After.Ledger != nil && len(s.done.After.Ledger.Next) < len(s.next) {
			return inBatch(s.versions[0], &protocol.Error{
				Code: protocol.ConcurrentModification, Message: fmt.Sprintf("a writer that does not use the catalog made a version of table %s at the same moment", keys.Display(s.id)),
				Detail: "its version stays and the version of the batch was dropped; all other operations of the batch were done",
			})
		}
	}
	return nil
}
