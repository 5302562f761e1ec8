// Package naming resolves names to tables and namespaces, and assigns and removes names.
//
// A name may be in the middle of a change by another process: a rename takes four writes
// (rename.go), and a batch makes and removes several tables together (finish.go). A caller that
// finds such a record settles it, that is, it completes the change or undoes it (settle.go). A new
// name is put into a namespace that exists after the put (parent.go).
package naming

import (
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// A Registry resolves, assigns and removes names. It is safe for concurrent use.
type Registry struct {
	Store  objects.Store // store of the home root, which holds the records
	roots  *objectstore.Roots
	Now    func() time.Time
	Places *claim.Places
	Writer *ledger.Writer
	Watch  Watch // must not be changed once the registry is used

	parents *otter.Cache[string, bool] // by key, the namespaces that this process has seen, and whether their tables are managed
	changed func(id []string)          // is called with the id of each table whose record has changed
}

// New returns the registry of the names under the home root. It calls changed with the id
// of each table whose record it has changed.
func New(roots *objectstore.Roots, now func() time.Time, changed func(id []string)) *Registry {
	store := objects.Store{Store: roots.Home().Store}
	r := &Registry{Store: store, roots: roots, Now: now, Writer: &ledger.Writer{Home: store}, Watch: noWatch{}, changed: changed}
	r.parents = otter.Must(&otter.Options[string, bool]{MaximumSize: maxParents})
	r.Places = claim.New(roots, func() time.Time { return r.Now() }, r)
	return r
}

// Forget removes a changed record from the caches of callers.
func (r *Registry) Forget(id []string) { r.changed(id) }

// Locate returns the location of a table.
func (r *Registry) Locate(record *stored.Table) (objectstore.Location, error) {
	at, err := r.roots.Resolve(record.Location)
	if err != nil {
		return at, &protocol.Error{
			Code: protocol.InvalidTableState, Damaged: true,
			Message: fmt.Sprintf("table %s lies outside of the places that this server may read; --allow-location allows more", keys.Display(record.ID)),
			Detail:  fmt.Sprintf("its files are at %s, and the operator of the server sets --allow-location (TILTYARD_ALLOW_LOCATION)", record.Location),
			Err:     fmt.Errorf("location of table %s: %w", keys.Display(record.ID), err),
		}
	}
	return at, nil
}
