// Package views keeps materialized and plain views. Their records are records of tables with one more field.
package views

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// A NewView is a view to create.
type NewView struct {
	Kind   stored.ViewKind
	Source []string          // empty when it is not known
	Digest string            // as in stored.View
	By     *auth.Principal   // as in stored.View
	Auto   bool              // as in stored.View
	Plain  *stored.PlainView // of a plain view
	// AutoSeconds is as in stored.View.
	AutoSeconds float64
	// Later means that the source need not exist yet: the first refresh checks it.
	Later bool
	// Location and Hint are those of [tiltyard/shared/catalog.Catalog.CreateTable]. A plain view has none.
	Location objectstore.Location
	Hint     uint64
}

// Views keeps views. It is safe for concurrent use.
type Views struct {
	names *naming.Registry
	drops *drops.Drops
}

// New returns the views of a registry.
func New(names *naming.Registry, drops *drops.Drops) *Views { return &Views{names, drops} }

// Create creates a view. A taken name is TableAlreadyExists, a missing source TableNotFound. InvalidInput means that the
// view would read itself through other views, that the chain of views is too long, or that the source has too many views.
// With Later the source is not checked.
func (v *Views) Create(ctx context.Context, id []string, view NewView) (*stored.View, error) {
	if keys.IsRoot(id) {
		return nil, &protocol.Error{Code: protocol.InvalidInput, Message: "a view needs a name"}
	}
	enters := len(view.Source) > 0 && !view.Later
	if enters {
		if err := dependents.CheckCycle(ctx, v.names, id, view.Source); err != nil {
			return nil, err
		}
	}
	record := v.names.NewTable(id, view.Location, view.Hint, nil)
	if view.Kind == stored.Plain {
		record.Location, record.Claim = "", ""
	}
	record.View = &stored.View{
		Kind: view.Kind, UID: objects.NewUID(), Source: view.Source, Digest: view.Digest, By: view.By, Auto: view.Auto, AutoSeconds: view.AutoSeconds, Plain: view.Plain,
	}
	if enters {
		if err := dependents.Enter(ctx, v.names, id, record.View); err != nil {
			return nil, err
		}
	}
	if _, err := v.names.Put(ctx, record, false); err != nil {
		if enters && !protocol.HasCode(err, protocol.ServiceUnavailable) { // else the view may exist
			dependents.Leave(ctx, v.names, record.View)
		}
		return nil, err
	}
	return record.View, nil
}

// Enter adds a view to the dependents of its source, unless it is listed there. The error is
// InvalidInput if the view reads itself through others. A failure to write is ignored, since the
// next refresh tries again.
func (v *Views) Enter(ctx context.Context, id []string, view *stored.View, source []string, listed []stored.Dependent) error {
	if slices.ContainsFunc(listed, func(d stored.Dependent) bool { return d.UID == view.UID }) {
		return nil
	}
	if err := dependents.CheckCycle(ctx, v.names, id, source); err != nil {
		return err
	}
	_ = dependents.Enter(ctx, v.names, id, view)
	return nil
}

// Get returns the record of a view. The error is TableNotFound, NamespaceNotFound, or InvalidInput
// for a table that is not a view of the kind.
func (v *Views) Get(ctx context.Context, id []string, kind stored.ViewKind) (*stored.Table, error) {
	record, _, err := v.names.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	return record, check(record, kind)
}

// check returns InvalidInput unless the record is a view of the kind.
func check(record *stored.Table, kind stored.ViewKind) error {
	if record.View == nil || record.View.Kind != kind {
		return protocol.Errorf(protocol.InvalidInput, "%s is not a %s", keys.Display(record.ID), kind.Describe())
	}
	return nil
}

// Drop drops a view of a kind as a table is dropped, and returns its record. Any other table of
// that name is InvalidInput.
func (v *Views) Drop(ctx context.Context, id []string, kind stored.ViewKind) (*stored.Table, error) {
	record, _, err := v.drops.Drop(ctx, id, "", func(record *stored.Table) error { return check(record, kind) })
	return record, err
}

// NotPlain returns the error for a plain view where a table is needed.
func NotPlain(record *stored.Table) error {
	if record.View == nil || record.View.Kind != stored.Plain {
		return nil
	}
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: fmt.Sprintf("%s is a view", keys.Display(record.ID)),
		Detail: "a view has no rows of its own; only queries of rows accept it", Err: &isPlain{record.View},
	}
}

// isPlain is the cause of errors about plain views.
type isPlain struct{ view *stored.View }

func (*isPlain) Error() string { return "view without rows" }

// Plain returns the plain view that made an operation on tables fail, or nil for other errors.
func Plain(err error) *stored.View {
	var plain *isPlain
	if errors.As(err, &plain) {
		return plain.view
	}
	return nil
}

// Adopt turns the record of a table into that of a materialized view: other programs create such tables and then register
// them here, or change the definition of a view. Callers then add the view to its source ([Views.Enter]). The error is
// InvalidInput if the view would read itself through others, or if it is a plain view.
func (v *Views) Adopt(ctx context.Context, id []string, uid string, adopt NewView) (*stored.View, error) {
	if err := dependents.CheckCycle(ctx, v.names, id, adopt.Source); err != nil {
		return nil, err
	}
	defer v.names.Forget(id)
	var former *stored.View
	view := &stored.View{Kind: stored.Materialized, Source: adopt.Source, Digest: adopt.Digest, By: adopt.By, Auto: adopt.Auto}
	_, _, err := v.names.Change(ctx, id, func(record *stored.Table) (bool, error) {
		if record.UID != uid {
			return false, objects.LostRace("table", id, stored.ErrMoved)
		}
		former = record.View
		if view.UID = objects.NewUID(); former != nil {
			view.UID, view.AutoSeconds = former.UID, former.AutoSeconds
		}
		record.View = view
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if former != nil && !slices.Equal(former.Source, view.Source) {
		dependents.Leave(ctx, v.names, former)
	}
	return view, nil
}
