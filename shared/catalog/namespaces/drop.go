package namespaces

import (
	"context"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Drop removes a namespace and returns it. A namespace that holds something is
// NamespaceNotEmpty, unless cascade drops those first.
func (n *Namespaces) Drop(ctx context.Context, id []string, cascade bool) (*Namespace, error) {
	if keys.IsRoot(id) {
		return nil, errRootDrop
	}
	record, etag, err := n.names.Namespace(ctx, id)
	if err != nil {
		return nil, err
	}
	if cascade {
		return n.drop(ctx, record, etag, record.UID, droppedWith(record.UID))
	}
	return n.drop(ctx, record, etag, record.UID, nil)
}

// DropEmpty drops the namespace of a record, if the record has not changed and the namespace is empty. It cannot be
// restored.
func (n *Namespaces) DropEmpty(ctx context.Context, record *stored.Namespace, etag string) error {
	_, err := n.drop(ctx, record, etag, "", nil)
	return err
}

// drop drops the namespace of a record, if the record has not changed. It first removes the content
// by how; if how is nil, a namespace with content stays and the error is NamespaceNotEmpty. with is
// the UID for [stored.Drop], or empty if the namespace cannot be restored.
func (n *Namespaces) drop(ctx context.Context, record *stored.Namespace, etag, with string, how removalOf) (*Namespace, error) {
	id := record.ID
	if record.Dropping != nil && n.names.Now().Before(record.Dropping.Until) {
		return nil, naming.Dropping(id)
	}
	etag, err := n.markDropping(ctx, record, etag)
	if err != nil {
		return nil, err
	}
	if how != nil {
		err = n.dropChildren(ctx, id, with, how)
	}
	if err == nil {
		err = n.checkEmpty(ctx, id)
	}
	if err == nil {
		err = n.names.Watch.Leaves(ctx, leavingNamespace(record))
	}
	var kept *drops.Drop
	if err == nil && with != "" {
		kept, err = n.drops.Keep(ctx, record, with)
	}
	if err != nil {
		return nil, errors.Join(err, n.unmark(ctx, record, etag))
	}
	err = n.names.Store.Remove(ctx, keys.Namespace(id), record.UID, etag)
	if objects.Changed(err) {
		return nil, objects.LostRace("namespace", id, err)
	}
	if err != nil {
		return nil, fmt.Errorf("drop namespace %s: %w", keys.Display(id), err)
	}
	n.names.Watch.Left(ctx, leavingNamespace(record))
	gone := namespaceOf(record)
	gone.Dropped = kept
	return gone, n.forgetLate(ctx, id)
}

func leavingNamespace(record *stored.Namespace) naming.Leaving {
	return naming.Leaving{Kind: keys.Namespaces, Lineage: record.UID, ID: record.ID, Created: record.Created}
}

// forgetLate removes records that appeared in a namespace while it was dropped. A creator that put
// its record after our listing and then died could not take it back, and its client got no answer.
// The data stays, because it may belong to a client that wanted to register it. A sweep removes
// records that arrive even later. A live creator may take its record back at the same time; the
// conflict is ignored, because the namespace was dropped all the same.
func (n *Namespaces) forgetLate(ctx context.Context, id []string) error {
	return objects.Race{What: "namespace", ID: id, Tries: 6, Wait: true}.Run(ctx, func(int) (done bool, err error) {
		late, err := n.anyChild(ctx, id)
		if err == nil && late != "" {
			err = n.dropChildren(ctx, id, "", leaf.forgotten)
		}
		return !protocol.HasCode(err, protocol.ConcurrentModification), protocol.Ignore(err, protocol.ConcurrentModification)
	})
}

func (n *Namespaces) markDropping(ctx context.Context, record *stored.Namespace, etag string) (string, error) {
	record.Dropping = &stored.DropMark{By: objects.NewUID(), Until: n.names.Now().Add(DropLease).UTC()}
	etag, err := n.names.Store.Write(ctx, keys.Namespace(record.ID), record, objectstore.Condition{IfMatch: etag})
	n.names.RememberParent(record.ID, nil)
	if objects.Changed(err) {
		return "", objects.LostRace("namespace", record.ID, err)
	}
	return etag, err
}

// unmark removes a drop mark. It continues if the request is cancelled, because the namespace of a
// refused drop must be usable again.
func (n *Namespaces) unmark(ctx context.Context, record *stored.Namespace, etag string) error {
	record.Dropping = nil
	_, err := n.names.Store.Write(context.WithoutCancel(ctx), keys.Namespace(record.ID), record, objectstore.Condition{IfMatch: etag})
	return objects.IgnoreChanged(err)
}

// checkEmpty returns NamespaceNotEmpty when the namespace has a child.
func (n *Namespaces) checkEmpty(ctx context.Context, id []string) error {
	found, err := n.anyChild(ctx, id)
	if err != nil || found == "" {
		return err
	}
	notEmpty := namespaceNotEmpty(id)
	if !auth.Limited(ctx) { // the caller may not be allowed to see the child
		notEmpty.Message += fmt.Sprintf("; it holds %q", found)
	}
	return notEmpty
}

func namespaceNotEmpty(id []string) *protocol.Error {
	return &protocol.Error{
		Code:    protocol.NamespaceNotEmpty,
		Message: fmt.Sprintf("namespace %s is not empty", keys.Display(id)),
		Detail:  `drop what it holds first, or use behavior "Cascade"`,
	}
}

// anyChild returns the name of an object inside a namespace, or "" if it is empty. Records left
// behind by renames do not count. While a rename into the namespace is under way, the error is
// ConcurrentModification.
func (n *Namespaces) anyChild(ctx context.Context, id []string) (string, error) {
	opts := objectstore.ListOptions{Prefix: keys.Records + keys.Folder(id) + "/", Limit: 1}
	for object, err := range objectstore.Objects(ctx, n.names.Store, opts) {
		if err != nil {
			return "", fmt.Errorf("list children of %s: %w", keys.Display(id), err)
		}
		name, err := keys.Unescape(path.Base(object.Key))
		if err != nil {
			return "", fmt.Errorf("list children of %s: %w", keys.Display(id), err)
		}
		if !stored.InDoubt(object) {
			return name, nil
		}
		switch found, err := n.names.Settled(ctx, keys.Child(id, name)); {
		case err != nil:
			return "", err
		case found.Record != nil:
			return name, nil
		case found.Soon:
			return "", objects.LostRace("namespace", id, objectstore.ErrPrecondition)
		}
	}
	return "", nil
}

// dropChildren drops the content of a namespace, leaves first. It includes objects that the caller
// cannot see: see CheckCascade.
func (n *Namespaces) dropChildren(ctx context.Context, id []string, with string, how removalOf) error {
	ctx = auth.Unlimited(ctx)
	for _, leaf := range n.leaves {
		found, _, err := n.lists.Children(ctx, leaf.Kind, id, "", lists.NoLimit)
		if err != nil {
			return err
		}
		if err := n.removeLeaves(ctx, id, found, how(leaf)); err != nil {
			return err
		}
	}
	namespaces, _, err := n.lists.Children(ctx, lists.Namespaces, id, "", lists.NoLimit)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, name := range namespaces {
		group.Go(func() error {
			record, etag, err := n.names.Namespace(ctx, keys.Child(id, name))
			if err == nil {
				_, err = n.drop(ctx, record, etag, with, how)
			}
			return protocol.Ignore(err, protocol.NamespaceNotFound)
		})
	}
	return group.Wait()
}

// dropFanOut bounds how many children of one namespace are dropped in parallel.
const dropFanOut = 8
