package catalog

import (
	"context"
	"slices"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
)

// maxFills bounds what jobs may compute of a table without a request. The oldest are given up.
const maxFills = 200

// AllowFill records that jobs may compute something of a table without a request: the metadata of the table may
// be written by those who may not use a function that it names. Callers have checked the rights of who asks
// for it, and call it before they make the column. The error is stored.ErrMoved when the name stands for
// another table now.
func (c *Catalog) AllowFill(ctx context.Context, t *Table, what string) error {
	defer c.lookups.Invalidate(keys.Table(t.ID))
	for range objects.ManyTries {
		record, etag, err := c.names.Table(ctx, t.ID)
		if err != nil {
			return err
		}
		if record.UID != t.UID {
			return stored.LostRace("table", t.ID, stored.ErrMoved)
		}
		if slices.Contains(record.Fills, what) {
			return nil
		}
		allowed := *record
		allowed.Fills = append(slices.Clone(record.Fills[max(0, len(record.Fills)-maxFills+1):]), what)
		_, err = c.store.Write(ctx, keys.Table(t.ID), &allowed, objectstore.Condition{IfMatch: etag})
		if !objects.Changed(err) {
			return err
		}
	}
	return stored.LostRace("table", t.ID, objectstore.ErrPrecondition)
}
