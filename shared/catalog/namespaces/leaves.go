package namespaces

import (
	"context"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/secrets"
	"tiltyard/shared/protocol"
)

// A leaf is a kind of objects that namespaces contain and that contain no objects themselves.
type leaf struct {
	lists.Kind
	operation string // drops one object, and policies may forbid it
	// drop removes an object with its data, or keeps it for a restoration. with is that of
	// [stored.Drop].
	drop   func(ctx context.Context, id []string, with string) error
	forget removal // removes the name of an object; data stays
}

// A removal removes the object of an id.
type removal func(ctx context.Context, id []string) error

// A removalOf selects one of the removals of a leaf: leaf.forgotten or the result of droppedWith.
type removalOf func(leaf) removal

func (l leaf) forgotten() removal { return l.forget }

// droppedWith selects the drop of leaves together with the namespace of a UID.
func droppedWith(uid string) removalOf {
	return func(l leaf) removal {
		return func(ctx context.Context, id []string) error { return l.drop(ctx, id, uid) }
	}
}

// leavesOf returns all kinds of leaves.
func leavesOf(drop *drops.Drops, secrets *secrets.Secrets, functions *functions.Functions) []leaf {
	atOnce := func(drop removal) func(context.Context, []string, string) error {
		return func(ctx context.Context, id []string, _ string) error { return drop(ctx, id) }
	}
	return []leaf{
		{lists.Named, "DropTable", func(ctx context.Context, id []string, with string) error {
			_, _, err := drop.Drop(ctx, id, with, drops.Any)
			return err
		}, func(ctx context.Context, id []string) error {
			_, err := drop.Deregister(ctx, id, drops.Any)
			return err
		}},
		{lists.Secrets, "DropSecret", atOnce(secrets.Drop), secrets.Drop},
		{lists.Functions, "DropFunction", atOnce(functions.Drop), functions.Drop},
	}
}

// removeLeaves removes objects of a namespace by their names. It ignores objects that no longer
// exist.
func (n *Namespaces) removeLeaves(ctx context.Context, parent, names []string, remove removal) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, name := range names {
		group.Go(func() error {
			err := remove(ctx, keys.Child(parent, name))
			return protocol.Ignore(err, protocol.TableNotFound, protocol.NamespaceNotFound)
		})
	}
	return group.Wait()
}
