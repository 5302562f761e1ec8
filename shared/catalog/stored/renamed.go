package stored

import "time"

// An Arrival marks a record that has no effect until the record at its old name has moved here.
type Arrival struct {
	UID   string    `json:"uid"` // UID of the record at the old name
	Until time.Time `json:"until"`
}

// A Departure marks the former record of a renamed table.
type Departure struct {
	To  []string `json:"to"`
	UID string   `json:"uid"` // UID of the record at the new name
}

// MovedTo reports whether a rename has moved the table of r to the other record.
func (r *Table) MovedTo(other *Table) bool {
	return r.Moved != nil && r.Moved.UID == other.UID
}

// Arrived returns a copy of an arriving record in its final form, without the mark.
func (r *Table) Arrived() *Table {
	plain := *r
	plain.Arriving = nil
	return &plain
}
