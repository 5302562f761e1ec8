package drops

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/storage/objectstore"
)

// UndropTable restores a dropped table or view under its former id, or under the id to if that is
// given. If drop is empty, it takes the newest drop of the id. The error is TableNotFound if there
// is none, TableAlreadyExists if the name is taken, and NamespaceNotFound if the namespace of the
// name does not exist.
func (d *Drops) UndropTable(ctx context.Context, id []string, drop string, to []string) (restored *Drop, err error) {
	if len(to) == 0 {
		to = id
	}
	defer d.names.Forget(to)
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(attempt int) (done bool, err error) {
		record, etag, err := d.findTable(ctx, id, drop)
		if err != nil {
			return true, err
		}
		drop = record.ID[1]
		switch err = d.restore(ctx, record, etag, to); {
		case err == nil:
			restored = d.ofTable(record)
			return true, nil
		case errors.Is(err, naming.ErrTaken):
			return false, d.names.AwaitFree(ctx, to, attempt)
		}
		return objects.Written(err) // another process may restore or purge the table
	})
	return restored, err
}

// restore renames the record of a dropped table to a regular name. A view is entered again in its
// source, if that exists.
func (d *Drops) restore(ctx context.Context, record *stored.Table, etag string, to []string) error {
	if err := d.names.Places.AddName(ctx, record, to); err != nil {
		return err
	}
	if record.View != nil && len(record.View.Source) > 0 {
		if err := protocol.Ignore(dependents.Enter(ctx, d.names, to, record.View), protocol.TableNotFound, protocol.NamespaceNotFound); err != nil {
			return err
		}
	}
	_, err := d.names.Move(ctx, record, etag, to, nil)
	return err
}

// UndropNamespace restores a dropped namespace and everything that was dropped with it, under its former id, or under the
// id to if that is given. If drop is empty, it takes the newest drop of the id. It returns the number of restored objects.
// The error is NamespaceNotFound if there is no such drop or if the parent does not exist, and NamespaceAlreadyExists or
// TableAlreadyExists if a name is taken. After an error, a repetition restores the rest.
func (d *Drops) UndropNamespace(ctx context.Context, id []string, drop string, to []string) (restored int, err error) {
	if len(to) == 0 {
		to = id
	}
	kept, _, err := d.findNamespace(ctx, id, drop)
	if err != nil {
		return 0, err
	}
	ctx = auth.Unlimited(ctx) // the right to restore a namespace includes its content
	inside, err := d.droppedInside(ctx, kept)
	if err != nil {
		return 0, err
	}
	if err := d.remakeNamespace(ctx, kept.ID, to); err != nil {
		return 0, err
	}
	restored = 1
	for _, one := range inside {
		name := slices.Concat(to, one.ID[len(id):])
		if one.Kind == namespaceapi.DroppedNamespace {
			err = d.remakeNamespace(ctx, keys.DroppedID(one.Name), name)
		} else {
			_, err = d.UndropTable(ctx, one.ID, one.Name, name)
		}
		if err != nil {
			return restored, err
		}
		restored++
	}
	for _, one := range inside {
		if one.Kind == namespaceapi.DroppedNamespace {
			d.forgetDrop(ctx, keys.DroppedID(one.Name), slices.Concat(to, one.ID[len(id):]))
		}
	}
	d.forgetDrop(ctx, kept.ID, to)
	return restored, nil
}

// droppedInside returns the objects that were dropped with a namespace and are not restored yet, in
// an order that works: namespaces before their content, and views after the tables that they may
// read.
func (d *Drops) droppedInside(ctx context.Context, kept *stored.Namespace) ([]*Drop, error) {
	all, _, err := d.List(ctx, kept.Dropped.ID, "", lists.NoLimit)
	if err != nil {
		return nil, err
	}
	inside := slices.DeleteFunc(all, func(one *Drop) bool { return one.With != kept.UID || one.Name == kept.UID })
	order := map[namespaceapi.DroppedKind]int{namespaceapi.DroppedNamespace: 0, namespaceapi.DroppedTable: 1, namespaceapi.DroppedView: 2}
	slices.SortStableFunc(inside, func(a, b *Drop) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), cmp.Compare(len(a.ID), len(b.ID)))
	})
	return inside, nil
}

// remakeNamespace puts the record of a namespace from the copy that its drop has kept. The copy
// stays, but is no longer valid. A repetition may find the namespace already there.
func (d *Drops) remakeNamespace(ctx context.Context, kept, to []string) error {
	record := new(stored.Namespace)
	etag, err := d.names.Store.Read(ctx, keys.Namespace(kept), record)
	if err != nil {
		return err
	}
	again := *record
	again.ID, again.Dropped, again.Restored = to, nil, d.names.Now().UTC()
	if !slices.Equal(record.Dropped.To, to) {
		if stands, err := d.standsAgain(ctx, record); err != nil || stands {
			return cmp.Or(err, error(&protocol.Error{
				Code: protocol.NamespaceAlreadyExists, Message: "namespace " + keys.Display(record.Dropped.ID) + " is restored already, or is being dropped",
				Detail: "look at the list of namespaces",
			}))
		}
		marked, drop := *record, *record.Dropped
		drop.To = to
		marked.Dropped = &drop
		if _, err := d.names.Store.Write(ctx, keys.Namespace(kept), &marked, objectstore.Condition{IfMatch: etag}); err != nil {
			if objects.Changed(err) {
				return objects.LostRace("namespace", record.Dropped.ID, err)
			}
			return err
		}
	}
	_, err = d.names.CreateChild(ctx, to, keys.Namespace(to), &again)
	if err == nil {
		d.names.Watch.Changed(ctx, keys.Namespaces, to)
	}
	if !objects.Taken(err) {
		return err
	}
	var there stored.Namespace
	if _, err := d.names.Store.Read(ctx, keys.Namespace(to), &there); objects.IgnoreMissing(err) != nil {
		return err
	}
	switch {
	case there.UID == record.UID && there.Dropping == nil:
		return nil
	case there.UID == record.UID:
		return naming.Dropping(to)
	}
	return d.names.Taken(ctx, to, naming.NamespaceExists(to))
}

// forgetDrop deletes the copy of a record that was restored. It leaves the copy of a later drop. If
// the deletion fails, a sweep repeats it.
func (d *Drops) forgetDrop(ctx context.Context, kept, to []string) {
	ctx = context.WithoutCancel(ctx)
	var record stored.Namespace
	etag, found, err := d.names.Store.Find(ctx, keys.Namespace(kept), &record)
	if err == nil && found && slices.Equal(record.Dropped.To, to) {
		_ = d.names.Store.Delete(ctx, keys.Namespace(kept), objectstore.Condition{IfMatch: etag})
	}
}
