// Package namespaces makes and drops namespaces: an empty one, or one with all that it holds, at once (drop.go) or
// step by step (cascade.go).
package namespaces

import (
	"context"
	"maps"
	"time"

	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/secrets"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/protocol"
)

// Namespaces keeps namespaces. It is safe for concurrent use.
type Namespaces struct {
	names  *naming.Registry
	lists  *lists.Lists
	drops  *drops.Drops
	leaves []leaf
}

// New returns the namespaces of a registry. They hold tables, views, secrets and functions.
func New(names *naming.Registry, lists *lists.Lists, drops *drops.Drops, secrets *secrets.Secrets, functions *functions.Functions) *Namespaces {
	return &Namespaces{names, lists, drops, leavesOf(drops, secrets, functions)}
}

// A Namespace is a container of tables and namespaces.
type Namespace struct {
	ID         []string          // empty for the root
	UID        string            // distinguishes it from earlier and later namespaces of the name
	Properties map[string]string // never nil
	Created    time.Time
	// Dropped is how a namespace that was dropped can be restored, nil when it cannot or was not
	// dropped.
	Dropped *drops.Drop
}

// DropLease is the longest time between the mark of a drop and the deletion of the record.
const DropLease = 30 * time.Second

// ExistsMode selects what a create does when the name is taken.
type ExistsMode int

// These are the modes of a create whose name is taken.
const (
	FailIfExists ExistsMode = iota
	KeepIfExists
	ReplaceIfExists
)

func namespaceOf(r *stored.Namespace) *Namespace {
	properties := r.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return &Namespace{ID: r.ID, UID: r.UID, Properties: properties, Created: r.Created}
}

// Get returns a namespace, or NamespaceNotFound. The root always exists.
func (n *Namespaces) Get(ctx context.Context, id []string) (*Namespace, error) {
	if keys.IsRoot(id) {
		return &Namespace{Properties: map[string]string{}}, nil
	}
	record, _, err := n.names.Namespace(ctx, id)
	if err != nil {
		return nil, err
	}
	return namespaceOf(record), nil
}

// Create makes a namespace. With ReplaceIfExists it first drops the namespace of that name
// and all that it holds.
func (n *Namespaces) Create(ctx context.Context, id []string, properties map[string]string, mode ExistsMode) (*Namespace, error) {
	if keys.IsRoot(id) {
		if mode == KeepIfExists {
			return n.Get(ctx, id)
		}
		return nil, naming.NamespaceExists(id)
	}
	if builtin.IsReserved(id) {
		return nil, builtin.Reserved()
	}
	if err := upkeep.Check(properties); err != nil {
		return nil, err
	}
	record := &stored.Namespace{ID: id, UID: objects.NewUID(), Properties: maps.Clone(properties), Created: n.names.Now().UTC()}
	made := namespaceOf(record)
	err := objects.Race{What: "namespace", ID: id}.Run(ctx, func(int) (done bool, err error) {
		if _, err = n.names.CreateChild(ctx, id, keys.Namespace(id), record); err == nil {
			n.names.RememberParent(id, record)
			n.names.Watch.Changed(ctx, keys.Namespaces, id)
		}
		if !objects.Taken(err) {
			return true, err
		}
		switch mode {
		case FailIfExists:
			return true, n.names.Taken(ctx, id, naming.NamespaceExists(id))
		case KeepIfExists:
			there, err := n.Get(ctx, id)
			if err == nil {
				made = there
			}
			return err == nil, protocol.Ignore(err, protocol.NamespaceNotFound)
		}
		if err = n.CheckCascade(ctx, id); err == nil {
			_, err = n.Drop(ctx, id, true)
		}
		return false, protocol.Ignore(err, protocol.NamespaceNotFound)
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}
