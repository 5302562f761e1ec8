package naming

import (
	"context"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// Put puts the record of a new table or view and returns its ETag. Only with replace may it replace
// another record.
func (r *Registry) Put(ctx context.Context, record *stored.Table, replace bool) (etag string, err error) {
	id := record.ID
	defer r.Forget(id)
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(attempt int) (done bool, err error) {
		etag, err = r.CreateChild(ctx, id, keys.Table(id), record)
		if objects.Taken(err) {
			if err = r.AwaitFree(ctx, id, attempt); err == nil {
				return false, nil
			}
			if replace && protocol.HasCode(err, protocol.TableAlreadyExists) {
				etag, err = r.replace(ctx, record)
			}
		}
		if err == nil {
			r.arrived(ctx, record)
		}
		return objects.Written(err)
	})
	return etag, err
}

// arrived notifies the watch of a new table.
func (r *Registry) arrived(ctx context.Context, record *stored.Table) {
	if l, ok := LeavingTable(record, nil); ok {
		r.Watch.Changed(context.WithoutCancel(ctx), l.Kind, l.ID)
	}
}

// replace replaces the existing record of a table. objects.Changed(err) is true when that
// record has changed.
func (r *Registry) replace(ctx context.Context, record *stored.Table) (etag string, err error) {
	old, etag, err := r.TableToRemove(ctx, record.ID)
	if protocol.HasCode(err, protocol.TableNotFound) {
		return "", objectstore.ErrPrecondition // the record is gone, or a rename to the name is unfinished
	}
	if err != nil {
		return "", err
	}
	err = r.TakeAway(ctx, old, nil, func() (err error) {
		etag, err = r.Store.Write(ctx, keys.Table(record.ID), record, objectstore.Condition{IfMatch: etag})
		return err
	})
	if err == nil {
		r.Places.ReleaseOf(ctx, old)
	}
	return etag, err
}

// Change passes a copy of a table's record to change and writes the result, again if the record has changed meanwhile. It
// writes nothing if change returns false or an error. Caches keep the former record: see [Registry.Forget].
func (r *Registry) Change(ctx context.Context, id []string, change func(record *stored.Table) (bool, error)) (changed *stored.Table, etag string, err error) {
	err = objects.Race{What: "table", ID: id, Tries: objects.Many}.Run(ctx, func(int) (done bool, err error) {
		record, read, err := r.Table(ctx, id)
		if err != nil {
			return true, err
		}
		copied := *record
		changed, etag = &copied, read
		if changes, err := change(changed); err != nil || !changes {
			return true, err
		}
		etag, err = r.Store.Write(ctx, keys.Table(id), changed, objectstore.Condition{IfMatch: read})
		return objects.Written(err)
	})
	return changed, etag, err
}
