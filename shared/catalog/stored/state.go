package stored

import (
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/storage/objectstore"
)

// A State is the meaning of a table's record for its name.
type State int

// These are the states of records. In all but the first, other objects decide whether the name
// stands for the table.
const (
	Standing  State = iota // the name stands for the table
	Arriving               // a rename to the name is unfinished
	Moved                  // the table has another name
	Making                 // a batch makes the table
	Departing              // a batch removes the table, and may make another
)

// State returns the meaning of the record for its name.
func (r *Table) State() State {
	switch {
	case r.Moved != nil:
		return Moved
	case r.Arriving != nil:
		return Arriving
	case r.Pending != nil && r.Pending.New:
		return Making
	case r.Pending != nil && r.Pending.Gone:
		return Departing
	}
	return Standing
}

// Marked makes a LIST show the records that must be read before they count as a table: see package
// objects.
func (r *Table) Marked() bool { return r.State() != Standing || r.View != nil }

// InDoubt reports whether a listed object is the record of a view, or of a table in an unfinished
// rename or batch.
func InDoubt(object objectstore.Info) bool {
	return keys.Tables.Has(object.Key) && objects.Marked(object)
}
