package drops

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// Sweep deletes the expired tables and namespaces and returns their number. It continues after a
// table that cannot be deleted.
func (d *Drops) Sweep(ctx context.Context) (deleted int, err error) {
	left := new(objects.Unswept)
	prefix := keys.Tables.Children([]string{keys.Dropped})
	for object, err := range objectstore.Objects(ctx, d.names.Store, objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}) {
		if err != nil {
			return deleted, fmt.Errorf("sweep dropped tables: %w", err)
		}
		name := strings.TrimPrefix(object.Key, prefix)
		if !isOver(name, d.names.Now()) {
			break // all later names expire later
		}
		found, err := d.names.Settled(ctx, keys.DroppedID(name))
		if err == nil && found.Record == nil {
			continue
		}
		if err == nil {
			err = d.purge(ctx, found.Record, found.ETag)
		}
		if err != nil {
			if err := left.Add(ctx, fmt.Errorf("sweep dropped tables: %s: %w", object.Key, err)); err != nil {
				return deleted, err
			}
			continue
		}
		deleted++
	}
	namespaces, err := d.sweepNamespaces(ctx)
	if err := left.Add(ctx, err); err != nil {
		return deleted + namespaces, err
	}
	return deleted + namespaces, left.OrNil()
}

// sweepNamespaces deletes the copies of the records of expired namespaces.
func (d *Drops) sweepNamespaces(ctx context.Context) (deleted int, err error) {
	left := new(objects.Unswept)
	prefix := keys.Namespaces.Children([]string{keys.Dropped})
	for object, err := range objectstore.Objects(ctx, d.names.Store, objectstore.ListOptions{Prefix: prefix, Limit: objects.PageSize}) {
		if err != nil {
			return deleted, fmt.Errorf("sweep dropped namespaces: %w", err)
		}
		var kept stored.Namespace
		etag, found, err := d.names.Store.Find(ctx, object.Key, &kept)
		if err != nil {
			if err := left.Add(ctx, fmt.Errorf("sweep dropped namespaces: %s: %w", object.Key, err)); err != nil {
				return deleted, err
			}
			continue
		}
		if !found || d.names.Now().Before(kept.Dropped.Until) {
			continue
		}
		if err := d.names.Store.Remove(ctx, object.Key, kept.UID, etag); objects.IgnoreChanged(err) != nil {
			return deleted, fmt.Errorf("sweep dropped namespaces: %w", err)
		}
		deleted++
	}
	return deleted, left.OrNil()
}

// isOver reports whether the time in the name of a drop has passed. It is false for other names.
func isOver(name string, now time.Time) bool {
	if len(name) < len(dropTime) {
		return false
	}
	until, err := time.Parse(dropTime, name[:len(dropTime)])
	return err == nil && now.After(until.Add(time.Second)) // the name has whole seconds only
}
