package catalog

import (
	"context"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
)

// A client that gets no answer sends its rows again, most likely to another process. The first
// request has left marks that show whether the rows were stored (package idempotency). The search
// for marks costs a request, so the record of the table notes whether there may be any. Writers
// read the record anyway, so a client that got its answer pays nothing.

// Unanswered reports whether writers of the table may have been left without an answer lately.
func (l *Lookup) Unanswered() bool { return l.catalog.unanswered(l.unanswered) }

func (c *Catalog) unanswered(until time.Time) bool { return c.names.Now().Before(until) }

// NoteUnanswered makes Unanswered true in all processes for the time d. It does nothing if the name
// now stands for another table.
func (l *Lookup) NoteUnanswered(ctx context.Context, d time.Duration) error {
	c, noted := l.catalog, false
	record, etag, err := c.names.Change(ctx, l.Table.ID, func(record *stored.Table) (bool, error) {
		noted = record.UID == l.Table.UID && !c.names.Now().Add(d/2).Before(record.Unanswered)
		record.Unanswered = c.names.Now().Add(d).UTC()
		return noted, nil
	})
	if err != nil || !noted {
		return err
	}
	if table, err := c.table(record); err == nil {
		c.lookups.Set(keys.Table(l.Table.ID), lookedUp{table: table, record: record, etag: etag})
	}
	return nil
}
