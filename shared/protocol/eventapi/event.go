package eventapi

import (
	"strings"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/jobapi"
)

// Operations are the rows of the operations on events.
var Operations = []protocol.Operation{
	{
		Name: "ListEvents", Methods: protocol.ByPost, Path: "/v1/event/list", Group: protocol.GroupEvent, Access: protocol.Read, Origin: protocol.Own,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "Read the events of changes, the oldest first",
		Note: "The cursor of an answer is to be sent back, also when there are no more events yet.",
	},
}

// Type is the type of an event.
type Type string

// The types of events.
const (
	NamespaceCreated  Type = "tiltyard.namespace.created"
	NamespaceDropped  Type = "tiltyard.namespace.dropped"
	NamespaceRestored Type = "tiltyard.namespace.restored"
	TableCreated      Type = "tiltyard.table.created"
	TableRenamed      Type = "tiltyard.table.renamed"
	TableDropped      Type = "tiltyard.table.dropped"
	TableRestored     Type = "tiltyard.table.restored"
	TableCommitted    Type = "tiltyard.table.committed"
	BranchCommitted   Type = "tiltyard.branch.committed"
	JobEnded          Type = "tiltyard.job.ended"
)

// Event is a change of the catalog or of a table, in the JSON form of CloudEvents 1.0.
type Event struct {
	SpecVersion     string    `json:"specversion"` // "1.0"
	ID              string    `json:"id"`          // the same whenever and wherever the event is sent
	Source          string    `json:"source"`      // the deployment, as configured
	Type            Type      `json:"type"`
	Subject         string    `json:"subject"` // the id of the object, joined by "$"
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"` // "application/json"
	Data            Data      `json:"data"`
}

// Data is what an event is about. Each type has some of the fields.
type Data struct {
	ID     []string `json:"id"`            // of the namespace or table; that which a job works on
	UID    string   `json:"uid,omitempty"` // differs from that of earlier and later objects of the id, and stays when the id changes
	FromID []string `json:"from_id,omitempty"`

	Branch        string `json:"branch,omitempty"`    // of the commit, if it is not one to the table itself
	Version       int64  `json:"version,omitempty"`   // of the commit; the last one that was announced of a dropped table
	Operation     string `json:"operation,omitempty"` // of the commit, as the table format names it, such as Append
	TransactionID string `json:"transaction_id,omitempty"`
	Rows          *int64 `json:"rows,omitempty"`         // of the table, or of the branch, after the commit
	RowsAdded     *int64 `json:"rows_added,omitempty"`   // by the commit; an updated row is added and deleted
	RowsDeleted   *int64 `json:"rows_deleted,omitempty"` // by the commit

	JobID   string       `json:"job_id,omitempty"`
	JobType string       `json:"job_type,omitempty"`
	State   jobapi.State `json:"state,omitempty"`   // in which the job ended
	Message string       `json:"message,omitempty"` // why it failed
}

// MinRetention is the shortest time for which events are kept.
const MinRetention = 24 * time.Hour

// Latest is the cursor after the newest event.
const Latest = "latest"

// Bounds of the events in an answer.
const (
	defaultPage = 100
	maxPage     = 1000
	maxTypes    = 20
)

// ListRequest asks for events, the oldest first.
type ListRequest struct {
	protocol.Common
	Cursor string   `json:"cursor"` // of an earlier answer; "" is the oldest event that is kept, "latest" is behind the newest
	Limit  *int64   `json:"limit"`  // nil is 100; at most 1,000
	Types  []string `json:"types"`  // only these, or those that begin with one that ends with "."; empty: all
	Within []string `json:"within"` // only those of the namespace or table of this id, and of all inside; empty: all
}

// Validate bounds the request.
func (r *ListRequest) Validate() error {
	if r.Limit != nil && *r.Limit < 1 {
		return protocol.Errorf(protocol.InvalidInput, "limit is %d; it is the greatest number of events, from 1 to %d", *r.Limit, maxPage)
	}
	if len(r.Types) > maxTypes {
		return protocol.Errorf(protocol.InvalidInput, "types has %d entries; at most %d are allowed", len(r.Types), maxTypes)
	}
	for _, t := range r.Types {
		if !strings.HasPrefix(t, "tiltyard.") {
			return protocol.Errorf(protocol.InvalidInput, "types: one is no type of events, which begin with tiltyard., such as %s or tiltyard.table.", TableCommitted)
		}
	}
	return nil
}

// Most returns the greatest number of events in the answer.
func (r *ListRequest) Most() int {
	if r.Limit == nil {
		return defaultPage
	}
	return int(min(*r.Limit, maxPage))
}

// Wants reports whether an event passes the filters of the request.
func (r *ListRequest) Wants(e *Event) bool {
	if !isWithin(e.Data.ID, r.Within) && (e.Data.FromID == nil || !isWithin(e.Data.FromID, r.Within)) {
		return false
	}
	for _, t := range r.Types {
		if string(e.Type) == t || strings.HasSuffix(t, ".") && strings.HasPrefix(string(e.Type), t) {
			return true
		}
	}
	return len(r.Types) == 0
}

// isWithin reports whether an id is another one or begins with it.
func isWithin(id, other []string) bool {
	if len(id) < len(other) {
		return false
	}
	for i, name := range other {
		if id[i] != name {
			return false
		}
	}
	return true
}

// ListResponse holds some events.
type ListResponse struct {
	Events protocol.List[Event] `json:"events"`
	Cursor string               `json:"cursor"` // after these events; it never skips an event
	More   bool                 `json:"more"`   // false: there was nothing more, so ask again later
}
