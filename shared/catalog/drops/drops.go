// Package drops removes tables, views and namespaces, and restores them. Begin with [Drops.Drop].
//
// To drop a table so that it can be restored, the catalog renames it to an id that no request can
// name. So the name is free at once, no list shows the table, and the commit point of the rename
// (package naming) decides whether the table is dropped, and later whether it is restored. Its
// record, its claim and its files stay as they are. The id begins with the time until which the
// table can be restored, so a list of these ids has the expired ones in front.
//
// The only state of a namespace is its record, and a namespace is empty when it is dropped. Before
// the record is deleted, a copy of it is put under its UID. The copy is valid once no namespace
// with that UID exists.
//
// A purge marks the record first, so that no process restores a table whose files are being
// deleted. It removes the record last, so that a sweep can finish the purge after a crash.
package drops

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// Drops drops and restores. It is safe for concurrent use.
type Drops struct {
	// Retention is how long dropped tables and namespaces can be restored if no property sets it: see
	// [protocol.PropertyDropRetention]. It must not be changed once the drops are used.
	Retention time.Duration

	names *naming.Registry
	roots *objectstore.Roots
}

// New returns the drops for the names of a registry and the data under the roots.
func New(names *naming.Registry, roots *objectstore.Roots) *Drops {
	return &Drops{names: names, roots: roots}
}

// Drop removes the name of a table or a view and returns its record. check may refuse a record. If the table has a
// retention, it can be restored, and the returned drop describes how. Otherwise its data is deleted, except files that
// belong to other tables. Once the name is removed the table is dropped; data that a crash leaves behind is garbage. with
// is the UID of the namespace that is dropped together with the table, or "": see [stored.Drop].
func (d *Drops) Drop(ctx context.Context, id []string, with string, check func(record *stored.Table) error) (record *stored.Table, drop *Drop, err error) {
	record, err = d.takeAway(ctx, id, check, func(ctx context.Context, record *stored.Table, etag string) error {
		keep, err := d.retention(ctx, id, record.Properties)
		if err != nil {
			return err
		}
		if keep == 0 {
			return d.remove(ctx, record, etag)
		}
		aside, err := d.setAside(ctx, record, etag, d.newDrop(ctx, id, keep, with))
		if err == nil {
			drop = d.ofTable(aside)
		}
		return err
	})
	if err != nil || drop != nil || record.Location == "" {
		return record, drop, err
	}
	at, err := d.names.Locate(record)
	if err != nil {
		return nil, nil, err
	}
	if err := d.names.Places.DeleteData(ctx, record, at); err != nil {
		return nil, nil, &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: fmt.Sprintf("table %s is dropped, but not all of its data is deleted", keys.Display(id)),
			Detail: "the name is free; the remaining files belong to no table", Unsettled: true, Err: err,
		}
	}
	return record, nil, nil
}

// Deregister removes the name of a table or a view, which check may refuse, and returns its record. Its data stays. If the
// answer of the storage is lost and the record is gone, the outcome is unknown: another process may have renamed the
// table, which then still exists under another name.
func (d *Drops) Deregister(ctx context.Context, id []string, check func(record *stored.Table) error) (*stored.Table, error) {
	record, err := d.takeAway(ctx, id, check, d.remove)
	if err == nil {
		d.names.Places.ReleaseOf(ctx, record)
	}
	return record, err
}

// Any accepts every record.
func Any(*stored.Table) error { return nil }

