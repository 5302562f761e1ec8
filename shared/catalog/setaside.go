package catalog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
)

// A dropped table that can be restored is a table that a rename has given an id which no request can
// name. So the name is free at once, no list shows the table, and the commit point of the rename (package
// naming) decides whether the table is dropped, and later whether it is restored. Its record, its claim
// and its files stay as they are. The id begins with the time until which the table can be restored: a
// list of these ids, in their order, has those whose time is over in front.
//
// A namespace has nothing that another process could change between two writes but its record, and it
// is empty when it is dropped. A copy of its record is put under its UID before the record is deleted,
// and counts as soon as no namespace with that UID stands.
//
// A purge marks the record first, so that no process restores a table whose files are being deleted. It
// removes the record last, so that a sweep finds what a crash has left.

// setAside moves a table to an id that no request can name, and returns its record there. It returns
// objectstore.ErrPrecondition when the record has changed.
func (c *Catalog) setAside(ctx context.Context, record *stored.Table, etag string, drop *stored.Drop) (*stored.Table, error) {
	to := keys.DroppedID(dropName(drop.Until))
	if err := c.places.AddName(ctx, record, to); err != nil {
		return nil, err
	}
	aside, err := c.names.Move(ctx, record, etag, to, drop)
	if err != nil {
		return nil, fmt.Errorf("set table %s aside: %w", keys.Display(record.ID), err)
	}
	return aside, nil
}

// dropTime is the layout of the time at which the names of drops begin: 20260102t150405z.
const dropTime = "20060102t150405z"

// dropName returns a new name for a drop. Names are in the order of their times.
func dropName(until time.Time) string { return until.UTC().Format(dropTime) + objects.NewUID() }

// isOver reports whether the time in the name of a drop is over. It is false for other names.
func isOver(name string, now time.Time) bool {
	if len(name) < len(dropTime) {
		return false
	}
	until, err := time.Parse(dropTime, name[:len(dropTime)])
	return err == nil && now.After(until.Add(time.Second)) // the name has no fractions of seconds
}

// keepNamespace puts a copy of the record of a namespace that is about to be deleted, if the namespace
// has a retention. It returns nil if there is none.
func (c *Catalog) keepNamespace(ctx context.Context, record *stored.Namespace, with string) (*Dropped, error) {
	keep, err := c.retention(ctx, record.ID, record.Properties)
	if err != nil || keep == 0 {
		return nil, err
	}
	kept := *record
	kept.ID, kept.Dropping = keys.DroppedID(record.UID), nil
	kept.Dropped = c.newDrop(ctx, record.ID, keep, with)
	if _, err := c.store.Write(ctx, keys.Namespace(kept.ID), &kept, objectstore.Condition{}); err != nil {
		return nil, fmt.Errorf("set namespace %s aside: %w", keys.Display(record.ID), err)
	}
	return droppedNamespace(&kept), nil
}

// standsAgain reports whether the namespace that a drop has kept a copy of exists: because the drop was not
// completed, or because the namespace was restored.
func (c *Catalog) standsAgain(ctx context.Context, kept *stored.Namespace) (bool, error) {
	for _, id := range [][]string{kept.Dropped.ID, kept.Dropped.To} {
		if len(id) == 0 {
			continue
		}
		var there stored.Namespace
		_, found, err := c.store.Find(ctx, keys.Namespace(id), &there)
		if err != nil {
			return false, err
		}
		if found && there.UID == kept.UID {
			return true, nil
		}
	}
	return false, nil
}

// Purge deletes the files of a dropped table, as [Catalog.UndropTable] finds it. It cannot be restored
// any more, even if Purge fails.
func (c *Catalog) Purge(ctx context.Context, id []string, drop string) (*Dropped, error) {
	for range objects.Tries {
		record, etag, err := c.findDroppedTable(ctx, id, drop)
		if err != nil {
			return nil, err
		}
		err = c.purge(ctx, record, etag)
		if !objects.Changed(err) {
			return c.droppedTable(record), err
		}
	}
	return nil, objects.LostRace("table", id, objectstore.ErrPrecondition)
}

// purge deletes a dropped table, if its record has not changed.
func (c *Catalog) purge(ctx context.Context, record *stored.Table, etag string) (err error) {
	if !record.Dropped.Purging {
		marked, drop := *record, *record.Dropped
		drop.Purging = true
		marked.Dropped = &drop
		if etag, err = c.store.Write(ctx, keys.Table(record.ID), &marked, objectstore.Condition{IfMatch: etag}); err != nil {
			return err
		}
		record = &marked
	}
	if record.Location != "" {
		at, err := c.names.Locate(record)
		if err != nil {
			return err
		}
		if err := c.deleteOf(ctx, record, at); err != nil {
			return fmt.Errorf("purge table %s: %w", keys.Display(record.Dropped.ID), err)
		}
	}
	return objects.IgnoreChanged(c.store.Remove(ctx, keys.Table(record.ID), record.UID, etag))
}

// sweepDropped deletes the dropped tables and namespaces whose time is over, and returns how many. A
// table that cannot be deleted does not keep it from deleting the others.
func (c *Catalog) sweepDropped(ctx context.Context) (deleted int, err error) {
	left := new(Unswept)
	prefix := keys.Tables.Children([]string{keys.Dropped})
	for object, err := range objectstore.Objects(ctx, c.store, objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}) {
		if err != nil {
			return deleted, fmt.Errorf("sweep dropped tables: %w", err)
		}
		name := strings.TrimPrefix(object.Key, prefix)
		if !isOver(name, c.names.Now()) {
			break // the others have more time
		}
		found, err := c.names.Settled(ctx, keys.DroppedID(name))
		if err == nil && found.Record == nil {
			continue
		}
		if err == nil {
			err = c.purge(ctx, found.Record, found.ETag)
		}
		if err != nil {
			if err := left.add(ctx, fmt.Errorf("sweep dropped tables: %s: %w", object.Key, err)); err != nil {
				return deleted, err
			}
			continue
		}
		deleted++
	}
	namespaces, err := c.sweepDroppedNamespaces(ctx)
	if err := left.add(ctx, err); err != nil {
		return deleted + namespaces, err
	}
	return deleted + namespaces, left.orNil()
}

// sweepDroppedNamespaces deletes the copies of the records of namespaces whose time is over.
func (c *Catalog) sweepDroppedNamespaces(ctx context.Context) (deleted int, err error) {
	left := new(Unswept)
	prefix := keys.Namespaces.Children([]string{keys.Dropped})
	for object, err := range objectstore.Objects(ctx, c.store, objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}) {
		if err != nil {
			return deleted, fmt.Errorf("sweep dropped namespaces: %w", err)
		}
		var kept stored.Namespace
		etag, found, err := c.store.Find(ctx, object.Key, &kept)
		if err != nil {
			if err := left.add(ctx, fmt.Errorf("sweep dropped namespaces: %s: %w", object.Key, err)); err != nil {
				return deleted, err
			}
			continue
		}
		if !found || c.names.Now().Before(kept.Dropped.Until) {
			continue
		}
		if err := c.store.Remove(ctx, object.Key, kept.UID, etag); objects.IgnoreChanged(err) != nil {
			return deleted, fmt.Errorf("sweep dropped namespaces: %w", err)
		}
		deleted++
	}
	return deleted, left.orNil()
}
