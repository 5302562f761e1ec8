package catalog

import (
	"context"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// DropNamespace removes a namespace. One that holds tables or namespaces is
// NamespaceNotEmpty, unless cascade drops them first. It returns what was dropped.
func (c *Catalog) DropNamespace(ctx context.Context, id []string, cascade bool) (*Namespace, error) {
	if isRoot(id) {
		return nil, errRootDrop
	}
	var children dropTable
	if cascade {
		children = c.DropTable
	}
	return c.dropNamed(ctx, id, children)
}

// A dropTable is how the tables of a namespace go with it; nil: they do not.
type dropTable func(ctx context.Context, id []string) (*Table, error)

// dropNamed drops the namespace of that name.
func (c *Catalog) dropNamed(ctx context.Context, id []string, children dropTable) (*Namespace, error) {
	record, etag, err := c.namespaceRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.dropNamespace(ctx, record, etag, children)
}

// dropNamespace drops the namespace of a record, if it is still that.
func (c *Catalog) dropNamespace(ctx context.Context, record *namespaceRecord, etag string, children dropTable) (*Namespace, error) {
	id := record.ID
	if record.Dropping != nil && c.now().Before(record.Dropping.Until) {
		return nil, lostRace("namespace", id, errDropping)
	}
	etag, err := c.markDropping(ctx, record, etag)
	if err != nil {
		return nil, err
	}
	if children != nil {
		err = c.dropChildren(ctx, id, children)
	}
	if err == nil {
		err = c.checkEmpty(ctx, id)
	}
	if err != nil {
		return nil, errors.Join(err, c.unmark(ctx, record, etag))
	}
	err = c.remove(ctx, namespaceKey(id), record.UID, etag)
	if gone(err) {
		return nil, lostRace("namespace", id, err)
	}
	if err != nil {
		return nil, fmt.Errorf("drop namespace %s: %w", display(id), err)
	}
	return record.namespace(), c.forgetLate(ctx, id)
}

// forgetLate takes away what is in a namespace that has just been dropped: a creator that put
// its child after our listing and then died could not take it back. Nobody was told of that
// child. Its data stays, which may be somebody's who wanted it to be a table. What comes later
// yet is found by a sweep.
func (c *Catalog) forgetLate(ctx context.Context, id []string) error {
	late, err := c.anyChild(ctx, id)
	if err == nil && late != "" {
		err = c.dropChildren(ctx, id, c.DeregisterTable)
	}
	return err
}

func (c *Catalog) markDropping(ctx context.Context, record *namespaceRecord, etag string) (string, error) {
	record.Dropping = &dropMark{By: newUID(), Until: c.now().Add(dropLease).UTC()}
	etag, err := c.write(ctx, namespaceKey(record.ID), record, objectstore.Condition{IfMatch: etag})
	if gone(err) {
		return "", lostRace("namespace", record.ID, err)
	}
	return etag, err
}

// unmark takes a drop mark back. It is part of answering a refused drop, so it is not
// given up with the request.
func (c *Catalog) unmark(ctx context.Context, record *namespaceRecord, etag string) error {
	record.Dropping = nil
	_, err := c.write(context.WithoutCancel(ctx), namespaceKey(record.ID), record, objectstore.Condition{IfMatch: etag})
	if gone(err) {
		return nil
	}
	return err
}

// checkEmpty returns NamespaceNotEmpty when the namespace has a child.
func (c *Catalog) checkEmpty(ctx context.Context, id []string) error {
	found, err := c.anyChild(ctx, id)
	if err != nil || found == "" {
		return err
	}
	notEmpty := namespaceNotEmpty(id)
	if !auth.Limited(ctx) { // what it holds may be hidden
		notEmpty.Detail = fmt.Sprintf("it holds %q; %s", found, notEmpty.Detail)
	}
	return notEmpty
}

func namespaceNotEmpty(id []string) *protocol.Error {
	return &protocol.Error{
		Code:    protocol.NamespaceNotEmpty,
		Message: fmt.Sprintf("namespace %s is not empty", display(id)),
		Detail:  `drop what it holds first, or use behavior "Cascade"`,
	}
}

// anyChild returns the name of some table or namespace inside one, "" when it is empty.
// Records that renames have left behind do not count; one that is on its way makes the
// namespace neither empty nor not (ConcurrentModification).
func (c *Catalog) anyChild(ctx context.Context, id []string) (string, error) {
	opts := objectstore.ListOptions{Prefix: recordsPrefix + folder(id) + "/", Limit: 1}
	for {
		listed, err := c.store.List(ctx, opts)
		if err != nil {
			return "", fmt.Errorf("list children of %s: %w", display(id), err)
		}
		if len(listed.Objects) == 0 {
			return "", nil
		}
		object := listed.Objects[0]
		name, err := unescape(path.Base(object.Key))
		if err != nil {
			return "", fmt.Errorf("list children of %s: %w", display(id), err)
		}
		if !inDoubt(object) {
			return name, nil
		}
		switch _, _, err := c.settled(ctx, child(id, name)); {
		case err == nil:
			return name, nil
		case errors.Is(err, errArriving):
			return "", lostRace("namespace", id, err)
		case !errors.Is(err, objectstore.ErrNotExist):
			return "", err
		}
		opts.StartAfter = object.Key
	}
}

// dropChildren drops all that a namespace holds, leaves first, whether the caller sees it or
// not: see CheckCascade.
func (c *Catalog) dropChildren(ctx context.Context, id []string, drop dropTable) error {
	ctx = auth.Unlimited(ctx)
	tables, err := c.children(ctx, id, tableKind, "", All)
	if err != nil {
		return err
	}
	namespaces, err := c.children(ctx, id, namespaceKind, "", All)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, name := range tables.names {
		group.Go(func() error {
			_, err := drop(ctx, child(id, name))
			return ignore(err, protocol.TableNotFound, protocol.NamespaceNotFound)
		})
	}
	for _, name := range namespaces.names {
		group.Go(func() error {
			_, err := c.dropNamed(ctx, child(id, name), drop)
			return ignore(err, protocol.NamespaceNotFound)
		})
	}
	return group.Wait()
}

// dropFanOut bounds how many children of one namespace are dropped at a time.
const dropFanOut = 8
