package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A Cascade drops a namespace with all that it holds, one step after the other, leaves first.
// It is for who may be interrupted at any of them, and then begins anew with what is left: a
// namespace is gone only when it is empty, so that nothing is ever left behind that no name
// leads to. As long as it goes on, and for cascadeLease after its last step, nothing can be
// made in a namespace that it has come to. It is used by one goroutine.
type Cascade struct {
	catalog *Catalog
	by      string
	uid     string    // of the namespace; "": whichever has its name
	marked  []*marked // the namespaces on the way down to where it is
	dropped int       // tables and namespaces
}

// marked is a namespace that the cascade has marked.
type marked struct {
	record *namespaceRecord
	etag   string
}

// cascadeLease is for how long a namespace stays marked by a cascade that does not go on.
const cascadeLease = 10 * time.Minute

// UID returns what tells a namespace from others that had its name or will have it, and its
// properties.
func (c *Catalog) UID(ctx context.Context, id []string) (uid string, properties map[string]string, err error) {
	if isRoot(id) {
		return "", nil, errRootDrop
	}
	record, _, err := c.namespaceRecord(ctx, id)
	if err != nil {
		return "", nil, err
	}
	return record.UID, record.namespace().Properties, nil
}

var errRootDrop = &protocol.Error{Code: protocol.InvalidInput, Message: "the root namespace cannot be dropped"}

// IsLarge says whether a namespace holds more than so many tables and namespaces, at any
// depth. It asks the store once for each namespace, and stops when it knows.
func (c *Catalog) IsLarge(ctx context.Context, id []string, limit int) (bool, error) {
	count := 0
	for todo := [][]string{id}; len(todo) > 0; todo = todo[1:] {
		inside := todo[0]
		for _, kind := range []string{tableKind, namespaceKind} {
			found, err := c.children(ctx, inside, kind, "", limit-count+1)
			if err != nil {
				return false, err
			}
			if count += len(found.names); count > limit {
				return true, nil
			}
			if kind == namespaceKind {
				for _, name := range found.names {
					todo = append(todo, child(inside, name))
				}
			}
		}
	}
	return false, nil
}

// BeginCascade marks the namespace of an id, if its UID is that, as being dropped by someone
// of that name, who may have begun before. Nothing can be made in it from now on. When it is
// gone, or stands for another, the error is NamespaceNotFound; while others drop it,
// ConcurrentModification.
func (c *Catalog) BeginCascade(ctx context.Context, id []string, uid, by string) (*Cascade, error) {
	d := &Cascade{catalog: c, by: by, uid: uid}
	return d, d.enter(ctx, id)
}

// enter marks a namespace and goes down into it.
func (d *Cascade) enter(ctx context.Context, id []string) error {
	m, err := d.mark(ctx, id)
	if err == nil {
		d.marked = append(d.marked, m)
	}
	return err
}

// mark marks a namespace, or holds a mark of ours for longer.
func (d *Cascade) mark(ctx context.Context, id []string) (*marked, error) {
	c := d.catalog
	for range createAttempts {
		record, etag, err := c.namespaceRecord(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(d.marked) == 0 && d.uid != "" && record.UID != d.uid {
			return nil, namespaceNotFound(id)
		}
		if drop := record.Dropping; drop != nil && drop.By != d.by && c.now().Before(drop.Until) {
			return nil, lostRace("namespace", id, errDropping)
		}
		record.Dropping = &dropMark{By: d.by, Until: c.now().Add(cascadeLease).UTC()}
		etag, err = c.write(ctx, namespaceKey(id), record, objectstore.Condition{IfMatch: etag})
		if !gone(err) {
			return &marked{record, etag}, err
		}
	}
	return nil, lostRace("namespace", id, objectstore.ErrPrecondition)
}

// Release takes back the marks of a cascade that will not go on.
func (d *Cascade) Release(ctx context.Context) error {
	var all []error
	for _, m := range d.marked {
		all = append(all, d.catalog.unmark(ctx, m.record, m.etag))
	}
	d.marked = nil
	return errors.Join(all...)
}

// Run drops what is left. step is called now and then with how many tables and namespaces are
// gone; its error ends the work.
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

// renew holds the marks for longer whose time is half over.
func (d *Cascade) renew(ctx context.Context) error {
	for i, m := range d.marked {
		if d.catalog.now().Add(cascadeLease / 2).Before(m.record.Dropping.Until) {
			continue
		}
		again, err := (&Cascade{catalog: d.catalog, by: d.by, uid: m.record.UID}).mark(ctx, m.record.ID)
		if err != nil {
			return err
		}
		d.marked[i] = again
	}
	return nil
}

// next does one step where the cascade is: it drops some tables, goes down into a namespace, or
// drops an empty one and goes up.
func (d *Cascade) next(ctx context.Context) error {
	here := d.marked[len(d.marked)-1]
	id := here.record.ID
	tables, err := d.catalog.children(ctx, id, tableKind, "", cascadeStep)
	if err != nil {
		return err
	}
	if len(tables.names) > 0 {
		return d.dropTables(ctx, id, tables.names)
	}
	namespaces, err := d.catalog.children(ctx, id, namespaceKind, "", 1)
	if err != nil {
		return err
	}
	if len(namespaces.names) > 0 {
		err := d.enter(ctx, child(id, namespaces.names[0]))
		return ignore(err, protocol.NamespaceNotFound)
	}
	return d.leave(ctx, here)
}

// cascadeStep is how many tables are dropped between two steps.
const cascadeStep = 32

func (d *Cascade) dropTables(ctx context.Context, id []string, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, name := range names {
		group.Go(func() error {
			_, err := d.catalog.DropTable(ctx, child(id, name))
			return ignore(err, protocol.TableNotFound, protocol.NamespaceNotFound)
		})
	}
	d.dropped += len(names)
	return group.Wait()
}

// leave drops a namespace that seems empty. Who has made something in it meanwhile, before it
// was marked, is found by the next step.
func (d *Cascade) leave(ctx context.Context, here *marked) error {
	c, id := d.catalog, here.record.ID
	if err := c.checkEmpty(ctx, id); err != nil {
		return ignore(err, protocol.NamespaceNotEmpty)
	}
	err := c.remove(ctx, namespaceKey(id), here.record.UID, here.etag)
	if gone(err) {
		// The mark has run out, and somebody has removed it: begin here again.
		d.marked = d.marked[:len(d.marked)-1]
		return ignore(d.enter(ctx, id), protocol.NamespaceNotFound)
	}
	if err != nil {
		return fmt.Errorf("drop namespace %s: %w", display(id), err)
	}
	d.marked = d.marked[:len(d.marked)-1]
	d.dropped++
	return c.forgetLate(ctx, id)
}
