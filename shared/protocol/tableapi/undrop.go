package tableapi

import (
	"slices"

	"tiltyard/shared/protocol"
)

// UndropRequest asks to restore a dropped table or view, under the id that it had or another one.
type UndropRequest struct {
	protocol.Common
	DropID       string `json:"drop_id"`        // empty: the newest drop of the id
	NewTableName string `json:"new_table_name"` // empty: the name that it had
	// NewNamespaceID is the namespace that it goes to. Empty is the one that it was in. The root is the
	// delimiter alone, as in a path.
	NewNamespaceID []string `json:"new_namespace_id"`
}

// Validate requires a drop id, and checks that a table may have the new id.
func (r *UndropRequest) Validate() error {
	if err := protocol.RequireName(r.ID); err != nil {
		return err
	}
	if slices.Contains(r.NewNamespaceID, "") {
		return protocol.Errorf(protocol.InvalidInput, "the new namespace has an empty component; the root is written [%q]", protocol.DefaultDelimiter)
	}
	if err := protocol.CheckID(r.NewID()); err != nil {
		return err
	}
	return protocol.CheckDropID(r.DropID)
}

// NewID is the id that the table is to have. ID must not be empty.
func (r *UndropRequest) NewID() []string {
	last := len(r.ID) - 1
	around, name := r.ID[:last], r.ID[last]
	if len(r.NewNamespaceID) > 0 {
		around = protocol.Resplit(r.NewNamespaceID, protocol.DefaultDelimiter)
	}
	if r.NewTableName != "" {
		name = r.NewTableName
	}
	return append(slices.Clone(around), name)
}

// Targets returns the new id if it differs.
func (r *UndropRequest) Targets() []protocol.Target {
	if to := r.NewID(); !slices.Equal(to, r.ID) {
		return []protocol.Target{{Operation: "CreateTable", ID: to}}
	}
	return nil
}

// UndropResponse names the table that is back.
type UndropResponse struct {
	TransactionID string                `json:"transaction_id,omitempty"`
	ID            protocol.List[string] `json:"id"`
	DropID        string                `json:"drop_id"`
}

// PurgeRequest asks to delete the files of a dropped table, or the definition of a dropped view,
// before its time.
type PurgeRequest struct {
	protocol.Common
	DropID string `json:"drop_id"` // empty: the newest drop of the id
}

// Validate checks the drop.
func (r *PurgeRequest) Validate() error {
	if err := protocol.RequireName(r.ID); err != nil {
		return err
	}
	return protocol.CheckDropID(r.DropID)
}

// PurgeResponse names the drop that cannot be undone any more.
type PurgeResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	DropID        string `json:"drop_id"`
}
