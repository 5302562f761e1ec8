// Package stored defines the records of the catalog, the JSON objects behind the names.
//
// A record has the fields common to all tables, and the fields of the protocols that it takes part
// in: claims (package claim), ledgers (package ledger), renames and batches (package naming). Its
// [State] follows from these fields. Earlier and later releases write records too, so a field keeps
// its name and meaning, and a new one is omitted while it has its zero value. A release refuses a
// record with a field unknown to it: see package format.
//
// A kind of object that competes with tables for names, such as a view, is a [Table] with one more
// field. If lists must distinguish it from a plain table, then [Table.Marked] must be true for it.
// A kind with names of its own has a record type of its own here and a kind of key in package keys.
package stored

import (
	"cmp"
	"time"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/protocol/auth"
)

// Table is the stored form of a table.
type Table struct {
	ID  []string `json:"id"`
	UID string   `json:"uid"` // distinguishes it from earlier and later tables of the name
	// Lineage is the UID that the table had before its first rename or drop; "" before that.
	Lineage string `json:"lineage,omitempty"`
	// Location is a path relative to the home root, so that a root can be moved as a whole, or the
	// URI of a location outside of it.
	Location string `json:"location"`
	// Claim is the claim on the location, or OwnPlace; "" in records that are older than claims.
	// See package claim.
	Claim      string            `json:"claim,omitempty"`
	Reads      []string          `json:"reads,omitempty"` // as in catalog.Table
	Properties map[string]string `json:"properties,omitempty"`
	Created    time.Time         `json:"created_at"`
	Hint       uint64            `json:"version_hint,omitempty"`
	// Turn counts renames that were undone and batches that have ended. It makes the record differ
	// from its earlier state when nothing else does.
	Turn int `json:"turn,omitempty"`
	// These fields belong to renames: see package naming.
	RenamedFrom []string   `json:"renamed_from,omitempty"`
	Arriving    *Arrival   `json:"arriving,omitempty"`
	Moved       *Departure `json:"moved,omitempty"`

	View       *View       `json:"view,omitempty"`       // nil for a table that is not a view
	Dependents []Dependent `json:"dependents,omitempty"` // the views that read the table
	Fills      []string    `json:"fills,omitempty"`      // as in catalog.Table
	Uses       []Use       `json:"uses,omitempty"`       // of functions, by columns

	// Dropped is nil in the record of a table that has a name. See package drops.
	Dropped *Drop `json:"dropped,omitempty"`

	Ledger  *ledger.Ledger `json:"ledger,omitempty"`  // of versions that the catalog makes: see package ledger
	Pending *Pending       `json:"pending,omitempty"` // operations of an unfinished batch: see pending.go
	// MadeBy is the request of the batch that made the record. A repeated request recognizes its
	// table by it.
	MadeBy    string `json:"made_by,omitempty"`
	Annotated bool   `json:"annotated,omitempty"`
	// Unanswered is the time until which writers that got no answer may repeat their requests: see
	// [catalog.Lookup.Unanswered].
	Unanswered time.Time `json:"unanswered_until,omitzero"`
}

// A Use is the use of a function by columns of a table. The definition of the columns is in the metadata of the table,
// which more principals may write.
type Use struct {
	What string          `json:"what"` // identifies the use and its function: see package backfill
	By   *auth.Principal `json:"by"`   // the principal that declared the columns: the function runs only while By may use it
}

// Found is the result of resolving a name. The zero value means that there is no table.
type Found struct {
	Record *Table // nil when there is no table
	ETag   string // of the record
	Soon   bool   // no table yet, but an unfinished rename or batch may make one
}

// OwnPlace as the claim of a record means that no claim is needed: the catalog made the place for
// the table, and no second name was registered there.
const OwnPlace = "own"

// Identity returns the UID.
func (r *Table) Identity() string { return r.UID }

// Line returns an id of the table that stays the same over renames and restorations.
func (r *Table) Line() string { return cmp.Or(r.Lineage, r.UID) }

// HasClaim reports whether the record holds a claim on its place.
func (r *Table) HasClaim() bool { return r.Claim != "" && r.Claim != OwnPlace }

// Managed reports whether the record has a ledger, or gets one if its batch commits.
func (r *Table) Managed() bool {
	return r.Ledger != nil || r.Pending != nil && len(r.Pending.Next) > 0
}

// Continues reports whether work that began on an earlier state of a record may continue on this
// one: it is the same table, its versions are made and annotated in the same way, and no batch has
// made a version in between.
func (r *Table) Continues(before *Table) bool {
	batches := func(r *Table) int {
		if r.Ledger == nil {
			return 0
		}
		return r.Ledger.Batches
	}
	return r.UID == before.UID && r.Managed() == before.Managed() && batches(r) == batches(before) && r.Annotated == before.Annotated
}
