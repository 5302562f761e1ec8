package stored

import (
	"encoding/json"
	"slices"

	"tiltyard/shared/auth"
)

// A View is what the record of a view has beside the fields of a table.
type View struct {
	Kind ViewKind `json:"kind"`
	// UID distinguishes the view from all others. It stays when the view gets another name.
	UID string `json:"uid"`
	// Source is the id of the table that the view reads.
	Source []string `json:"source"`
	// Digest is the SHA-256, in hexadecimal, of the definition that By has given. The definition itself
	// may lie where others can change it.
	Digest string `json:"definition_sha256"`
	// By is who defined the view: a refresh reads the source only if By may do so at that time. Nil is not known.
	By *auth.Principal `json:"defined_by,omitempty"`
	// Auto means that the view is refreshed without a request when its source has changed.
	Auto bool `json:"auto_refresh,omitempty"`
	// Plain is the definition of a plain view, and nil for other kinds.
	Plain *PlainView `json:"plain,omitempty"`
}

// A PlainView is the definition of a plain view: all that there is of it.
type PlainView struct {
	Query    string          `json:"query"`
	Database string          `json:"database,omitempty"` // that the client was connected to
	Schema   json.RawMessage `json:"schema"`             // of the view when it was created, in the words of the Lance Namespace protocol
}

// A ViewKind is a kind of views.
type ViewKind string

// These are the kinds of views.
const (
	Materialized ViewKind = "materialized" // a table, whose rows a refresh writes
	Plain        ViewKind = "plain"        // a query without rows of its own
)

// Describe returns the words for a view of the kind.
func (k ViewKind) Describe() string {
	if k == Materialized {
		return "materialized view"
	}
	return "view"
}

// A Dependent is a view that reads a table. It is in the record of that table.
type Dependent struct {
	ID   []string `json:"id"`
	UID  string   `json:"uid"` // of the view: see View
	Kind ViewKind `json:"kind"`
	Auto bool     `json:"auto_refresh,omitempty"` // as in View
}

// Equal reports whether two dependents are the same.
func (d Dependent) Equal(other Dependent) bool {
	return d.UID == other.UID && d.Kind == other.Kind && d.Auto == other.Auto && slices.Equal(d.ID, other.ID)
}

// MaxDependents is how many dependents a record may have.
const MaxDependents = 100
