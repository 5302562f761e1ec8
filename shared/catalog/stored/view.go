package stored

import (
	"encoding/json"
	"slices"

	"tiltyard/shared/protocol/auth"
)

// A View is the field that the record of a view has in addition to those of a table.
type View struct {
	Kind ViewKind `json:"kind"`
	// UID identifies the view. It stays when the view is renamed.
	UID string `json:"uid"`
	// Source is the id of the table that the view reads.
	Source []string `json:"source"`
	// Digest is the SHA-256, in hexadecimal, of the definition by By. The definition itself may be in
	// the table's metadata, where other writers can change it.
	Digest string `json:"definition_sha256"`
	// By is the principal that defined the view. A refresh reads the source only if By may read it then. It is nil if unknown.
	By *auth.Principal `json:"defined_by,omitempty"`
	// Auto means that the view is refreshed without a request when its source has changed.
	Auto bool `json:"auto_refresh,omitempty"`
	// AutoSeconds is the least time between two such refreshes; 0 for that of the deployment.
	AutoSeconds float64 `json:"auto_refresh_interval_seconds,omitempty"`
	// Plain is the definition of a plain view, and nil for other kinds.
	Plain *PlainView `json:"plain,omitempty"`
}

// A PlainView is the complete definition of a plain view.
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

// Describe returns the kind in words, for messages.
func (k ViewKind) Describe() string {
	if k == Materialized {
		return "materialized view"
	}
	return "view"
}

// A Dependent is an entry for a view in the record of the table that it reads.
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
