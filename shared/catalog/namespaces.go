package catalog

import (
	"context"
	"errors"
	"maps"
	"time"

	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

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

// dropLease is the longest time between the mark of a drop and the deletion of the record.
const dropLease = 30 * time.Second

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

// Namespace returns a namespace, or NamespaceNotFound. The root always exists.
func (c *Catalog) Namespace(ctx context.Context, id []string) (*Namespace, error) {
	if keys.IsRoot(id) {
		return &Namespace{Properties: map[string]string{}}, nil
	}
	record, _, err := c.names.Namespace(ctx, id)
	if err != nil {
		return nil, err
	}
	return namespaceOf(record), nil
}

// CreateNamespace makes a namespace. With ReplaceIfExists it first drops the namespace of that name
// and all that it holds.
func (c *Catalog) CreateNamespace(ctx context.Context, id []string, properties map[string]string, mode ExistsMode) (*Namespace, error) {
	if keys.IsRoot(id) {
		if mode == KeepIfExists {
			return c.Namespace(ctx, id)
		}
		return nil, naming.NamespaceExists(id)
	}
	if builtin.IsReserved(id) {
		return nil, builtin.Reserved()
	}
	if err := upkeep.Check(properties); err != nil {
		return nil, err
	}
	record := &stored.Namespace{ID: id, UID: objects.NewUID(), Properties: maps.Clone(properties), Created: c.names.Now().UTC()}
	for range objects.Tries {
		_, err := c.names.CreateChild(ctx, id, keys.Namespace(id), record)
		if !errors.Is(err, objectstore.ErrPrecondition) {
			if err != nil {
				return nil, err
			}
			c.names.RememberParent(id, record)
			c.names.Watch.Changed(ctx, keys.Namespaces, id)
			return namespaceOf(record), nil
		}
		switch mode {
		case FailIfExists:
			return nil, c.names.Taken(ctx, id, naming.NamespaceExists(id))
		case KeepIfExists:
			there, err := c.Namespace(ctx, id)
			if !protocol.HasCode(err, protocol.NamespaceNotFound) {
				return there, err
			}
		case ReplaceIfExists:
			err := c.CheckCascade(ctx, id)
			if err == nil {
				_, err = c.DropNamespace(ctx, id, true)
			}
			if err != nil && !protocol.HasCode(err, protocol.NamespaceNotFound) {
				return nil, err
			}
		}
	}
	return nil, objects.LostRace("namespace", id, objectstore.ErrPrecondition)
}
