package namespaceapi

import (
	"regexp"
	"slices"

	"tiltyard/shared/protocol"
)

// ListDroppedRequest asks for the tables, views and namespaces that were dropped inside a namespace, at
// any depth, and can be restored. The namespace itself may be among them.
type ListDroppedRequest struct {
	protocol.Common
	protocol.Page
	// Sizes asks for the sizes of tables. For that the storage lists all of their files.
	Sizes bool `json:"sizes" query:"sizes"`
}

// Validate checks where the page begins.
func (r *ListDroppedRequest) Validate() error {
	if r.PageToken != "" && !dropTokens.MatchString(r.PageToken) {
		return protocol.Errorf(protocol.InvalidInput, "page_token is not one that a page has ended with")
	}
	return nil
}

// dropTokens are the tokens of pages.
var dropTokens = regexp.MustCompile(`^[nt]/[0-9a-z]{1,64}$`)

// ListDroppedResponse has them by the times until which they can be restored, behind the namespaces.
type ListDroppedResponse struct {
	Dropped   protocol.List[DroppedObject] `json:"dropped"`
	PageToken string                       `json:"page_token,omitempty"` // where the next page begins; no name
}

// DroppedObject is something that was dropped and can be restored.
type DroppedObject struct {
	DropID                string                `json:"drop_id"` // distinguishes several drops of an id
	Kind                  DroppedKind           `json:"kind"`
	ID                    protocol.List[string] `json:"id"` // that it had
	DroppedBy             string                `json:"dropped_by,omitempty"`
	DroppedAtMillis       int64                 `json:"dropped_at_millis"`
	RestorableUntilMillis int64                 `json:"restorable_until_millis"`
	Location              string                `json:"location,omitempty"` // of the files of a table
	Bytes                 *int64                `json:"bytes,omitempty"`    // of all files in the folder of a table, if the request asks for sizes
	// WithDropID is the drop of the namespace with which it was dropped, and is restored.
	WithDropID string `json:"with_drop_id,omitempty"`
}

// DroppedKind is a kind of dropped objects.
type DroppedKind string

// The kinds of dropped objects.
const (
	DroppedTable     DroppedKind = "table"
	DroppedView      DroppedKind = "view" // materialized or not
	DroppedNamespace DroppedKind = "namespace"
)

// UndropRequest asks to restore a dropped namespace, with all that was dropped with it.
type UndropRequest struct {
	protocol.Common
	DropID string   `json:"drop_id"` // empty: the newest drop of the id
	NewID  []string `json:"new_id"`  // empty: the id that it had
}

// Validate checks the drop and the new id.
func (r *UndropRequest) Validate() error {
	if err := protocol.RequireName(r.ID); err != nil {
		return err
	}
	if err := protocol.CheckID(r.NewID); err != nil {
		return err
	}
	return protocol.CheckDropID(r.DropID)
}

// Targets returns the new id if it differs.
func (r *UndropRequest) Targets() []protocol.Target {
	if len(r.NewID) == 0 || slices.Equal(r.NewID, r.ID) {
		return nil
	}
	return []protocol.Target{{Operation: "CreateNamespace", ID: r.NewID}}
}

// UndropResponse counts what is back.
type UndropResponse struct {
	ID protocol.List[string] `json:"id"`
	// Restored counts the namespace, and the namespaces, tables and views that are back with it.
	Restored int64 `json:"restored"`
}
