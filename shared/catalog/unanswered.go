package catalog

import (
	"context"
	"time"

	"tiltyard/shared/objectstore"
)

// Who sends rows and has no answer sends them again, most likely to another process. That the
// rows may be there is noted elsewhere; where to look for such notes is told by the record of
// the table, which writers read anyway, so that those who have an answer pay nothing.

// Unanswered says whether writers of the table may have been left without an answer of late.
func (l *Lookup) Unanswered() bool { return l.catalog.unanswered(l.unanswered) }

func (c *Catalog) unanswered(until time.Time) bool { return c.now().Before(until) }

// NoteUnanswered lets Unanswered be true for a while, here and for all other processes. When
// the name stands for another table by now there is nothing to note.
func (l *Lookup) NoteUnanswered(ctx context.Context, d time.Duration) error {
	c, key := l.catalog, tableKey(l.Table.ID)
	for range claimAttempts {
		record, etag, err := c.tableRecord(ctx, l.Table.ID)
		if err != nil {
			return err
		}
		if record.UID != l.Table.uid || c.now().Add(d/2).Before(record.Unanswered) {
			return nil
		}
		noted := *record
		noted.Unanswered = c.now().Add(d).UTC()
		etag, err = c.write(ctx, key, &noted, objectstore.Condition{IfMatch: etag})
		if err == nil {
			if table, err := c.table(&noted); err == nil {
				c.lookups.Set(key, lookedUp{table: table, record: &noted, etag: etag})
			}
			return nil
		}
		if !gone(err) {
			return err
		}
	}
	return lostRace("table", l.Table.ID, objectstore.ErrPrecondition)
}
