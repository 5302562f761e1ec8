package stored

import "time"

// A Drop is what the record of a dropped table or namespace has beside the fields that it had before.
type Drop struct {
	ID    []string  `json:"id"`           // that it had
	By    string    `json:"by,omitempty"` // the principal that dropped it; empty when it is not known
	At    time.Time `json:"at"`
	Until time.Time `json:"until"` // it can be restored at least until then
	// With is the UID of the namespace with which it was dropped: of itself, or of one around it;
	// empty for a table that was dropped by itself.
	With string `json:"with,omitempty"`
	// Purging means that its files are being deleted, so that it cannot be restored any more.
	Purging bool `json:"purging,omitempty"`
	// To is the id that a namespace gets when it is restored. It is set before the namespace exists
	// there.
	To []string `json:"to,omitempty"`
}
