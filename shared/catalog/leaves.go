package catalog

import (
	"context"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol"
)

// A leaf is a kind of objects that a namespace holds and that hold no objects themselves.
type leaf struct {
	lists.Kind
	operation string // drops one object, and policies may forbid it
	// drop removes an object with its data, or sets it aside: with is that of [stored.Drop].
	drop   func(c *Catalog, ctx context.Context, id []string, with string) error
	forget removal // removes the name of an object; data stays
}

// A removal removes the object of an id.
type removal func(c *Catalog, ctx context.Context, id []string) error

// A removalOf chooses one of the removals of a leaf: leaf.forgotten or that of droppedWith.
type removalOf func(leaf) removal

func (l leaf) forgotten() removal { return l.forget }

// droppedWith returns the choice of dropping leaves with the namespace of a UID.
func droppedWith(uid string) removalOf {
	return func(l leaf) removal {
		return func(c *Catalog, ctx context.Context, id []string) error { return l.drop(c, ctx, id, uid) }
	}
}

// atOnce returns the drop of a leaf that is never set aside.
func atOnce(drop removal) func(c *Catalog, ctx context.Context, id []string, with string) error {
	return func(c *Catalog, ctx context.Context, id []string, _ string) error { return drop(c, ctx, id) }
}

// leaves are all kinds of leaves.
var leaves = []leaf{
	{lists.Named, "DropTable", (*Catalog).dropAny, (*Catalog).forget},
	{lists.Secrets, "DropSecret", atOnce((*Catalog).dropSecret), (*Catalog).dropSecret},
	{lists.Functions, "DropFunction", atOnce((*Catalog).dropFunction), (*Catalog).dropFunction},
}

// removeLeaves removes objects of a namespace by their names. Some of them may be gone.
func (c *Catalog) removeLeaves(ctx context.Context, parent, names []string, remove removal) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, name := range names {
		group.Go(func() error {
			err := remove(c, ctx, keys.Child(parent, name))
			return protocol.Ignore(err, protocol.TableNotFound, protocol.NamespaceNotFound)
		})
	}
	return group.Wait()
}

func (c *Catalog) dropSecret(ctx context.Context, id []string) error { return c.Secrets.Drop(ctx, id) }
func (c *Catalog) dropFunction(ctx context.Context, id []string) error {
	return c.Functions.Drop(ctx, id)
}

func (c *Catalog) dropAny(ctx context.Context, id []string, with string) error {
	_, _, err := c.Drops.Drop(ctx, id, with, drops.Any)
	return err
}

func (c *Catalog) forget(ctx context.Context, id []string) error {
	_, err := c.Drops.Deregister(ctx, id, drops.Any)
	return err
}
