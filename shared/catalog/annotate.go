package catalog

import (
	"context"

	"tiltyard/shared/objectstore"
)

// Annotate notes in the record of a table that manifests of its versions may have notes, which
// is asked for before the first such version is made. It is ErrMoved when the name stands for
// another table now.
func (c *Catalog) Annotate(ctx context.Context, t *Table) error {
	if t.Annotated {
		return nil
	}
	for range claimAttempts {
		record, etag, err := c.tableRecord(ctx, t.ID)
		if err != nil {
			return err
		}
		if record.UID != t.uid {
			return lostRace("table", t.ID, ErrMoved)
		}
		if record.Annotated {
			return nil
		}
		annotated := *record
		annotated.Annotated = true
		_, err = c.write(ctx, tableKey(t.ID), &annotated, objectstore.Condition{IfMatch: etag})
		if !gone(err) {
			return err
		}
	}
	return lostRace("table", t.ID, objectstore.ErrPrecondition)
}
