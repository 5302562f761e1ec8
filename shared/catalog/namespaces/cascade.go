package namespaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// A Cascade drops a namespace with its content, step by step, leaves first. A process that dies
// between two steps does no harm: the next Cascade continues with the rest. A namespace is dropped
// only when it is empty, so no table loses the path to its name. While a cascade runs, and for
// CascadeLease after its last step, no request can create anything in the namespaces that it has
// marked. A Cascade is used by one goroutine.
type Cascade struct {
	in      *Namespaces
	by      string
	uid     string    // of the namespace; "" accepts any namespace of the name
	marked  []*marked // the namespaces from the root of the cascade down to the current one
	dropped int       // counts objects of all kinds
}

// marked is a namespace that the cascade has marked as dropping.
type marked struct {
	record *stored.Namespace
	etag   string
}

// CascadeLease is how long a namespace stays closed after its cascade has stopped.
const CascadeLease = 10 * time.Minute

var errRootDrop = &protocol.Error{Code: protocol.InvalidInput, Message: "the root namespace cannot be dropped"}

// IsLarge reports whether a namespace contains more than limit objects, at any depth. It sends one
// LIST request per namespace and kind, and stops as soon as the count exceeds limit.
func (n *Namespaces) IsLarge(ctx context.Context, id []string, limit int) (bool, error) {
	count := 0
	for todo := [][]string{id}; len(todo) > 0; todo = todo[1:] {
		inside := todo[0]
		for _, leaf := range n.leaves {
			found, _, err := n.lists.Children(ctx, leaf.Kind, inside, "", limit-count+1)
			if err != nil {
				return false, err
			}
			if count += len(found); count > limit {
				return true, nil
			}
		}
		found, _, err := n.lists.Children(ctx, lists.Namespaces, inside, "", limit-count+1)
		if err != nil {
			return false, err
		}
		if count += len(found); count > limit {
			return true, nil
		}
		for _, name := range found {
			todo = append(todo, keys.Child(inside, name))
		}
	}
	return false, nil
}

// BeginCascade marks a namespace as being dropped by the caller named by, who may continue an
// earlier cascade. From then on no request can create anything in it. The error is
// NamespaceNotFound if the namespace with that uid no longer exists, and ConcurrentModification
// while another caller drops it.
func (n *Namespaces) BeginCascade(ctx context.Context, id []string, uid, by string) (*Cascade, error) {
	d := &Cascade{in: n, by: by, uid: uid}
	return d, d.enter(ctx, id)
}

// enter marks a namespace and makes it the current one.
func (d *Cascade) enter(ctx context.Context, id []string) error {
	m, err := d.mark(ctx, id)
	if err == nil {
		d.marked = append(d.marked, m)
	}
	return err
}

// mark marks a namespace as dropping, or extends a mark of this cascade.
func (d *Cascade) mark(ctx context.Context, id []string) (*marked, error) {
	n := d.in
	var m *marked
	err := objects.Race{What: "namespace", ID: id}.Run(ctx, func(int) (done bool, err error) {
		record, etag, err := n.names.Namespace(ctx, id)
		if err != nil {
			return true, err
		}
		if len(d.marked) == 0 && d.uid != "" && record.UID != d.uid {
			return true, naming.NamespaceNotFound(id)
		}
		if drop := record.Dropping; drop != nil && drop.By != d.by && n.names.Now().Before(drop.Until) {
			return true, naming.Dropping(id)
		}
		record.Dropping = &stored.DropMark{By: d.by, Until: n.names.Now().Add(CascadeLease).UTC()}
		etag, err = n.names.Store.Write(ctx, keys.Namespace(id), record, objectstore.Condition{IfMatch: etag})
		n.names.RememberParent(id, nil)
		m = &marked{record, etag}
		return objects.Written(err)
	})
	return m, err
}

// Release removes the marks of a cascade that will not continue.
func (d *Cascade) Release(ctx context.Context) error {
	var all []error
	for _, m := range d.marked {
		all = append(all, d.in.unmark(ctx, m.record, m.etag))
	}
	d.marked = nil
	return errors.Join(all...)
}

