// Package ledger makes the versions of managed tables.
//
// The storage decides the versions of most tables: the writer that puts the next manifest at its
// name, if absent, has made the next version, and the catalog is not asked. Other tables are
// managed: they have a ledger in their record, which lists the versions that may be made next. All
// writers of a managed table go through the catalog, and one batch can make versions of several
// such tables (package batch). A table is managed from the start if it, or the namespace that it is
// made in, has the property [ManagedProperty]; any other table becomes managed with the first batch
// that makes a version of it.
//
// A version of a managed table takes three writes:
//
//	1  put a copy of the manifest under a random name
//	2  enter the version and its copy in the ledger (put-if-match of the table's record)
//	3  put the manifest at its usual name (put-if-absent)
//
// The third write is the commit point, as for other tables. A manifest is put there only if the
// ledger lists it, so the second write decides which writer comes next. A writer that finds an
// entry without its version does the third write for that entry before its own. So the version of
// an entry whose writer died is made by the next writer, before any reader can have missed it.
// Readers look at the usual names only.
//
// A writer that puts manifests itself, without the catalog, does not lose its version to an entry
// of a single version: its manifest stays, and the entry is void.
package ledger

import (
	"slices"
	"strings"
)

// A Ledger lists versions of a table, in the record of the table.
type Ledger struct {
	Next    []Entry `json:"next,omitempty"`    // ascending; may have been made since
	Made    []Entry `json:"made,omitempty"`    // earlier versions; the last few, to recognize repeated requests
	Batches int     `json:"batches,omitempty"` // counts batches that made versions
}

// An Entry is a version that the ledger assigned to a writer. Its manifest may not exist yet.
type Entry struct {
	Version uint64 `json:"version"`
	Name    string `json:"name"`           // file name below _versions
	Source  string `json:"source"`         // Source of its Manifest
	Copy    string `json:"copy,omitempty"` // key in the home root; deleted after the version is made
}

// ManagedProperty is the property of tables and namespaces that requests a ledger.
const ManagedProperty = "managed_versioning"

const (
	// CopiesPrefix is the prefix of the keys of copies of manifests.
	CopiesPrefix  = "_manifests/"
	maxRemembered = 16 // how many made versions a ledger keeps
)

// Wanted reports whether the properties of a table or a namespace request a ledger.
func Wanted(properties map[string]string) bool {
	return strings.EqualFold(properties[ManagedProperty], "true")
}

// Has reports whether the ledger lists a version of the same number and source as the manifest.
func (l *Ledger) Has(m Manifest) bool {
	same := func(e Entry) bool { return e.Version == m.Version && e.Source == m.Source }
	return slices.ContainsFunc(l.Made, same) || slices.ContainsFunc(l.Next, same)
}

// With returns a ledger with new next versions. The former next versions count as made.
func (l *Ledger) With(next ...Entry) *Ledger {
	made := slices.Concat(l.Made, l.Next)
	for i := range made {
		made[i].Copy = ""
	}
	return &Ledger{Next: next, Made: made[max(0, len(made)-maxRemembered):], Batches: l.Batches}
}
