package catalog

import (
	"context"
	"errors"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// Publish makes a version of a table and puts its manifest at the usual name. If the version exists
// or is not the next one, the error is ConcurrentModification with the cause
// objectstore.ErrPrecondition. It is stored.ErrMoved if the name now stands for another table.
func (c *Catalog) Publish(ctx context.Context, t *Table, m ledger.Manifest) (objectstore.Info, error) {
	if m.Source == "" {
		m.Source = objects.NewUID()
	}
	copied := ""
	var made objectstore.Info
	err := objects.Race{What: "table", ID: t.ID, Tries: objects.Many}.Run(ctx, func(attempt int) (done bool, err error) {
		record, etag, err := c.names.Table(ctx, t.ID)
		if err != nil {
			return true, err
		}
		if record.UID != t.UID {
			return true, stored.ErrMoved
		}
		l := record.Ledger
		switch {
		case record.Pending != nil: // the batch will be decided soon
			return false, c.names.AwaitBatch(ctx, record.Pending, attempt)
		case l == nil:
			made, err = ledger.PutNext(ctx, t.ID, t.Location, 1, m)
			return true, err
		case l.Has(m):
			made, err = c.names.Writer.MadeBefore(ctx, t.Location, t.ID, l, m)
			return true, err
		}
		newest, err := c.names.Writer.CatchUp(ctx, t.Location, l)
		if err != nil {
			return true, err
		}
		if newest+1 != m.Version {
			c.names.Writer.DeleteCopies(ctx, []ledger.Entry{{Copy: copied}})
			return true, ledger.NotNext(t.ID, m.Version, newest)
		}
		if m.Data == nil {
			return true, m.ErrNoSource()
		}
		if copied == "" {
			if copied, err = c.names.Writer.PutCopy(ctx, m); err != nil {
				return true, err
			}
		}
		claimed := *record
		claimed.Ledger = l.With(ledger.Entry{Version: m.Version, Name: m.Name(), Source: m.Source, Copy: copied})
		_, err = c.store.Write(ctx, keys.Table(t.ID), &claimed, objectstore.Condition{IfMatch: etag})
		if err == nil {
			made, err = c.placeEntered(ctx, t, claimed.Ledger.Next[0], m)
			return true, err
		}
		return objects.Written(err)
	})
	return made, err
}

// placeEntered makes the version that was just entered in the ledger. From here on other processes
// may make it for us at any time, so the work continues if the request is cancelled.
func (c *Catalog) placeEntered(ctx context.Context, t *Table, e ledger.Entry, m ledger.Manifest) (objectstore.Info, error) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), ledger.FinishTime)
	defer done()
	info, err := c.names.Writer.Make(ctx, t.Location, e, m.Data)
	switch {
	case err == nil:
		return info, nil
	case objects.Taken(err):
		return objectstore.Info{}, ledger.NotNext(t.ID, m.Version, m.Version)
	}
	return objectstore.Info{}, objects.Unsettled(errors.Join(objectstore.ErrUnknownOutcome, err))
}
