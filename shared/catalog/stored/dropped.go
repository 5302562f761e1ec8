package stored

import "time"

// A Drop is the field that a drop adds to the record of a table or namespace.
type Drop struct {
	ID    []string  `json:"id"`           // the former id
	By    string    `json:"by,omitempty"` // the principal that dropped it; empty if unknown
	At    time.Time `json:"at"`
	Until time.Time `json:"until"` // it can be restored at least until then
	// With is the UID of the dropped namespace that the drop was part of: the namespace itself, or one
	// around it. It is empty for a table that was dropped by itself.
	With string `json:"with,omitempty"`
	// Purging means that the files are being deleted, so that the table can no longer be restored.
	Purging bool `json:"purging,omitempty"`
	// To is the id of a namespace's restoration. It is set before the namespace exists there.
	To []string `json:"to,omitempty"`
}
