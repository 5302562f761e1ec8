package catalog

import (
	"context"
	"errors"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
)

// Publish makes a version of a table and puts its manifest at the usual name. When the version
// exists, or is not the next one, the error is ConcurrentModification and
// objectstore.ErrPrecondition. It is stored.ErrMoved when the name stands for another table now.
func (c *Catalog) Publish(ctx context.Context, t *Table, m ledger.Manifest) (objectstore.Info, error) {
	if m.Source == "" {
		m.Source = objects.NewUID()
	}
	copied := ""
	for attempt := range objects.ManyTries {
		record, etag, err := c.names.Table(ctx, t.ID)
		if err != nil {
			return objectstore.Info{}, err
		}
		if record.UID != t.UID {
			return objectstore.Info{}, stored.ErrMoved
		}
		l := record.Ledger
		switch {
		case record.Pending != nil: // the batch will be decided soon
			if err := c.names.AwaitBatch(ctx, record.Pending, attempt); err != nil {
				return objectstore.Info{}, err
			}
			continue
		case l == nil:
			return ledger.PutNext(ctx, t.ID, t.Location, 1, m)
		case l.Has(m):
			return c.names.Writer.MadeBefore(ctx, t.Location, t.ID, l, m)
		}
		newest, err := c.names.Writer.CatchUp(ctx, t.Location, l)
		if err != nil {
			return objectstore.Info{}, err
		}
		if newest+1 != m.Version {
			c.names.Writer.DeleteCopies(ctx, []ledger.Entry{{Copy: copied}})
			return objectstore.Info{}, ledger.NotNext(t.ID, m.Version, newest)
		}
		if m.Data == nil {
			return objectstore.Info{}, m.ErrNoSource()
		}
		if copied == "" {
			if copied, err = c.names.Writer.PutCopy(ctx, m); err != nil {
				return objectstore.Info{}, err
			}
		}
		claimed := *record
		claimed.Ledger = l.With(ledger.Entry{Version: m.Version, Name: m.Name(), Source: m.Source, Copy: copied})
		_, err = c.store.Write(ctx, keys.Table(t.ID), &claimed, objectstore.Condition{IfMatch: etag})
		if err == nil {
			return c.placeEntered(ctx, t, claimed.Ledger.Next[0], m)
		}
		if !objects.Changed(err) {
			return objectstore.Info{}, err
		}
	}
	return objectstore.Info{}, objects.LostRace("table", t.ID, objectstore.ErrPrecondition)
}

// placeEntered makes the version that was just entered in the ledger. From here on other processes
// may make it for us at any time.
func (c *Catalog) placeEntered(ctx context.Context, t *Table, e ledger.Entry, m ledger.Manifest) (objectstore.Info, error) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), ledger.FinishTime)
	defer done()
	info, err := c.names.Writer.Make(ctx, t.Location, e, m.Data)
	switch {
	case err == nil:
		return info, nil
	case errors.Is(err, objectstore.ErrPrecondition):
		return objectstore.Info{}, ledger.NotNext(t.ID, m.Version, m.Version)
	}
	return objectstore.Info{}, objects.Unsettled(errors.Join(objectstore.ErrUnknownOutcome, err))
}