// takeAway calls remove for the record of a name, retries if the record changes, and returns the
// record. check may refuse a record.
func (d *Drops) takeAway(ctx context.Context, id []string, check func(record *stored.Table) error, remove func(ctx context.Context, record *stored.Table, etag string) error) (record *stored.Table, err error) {
	defer d.names.Forget(id)
	uid := ""
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(int) (done bool, err error) {
		etag := ""
		if record, etag, err = d.names.TableToRemove(ctx, id); err == nil {
			err = check(record)
		}
		if err == nil && record.Location != "" {
			_, err = d.names.Locate(record) // refuse to remove the name if the data cannot be found
		}
		if err != nil {
			return true, err
		}
		if uid != "" && record.UID != uid { // another process dropped the table and created a new one
			return true, objects.LostRace("table", id, objectstore.ErrPrecondition)
		}
		uid = record.UID
		if err = remove(ctx, record, etag); objects.Changed(err) {
			return false, nil // most likely a writer has updated the version hint
		}
		if err != nil {
			return true, fmt.Errorf("deregister table %s: %w", keys.Display(id), err)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if record.View != nil {
		dependents.Leave(ctx, d.names, record.View)
	}
	return record, nil
}

// remove deletes the record of a table.
func (d *Drops) remove(ctx context.Context, record *stored.Table, etag string) error {
	return d.names.TakeAway(ctx, record, nil, func() error {
		_, err := d.names.Store.TryRemove(ctx, keys.Table(record.ID), record.UID, etag)
		return err
	})
}

// setAside renames a table to an id that no request can name, and returns its record there. The
// error is objectstore.ErrPrecondition if the record has changed.
func (d *Drops) setAside(ctx context.Context, record *stored.Table, etag string, drop *stored.Drop) (*stored.Table, error) {
	to := keys.DroppedID(dropName(drop.Until))
	if err := d.names.Places.AddName(ctx, record, to); err != nil {
		return nil, err
	}
	aside, err := d.names.Move(ctx, record, etag, to, drop)
	if err != nil {
		return nil, fmt.Errorf("set table %s aside: %w", keys.Display(record.ID), err)
	}
	return aside, nil
}

// dropTime is the layout of the time that begins the name of a drop, such as 20260102t150405z.
const dropTime = "20060102t150405z"

// dropName returns a new name for a drop. Names sort by their times.
func dropName(until time.Time) string { return until.UTC().Format(dropTime) + objects.NewUID() }

// Keep puts a copy of the record of a namespace before its deletion, if the namespace has a
// retention. Otherwise it returns nil.
func (d *Drops) Keep(ctx context.Context, record *stored.Namespace, with string) (*Drop, error) {
	keep, err := d.retention(ctx, record.ID, record.Properties)
	if err != nil || keep == 0 {
		return nil, err
	}
	kept := *record
	kept.ID, kept.Dropping = keys.DroppedID(record.UID), nil
	kept.Dropped = d.newDrop(ctx, record.ID, keep, with)
	if _, err := d.names.Store.Write(ctx, keys.Namespace(kept.ID), &kept, objectstore.Condition{}); err != nil {
		return nil, fmt.Errorf("set namespace %s aside: %w", keys.Display(record.ID), err)
	}
	return ofNamespace(&kept), nil
}

// standsAgain reports whether the namespace of a kept copy exists, because the drop was not
// completed or the namespace was restored.
func (d *Drops) standsAgain(ctx context.Context, kept *stored.Namespace) (bool, error) {
	for _, id := range [][]string{kept.Dropped.ID, kept.Dropped.To} {
		if len(id) == 0 {
			continue
		}
		var there stored.Namespace
		_, found, err := d.names.Store.Find(ctx, keys.Namespace(id), &there)
		if err != nil {
			return false, err
		}
		if found && there.UID == kept.UID {
			return true, nil
		}
	}
	return false, nil
}

// Purge deletes the files of a dropped table, which it finds as [Drops.UndropTable] does. Once
// Purge was called, the table cannot be restored, even if Purge failed.
func (d *Drops) Purge(ctx context.Context, id []string, drop string) (gone *Drop, err error) {
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(int) (done bool, err error) {
		record, etag, err := d.findTable(ctx, id, drop)
		if err != nil {
			return true, err
		}
		gone = d.ofTable(record)
		return objects.Written(d.purge(ctx, record, etag))
	})
	return gone, err
}

// purge deletes a dropped table, if its record has not changed.
func (d *Drops) purge(ctx context.Context, record *stored.Table, etag string) (err error) {
	if !record.Dropped.Purging {
		marked, drop := *record, *record.Dropped
		drop.Purging = true
		marked.Dropped = &drop
		if etag, err = d.names.Store.Write(ctx, keys.Table(record.ID), &marked, objectstore.Condition{IfMatch: etag}); err != nil {
			return err
		}
		record = &marked
	}
	if record.Location != "" {
		at, err := d.names.Locate(record)
		if err != nil {
			return err
		}
		if err := d.names.Places.DeleteData(ctx, record, at); err != nil {
			return fmt.Errorf("purge table %s: %w", keys.Display(record.Dropped.ID), err)
		}
	}
	return objects.IgnoreChanged(d.names.Store.Remove(ctx, keys.Table(record.ID), record.UID, etag))
}
