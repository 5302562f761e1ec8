// Package catalog maps the names of namespaces and tables to the locations of their data. It does not read rows.
//
// Each namespace and each table is one small JSON object, its record. A create is one put-if-absent, a change one
// put-if-match, a describe one GET, and a list one LIST in the order of names. There is no lock, no shared index, and no
// object that all writers must change.
//
// A [Catalog] has the methods on tables; its fields are the other parts, which callers use directly. Begin with [Open].
// The parts are the folders below. Each imports only parts further down in this list:
//
//   - sweep deletes unused objects, and checks the rest for faults.
//   - namespaces creates namespaces, and drops them with their content.
//   - views creates and drops views.
//   - drops removes tables and views, and restores and purges dropped ones.
//   - dependents lists the views that read a table.
//   - functions and secrets keep objects with names of their own.
//   - lists lists names.
//   - access checks the right to read files outside of a table.
//   - batch commits operations on several tables together.
//   - naming resolves names, and assigns and removes them. It completes or undoes renames and
//     batches that other processes have left unfinished.
//   - claim creates locations, prevents overlaps of those that clients choose, and deletes the files
//     there.
//   - stored defines the records and their states.
//   - ledger makes the versions of managed tables.
//   - objects reads JSON objects, writes them conditionally, and retries after conflicts.
//   - keys maps ids to keys.
//
// A new kind of object next to tables begins with its record: see package stored.
//
// These packages use some words in a narrow sense:
//
//   - A location is the root, store and prefix of a table's data. A place is the same as text in a record.
//   - A ledger is the list, in a table's record, of versions that the catalog makes.
//   - A batch is a set of operations on several tables that commit together. Record batches of rows
//     do not occur here.
//   - A lease is a period after which other processes may undo unfinished work.
//   - To settle a record is to complete or undo work that another process has left unfinished in it.
//
// These rules keep names consistent without a lock:
//
//   - Exactly one creator wins a name: the put-if-absent of its record decides.
//   - A namespace is dropped in steps that a concurrent creator can see: the record is marked
//     as dropping (put-if-match), then the children are listed, and the record is deleted only
//     if there are none. A creator reads the parent after its own put, and takes the put back
//     if the parent is marked or missing. So either the drop sees the child or the creator sees
//     the drop.
//   - A creator may die before it takes its put back. A sweep removes records whose namespace
//     does not exist (sweep).
//   - A mark has a lease. The next caller that finds an expired mark removes it.
//   - A rename changes two records, one after the other. A caller that finds one of them in
//     between completes the rename or undoes it (naming).
//   - A drop that can be undone is a rename to an id that no request can name (drops).
//   - A version of a managed table is entered in the table's record before it is made (ledger).
//   - The operations of a batch are in the records of its tables, without effect, until the put
//     of a single object decides about all of them (batch).
//   - Locations that the catalog creates contain a random part and are never used twice, so that
//     deleting the data of a dropped table cannot hit a new table of the same name. Locations
//     that clients choose are claimed before they are used (claim).
package catalog

import (
	"time"

	"github.com/maypok86/otter/v2"

	"tiltyard/shared/catalog/access"
	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/secrets"
	"tiltyard/shared/catalog/sweep"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/storage/objectstore"
)

// A Catalog is the catalog of one deployment. It is safe for concurrent use. It caches records, and
// checks a cached record at each use (see Lookup).
type Catalog struct {
	Namespaces *namespaces.Namespaces
	Views      *views.Views
	Secrets    *secrets.Secrets
	Functions  *functions.Functions
	Lists      *lists.Lists
	Drops      *drops.Drops
	Places     *claim.Places
	Access     *access.Checker
	Sweeper    *sweep.Sweeper

	roots   *objectstore.Roots
	store   objects.Store // store of the home root, where the records are
	names   *naming.Registry
	batches *batch.Committer
	lookups *otter.Cache[string, lookedUp] // by key
}

// Open returns the catalog in the home root.
func Open(roots *objectstore.Roots, now func() time.Time) *Catalog {
	c := &Catalog{
		roots: roots, store: objects.Store{Store: roots.Home().Store},
		lookups: otter.Must(&otter.Options[string, lookedUp]{MaximumWeight: maxLookupBytes, Weigher: func(key string, l lookedUp) uint32 { return l.bytes(key) }}),
	}
	c.names = naming.New(roots, now, func(id []string) { c.lookups.Invalidate(keys.Table(id)) })
	c.Places, c.batches = c.names.Places, batch.New(c.names)
	c.Lists = lists.New(c.names)
	c.Secrets, c.Functions = secrets.New(c.names), functions.New(c.names, c.Lists)
	c.Drops = drops.New(c.names, roots)
	c.Views = views.New(c.names, c.Drops)
	c.Namespaces = namespaces.New(c.names, c.Lists, c.Drops, c.Secrets, c.Functions)
	c.Access = access.New(c.names)
	c.Sweeper = sweep.New(c.names, c.Lists, c.Functions, c.Drops, c.Namespaces)
	return c
}

// Watch returns the watch, which ignores all notifications if none was set.
func (c *Catalog) Watch() naming.Watch { return c.names.Watch }

// WatchWith sets the watch, which is notified of changes. It must be called before the catalog is
// used.
func (c *Catalog) WatchWith(w naming.Watch) { c.names.Watch = w }
