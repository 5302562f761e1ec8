package naming

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Table returns the settled record of a table and its ETag. The error is TableNotFound, or
// NamespaceNotFound when the namespace does not exist either.
func (r *Registry) Table(ctx context.Context, id []string) (*stored.Table, string, error) {
	if keys.IsRoot(id) {
		return nil, "", &protocol.Error{Code: protocol.InvalidInput, Message: "the root namespace is not a table"}
	}
	found, err := r.Settled(ctx, id)
	if err == nil && found.Record == nil || !auth.Sees(ctx, auth.Table(id)) {
		return nil, "", r.TableNotFound(ctx, id)
	}
	return found.Record, found.ETag, err
}

// TableOrFree returns the record of a table, or nil if the name is free, for a caller that is about
// to create one. It checks a namespace that is not cached at the same time as it reads the name. A
// cached one needs no check here, because the create checks it in any case (see CreateChild).
func (r *Registry) TableOrFree(ctx context.Context, id []string) (*stored.Table, error) {
	parent := keys.Parent(id)
	looking := errgroup.Group{}
	if _, seen := r.recallParent(ctx, parent); !seen && !keys.IsRoot(parent) {
		looking.Go(func() error {
			_, _, err := r.Namespace(ctx, parent)
			return err
		})
	}
	found, err := r.Settled(ctx, id)
	missing := looking.Wait()
	if err == nil && found.Record == nil || !auth.Sees(ctx, auth.Table(id)) {
		return nil, missing
	}
	return found.Record, err
}

// TableToRemove returns the record of a table that the caller will remove. It first aborts an undecided
// batch on the table.
func (r *Registry) TableToRemove(ctx context.Context, id []string) (record *stored.Table, etag string, err error) {
	err = objects.Race{What: "table", ID: id}.Run(ctx, func(int) (done bool, err error) {
		if record, etag, err = r.Table(ctx, id); err != nil || record.Pending == nil {
			return true, err
		}
		_, err = r.Decide(ctx, record.Pending.Batch, stored.Decision{Outcome: stored.Aborted})
		return false, err
	})
	return record, etag, err
}

// TableNotFound returns the error for a table that does not exist: NamespaceNotFound if its
// namespace does not exist either.
func (r *Registry) TableNotFound(ctx context.Context, id []string) error {
	if parent := keys.Parent(id); !keys.IsRoot(parent) {
		if _, _, err := r.Namespace(ctx, parent); err != nil {
			return err
		}
	}
	return TableMissing(id)
}

// TableMissing is the error if a table does not exist in its namespace.
func TableMissing(id []string) error {
	return &protocol.Error{Code: protocol.TableNotFound, Message: fmt.Sprintf("table %s does not exist", keys.Display(id))}
}

// TableExists is the error if the name of a new table is taken.
func TableExists(id []string) error {
	return &protocol.Error{
		Code:    protocol.TableAlreadyExists,
		Message: fmt.Sprintf("table %s already exists", keys.Display(id)),
		Detail:  "choose another name, or drop or deregister the existing table first",
	}
}

// NewTable returns the record of a new table at a location that was made for it.
func (r *Registry) NewTable(id []string, at objectstore.Location, hint uint64, properties map[string]string) *stored.Table {
	record := &stored.Table{
		ID: id, UID: objects.NewUID(), Location: r.Places.Place(at), Claim: stored.OwnPlace, Properties: maps.Clone(properties), Created: r.Now().UTC(), Hint: hint,
	}
	if ledger.Wanted(properties) {
		record.Ledger = &ledger.Ledger{}
	}
	return record
}

// NamespaceExists is the error if the name of a new object belongs to a namespace.
func NamespaceExists(id []string) error {
	return &protocol.Error{
		Code:    protocol.NamespaceAlreadyExists,
		Message: fmt.Sprintf("namespace %s already exists", keys.Display(id)),
		Detail:  `choose another name, or mode "ExistOk" to keep the existing namespace`,
	}
}
