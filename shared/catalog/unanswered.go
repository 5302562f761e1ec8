package catalog

import (
	"context"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/objectstore"
)

// A client that gets no answer sends its rows again, most likely to another process. The first
// request has left marks that show whether the rows are there already (package idempotency). The
// search for marks costs a request, so the record of the table notes whether there may be any.
// Writers read the record anyway, so a client that got its answer pays nothing.

// Unanswered reports whether writers of the table may have been left without an answer lately.
func (l *Lookup) Unanswered() bool { return l.catalog.unanswered(l.unanswered) }

func (c *Catalog) unanswered(until time.Time) bool { return c.names.Now().Before(until) }

// NoteUnanswered makes Unanswered true for a while, in all processes. It does nothing when the name
// stands for another table now.
func (l *Lookup) NoteUnanswered(ctx context.Context, d time.Duration) error {
	c, key := l.catalog, keys.Table(l.Table.ID)
	for range objects.ManyTries {
		record, etag, err := c.names.Table(ctx, l.Table.ID)
		if err != nil {
			return err
		}
		if record.UID != l.Table.UID || c.names.Now().Add(d/2).Before(record.Unanswered) {
			return nil
		}
		noted := *record
		noted.Unanswered = c.names.Now().Add(d).UTC()
		etag, err = c.store.Write(ctx, key, &noted, objectstore.Condition{IfMatch: etag})
		if err == nil {
			if table, err := c.table(&noted); err == nil {
				c.lookups.Set(key, lookedUp{table: table, record: &noted, etag: etag})
			}
			return nil
		}
		if !objects.Changed(err) {
			return err
		}
	}
	return objects.LostRace("table", l.Table.ID, objectstore.ErrPrecondition)
}
