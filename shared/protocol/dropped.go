package protocol

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PropertyDropRetention is the property of a table or a namespace for how long it can be restored after
// a drop, as [ParseDropRetention] reads it. A table or namespace that lacks the property inherits it from
// the nearest namespace around it, or else from the deployment.
const PropertyDropRetention = "drop.retention"

// maxDropRetention is the longest time for which dropped tables are kept.
const maxDropRetention = 100 * 365 * 24 * time.Hour

// ParseDropRetention reads how long dropped tables are kept: 0, or a number followed by d, h, m or s.
func ParseDropRetention(text string) (time.Duration, error) {
	var d time.Duration
	var err error
	if number, days := strings.CutSuffix(text, "d"); days {
		var n uint64
		n, err = strconv.ParseUint(number, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d < 0 || d > maxDropRetention {
		return 0, fmt.Errorf("%.40q is not a duration from 0 to 36500d, such as 7d or 36h", text)
	}
	return d, nil
}

// ListDroppedRequest asks for the tables, views and namespaces that were dropped inside a namespace, at
// any depth, and can be restored. The namespace itself may be among them.
type ListDroppedRequest struct {
	Common
	Page
	// Sizes asks for the sizes of tables. For that the storage lists all of their files.
	Sizes bool `json:"sizes" query:"sizes"`
}

// Validate checks where the page begins.
func (r *ListDroppedRequest) Validate() error {
	if r.PageToken != "" && !dropTokens.MatchString(r.PageToken) {
		return Errorf(InvalidInput, "page_token is not one that a page has ended with")
	}
	return nil
}

// dropTokens are the tokens of pages.
var dropTokens = regexp.MustCompile(`^[nt]/[0-9a-z]{1,64}$`)

// ListDroppedResponse has them by the times until which they can be restored, behind the namespaces.
type ListDroppedResponse struct {
	Dropped   List[DroppedObject] `json:"dropped"`
	PageToken string              `json:"page_token,omitempty"` // where the next page begins; no name
}

// DroppedObject is something that was dropped and can be restored.
type DroppedObject struct {
	DropID                string       `json:"drop_id"` // distinguishes several drops of an id
	Kind                  DroppedKind  `json:"kind"`
	ID                    List[string] `json:"id"` // that it had
	DroppedBy             string       `json:"dropped_by,omitempty"`
	DroppedAtMillis       int64        `json:"dropped_at_millis"`
	RestorableUntilMillis int64        `json:"restorable_until_millis"`
	Location              string       `json:"location,omitempty"` // of the files of a table
	Bytes                 *int64       `json:"bytes,omitempty"`    // of all files in the folder of a table, if the request asks for sizes
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

// UndropTableRequest asks to restore a dropped table or view, under the id that it had or another one.
type UndropTableRequest struct {
	Common
	DropID       string `json:"drop_id"`        // empty: the newest drop of the id
	NewTableName string `json:"new_table_name"` // empty: the name that it had
	// NewNamespaceID is the namespace that it goes to. Empty is the one that it was in. The root is the
	// delimiter alone, as in a path.
	NewNamespaceID []string `json:"new_namespace_id"`
}

// Validate checks the drop, and that the id is one that a table may have.
func (r *UndropTableRequest) Validate() error {
	if err := RequireName(r.ID); err != nil {
		return err
	}
	if slices.Contains(r.NewNamespaceID, "") {
		return Errorf(InvalidInput, "the new namespace has an empty component; the root is written [%q]", DefaultDelimiter)
	}
	if err := CheckID(r.NewID()); err != nil {
		return err
	}
	return checkDropID(r.DropID)
}

// NewID is the id that the table is to have. ID must not be empty.
func (r *UndropTableRequest) NewID() []string {
	last := len(r.ID) - 1
	around, name := r.ID[:last], r.ID[last]
	if len(r.NewNamespaceID) > 0 {
		around = resplit(r.NewNamespaceID, DefaultDelimiter)
	}
	if r.NewTableName != "" {
		name = r.NewTableName
	}
	return append(slices.Clone(around), name)
}

// Targets are the new name, if it is another one.
func (r *UndropTableRequest) Targets() []Target {
	if to := r.NewID(); !slices.Equal(to, r.ID) {
		return []Target{{Operation: "CreateTable", ID: to}}
	}
	return nil
}

// UndropTableResponse names the table that is back.
type UndropTableResponse struct {
	TransactionID string       `json:"transaction_id,omitempty"`
	ID            List[string] `json:"id"`
	DropID        string       `json:"drop_id"`
}

// PurgeTableRequest asks to delete the files of a dropped table, or the definition of a dropped view,
// before its time.
type PurgeTableRequest struct {
	Common
	DropID string `json:"drop_id"` // empty: the newest drop of the id
}

// Validate checks the drop.
func (r *PurgeTableRequest) Validate() error {
	if err := RequireName(r.ID); err != nil {
		return err
	}
	return checkDropID(r.DropID)
}

// PurgeTableResponse names the drop that cannot be undone any more.
type PurgeTableResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	DropID        string `json:"drop_id"`
}

// UndropNamespaceRequest asks to restore a dropped namespace, with all that was dropped with it.
type UndropNamespaceRequest struct {
	Common
	DropID string   `json:"drop_id"` // empty: the newest drop of the id
	NewID  []string `json:"new_id"`  // empty: the id that it had
}

// Validate checks the drop and the new id.
func (r *UndropNamespaceRequest) Validate() error {
	if err := RequireName(r.ID); err != nil {
		return err
	}
	if err := CheckID(r.NewID); err != nil {
		return err
	}
	return checkDropID(r.DropID)
}

// Targets are the new id, if it is another one.
func (r *UndropNamespaceRequest) Targets() []Target {
	if len(r.NewID) == 0 || slices.Equal(r.NewID, r.ID) {
		return nil
	}
	return []Target{{Operation: "CreateNamespace", ID: r.NewID}}
}

// UndropNamespaceResponse counts what is back.
type UndropNamespaceResponse struct {
	ID List[string] `json:"id"`
	// Restored counts the namespace, and the namespaces, tables and views that are back with it.
	Restored int64 `json:"restored"`
}

// dropIDs are the ids of drops.
var dropIDs = regexp.MustCompile(`^[0-9a-z]{0,64}$`)

// checkDropID refuses a text that is not the id of a drop. An empty one stands for the newest drop.
func checkDropID(id string) error {
	if !dropIDs.MatchString(id) {
		return Errorf(InvalidInput, "drop_id is not the id of a drop; the list of what is dropped has the ids")
	}
	return nil
}
