package catalog

import (
	"context"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
)

// Annotate records that the manifests of a table may hold metadata of their versions. Callers call
// it before they make the first such version. The error is stored.ErrMoved when the name stands for
// another table now.
func (c *Catalog) Annotate(ctx context.Context, t *Table) error {
	if t.Annotated {
		return nil
	}
	for range objects.ManyTries {
		record, etag, err := c.names.Table(ctx, t.ID)
		if err != nil {
			return err
		}
		if record.UID != t.UID {
			return stored.LostRace("table", t.ID, stored.ErrMoved)
		}
		if record.Annotated {
			return nil
		}
		annotated := *record
		annotated.Annotated = true
		_, err = c.store.Write(ctx, keys.Table(t.ID), &annotated, objectstore.Condition{IfMatch: etag})
		if !objects.Changed(err) {
			return err
		}
	}
	return stored.LostRace("table", t.ID, objectstore.ErrPrecondition)
}
