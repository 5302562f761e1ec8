package stored

import (
	"time"

	"tiltyard/shared/catalog/ledger"
)

// Pending is the part of a batch that concerns one table. It takes effect once the batch has
// committed. Until then it only makes other writers wait.
//
// A batch that makes a table puts a record marked New, and one that removes a table marks its
// record as Gone. Like the records of unfinished renames these are marked for lists
// ([Table.Marked]).
type Pending struct {
	Batch string         `json:"batch"`
	Until time.Time      `json:"until"`            // from then on, other processes may abort an undecided batch
	New   bool           `json:"new,omitempty"`    // before the commit the name stands for no table
	Gone  bool           `json:"gone,omitempty"`   // after the commit the name stands for no table, or for Then
	Then  *Table         `json:"then,omitempty"`   // the table of the name after the commit
	Next  []ledger.Entry `json:"next,omitempty"`   // versions to make of that table
	Old   []OldVersion   `json:"delete,omitempty"` // versions to delete, newest first
}

// An OldVersion is a version to delete, if its manifest is still the same object.
type OldVersion struct {
	Name string `json:"name"` // file name below _versions
	ETag string `json:"e_tag"`
	// Recent versions are deleted one after the other, the oldest first: see [manifest.Recent].
	Recent bool `json:"recent,omitempty"`
}

// Aborted returns the record after its batch was aborted, nil for none.
func (r *Table) Aborted() *Table {
	if r.Pending.New {
		return nil
	}
	return r.turned()
}

// turned returns the record as it was before the batch, with its turn increased. A conditional
// write for the earlier record that is still under way then fails.
func (r *Table) turned() *Table {
	before := *r
	before.Pending = nil
	before.Turn++
	return &before
}

// Committed returns the record after its batch was committed, nil for none.
func (r *Table) Committed() *Table {
	p := r.Pending
	after := *r.turned()
	if p.Gone {
		if p.Then == nil {
			return nil
		}
		after = *p.Then
		after.Pending = nil
	}
	if len(p.Next) > 0 {
		before := after.Ledger
		if before == nil {
			before = &ledger.Ledger{}
		}
		after.Ledger = before.With(p.Next...)
		after.Ledger.Batches++
	}
	return &after
}