// Run drops the rest of the namespace. After every few objects it calls step with the number
// dropped so far; an error of step ends the run.
func (d *Cascade) Run(ctx context.Context, step func(dropped int) error) error {
	for len(d.marked) > 0 {
		if err := d.renew(ctx); err != nil {
			return err
		}
		if err := step(d.dropped); err != nil {
			return err
		}
		if err := d.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// renew extends the marks that have used up half of their lease.
func (d *Cascade) renew(ctx context.Context) error {
	for i, m := range d.marked {
		if d.in.names.Now().Add(CascadeLease / 2).Before(m.record.Dropping.Until) {
			continue
		}
		again, err := (&Cascade{in: d.in, by: d.by, uid: m.record.UID}).mark(ctx, m.record.ID)
		if err != nil {
			return err
		}
		d.marked[i] = again
	}
	return nil
}

// next does one step in the current namespace: it drops some leaves, enters a namespace, or drops
// the current one when that is empty.
func (d *Cascade) next(ctx context.Context) error {
	here := d.marked[len(d.marked)-1]
	id := here.record.ID
	for _, leaf := range d.in.leaves {
		found, _, err := d.in.lists.Children(ctx, leaf.Kind, id, "", cascadeStep)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			d.dropped += len(found)
			return d.in.removeLeaves(ctx, id, found, droppedWith(d.marked[0].record.UID)(leaf))
		}
	}
	namespaces, _, err := d.in.lists.Children(ctx, lists.Namespaces, id, "", 1)
	if err != nil {
		return err
	}
	if len(namespaces) > 0 {
		err := d.enter(ctx, keys.Child(id, namespaces[0]))
		return protocol.Ignore(err, protocol.NamespaceNotFound)
	}
	return d.leave(ctx, here)
}

// cascadeStep is how many leaves one step drops.
const cascadeStep = 32

// leave drops a namespace that looks empty. A table or namespace that was created before the mark
// may appear after the listing; the next step finds it.
func (d *Cascade) leave(ctx context.Context, here *marked) error {
	n, id := d.in, here.record.ID
	if err := n.checkEmpty(ctx, id); err != nil {
		return protocol.Ignore(err, protocol.NamespaceNotEmpty)
	}
	err := n.names.Watch.Leaves(ctx, leavingNamespace(here.record))
	if err == nil {
		_, err = n.drops.Keep(ctx, here.record, d.marked[0].record.UID)
	}
	if err == nil {
		err = n.names.Store.Remove(ctx, keys.Namespace(id), here.record.UID, here.etag)
	}
	if objects.Changed(err) {
		// The mark has expired and another process has removed it: enter the namespace again.
		d.marked = d.marked[:len(d.marked)-1]
		return protocol.Ignore(d.enter(ctx, id), protocol.NamespaceNotFound)
	}
	if err != nil {
		return fmt.Errorf("drop namespace %s: %w", keys.Display(id), err)
	}
	d.marked = d.marked[:len(d.marked)-1]
	d.dropped++
	n.names.Watch.Left(ctx, leavingNamespace(here.record))
	return n.forgetLate(ctx, id)
}

// CheckCascade checks that policies let the caller drop a namespace with all that it holds. The
// error is NamespaceNotEmpty if the namespace holds something that the caller may not drop.
func (n *Namespaces) CheckCascade(ctx context.Context, id []string) error {
	if !auth.Limited(ctx) || keys.IsRoot(id) {
		return nil
	}
	if _, _, err := n.names.Namespace(ctx, id); err != nil {
		return err
	}
	for todo := [][]string{id}; len(todo) > 0; todo = todo[1:] {
		inside := todo[0]
		if !auth.Permits(ctx, "DropNamespace", auth.Namespace(inside)) {
			return namespaceNotEmpty(id)
		}
		for _, leaf := range n.leaves {
			found, _, err := n.lists.Children(ctx, leaf.Kind, inside, "", lists.NoLimit)
			if err != nil {
				return err
			}
			for _, name := range found {
				if !auth.Permits(ctx, leaf.operation, leaf.Object(keys.Child(inside, name))) {
					return namespaceNotEmpty(id)
				}
			}
		}
		namespaces, _, err := n.lists.Children(ctx, lists.Namespaces, inside, "", lists.NoLimit)
		if err != nil {
			return err
		}
		for _, name := range namespaces {
			todo = append(todo, keys.Child(inside, name))
		}
	}
	return nil
}
