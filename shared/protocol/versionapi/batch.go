package versionapi

import (
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// MaxBatchEntries bounds what one batch may change.
const MaxBatchEntries = 1000

// BatchEntry is one version that a batch is to make.
type BatchEntry struct {
	ID []string `json:"id"`
	Staged
}

// BatchCreateRequest asks to make versions of tables, all of them or none.
type BatchCreateRequest struct {
	protocol.Common
	Entries []BatchEntry `json:"entries"`
}

// Validate requires entries that each name a table, a version and a manifest.
func (r *BatchCreateRequest) Validate() error {
	if len(r.Entries) == 0 || len(r.Entries) > MaxBatchEntries {
		return protocol.Errorf(protocol.InvalidInput, "entries holds %d entries; 1 to %d are possible", len(r.Entries), MaxBatchEntries)
	}
	for i := range r.Entries {
		entry := &r.Entries[i]
		err := protocol.CheckID(entry.ID)
		if err == nil {
			err = protocol.RequireName(entry.ID)
		}
		if err == nil {
			err = entry.Validate()
		}
		if err != nil {
			return protocol.Errorf(protocol.InvalidInput, "entries[%d]: %w", i, err)
		}
	}
	return nil
}

// BatchCreateResponse describes the versions in the order of the entries.
type BatchCreateResponse struct {
	TransactionID string                 `json:"transaction_id,omitempty"`
	Versions      protocol.List[Version] `json:"versions"`
}

// BatchCommitRequest asks for operations on tables, all of them or none.
type BatchCommitRequest struct {
	protocol.Common
	Operations []CommitOperation `json:"operations"`
}

// CommitOperation is one operation of a batch: exactly one of the fields, with an id of
// its own.
type CommitOperation struct {
	Declare    *tableapi.DeclareRequest    `json:"declare_table"`
	Create     *CreateRequest              `json:"create_table_version"`
	Delete     *BatchDeleteRequest         `json:"delete_table_versions"`
	Deregister *tableapi.DeregisterRequest `json:"deregister_table"`
}

// request returns the only field that is set, or nil if there is not exactly one.
func (o *CommitOperation) request() protocol.Request {
	var found []protocol.Request
	if o.Declare != nil {
		found = append(found, o.Declare)
	}
	if o.Create != nil {
		found = append(found, o.Create)
	}
	if o.Delete != nil {
		found = append(found, o.Delete)
	}
	if o.Deregister != nil {
		found = append(found, o.Deregister)
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// TableID is the id of the table that a valid operation is about.
func (o *CommitOperation) TableID() []string { return o.request().RequestCommon().ID }

// Validate requires operations that are each valid by themselves.
func (r *BatchCommitRequest) Validate() error {
	if len(r.Operations) == 0 || len(r.Operations) > MaxBatchEntries {
		return protocol.Errorf(protocol.InvalidInput, "operations holds %d entries; 1 to %d are possible", len(r.Operations), MaxBatchEntries)
	}
	for i := range r.Operations {
		if err := r.Operations[i].validate(); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "operations[%d]: %w", i, err)
		}
	}
	return nil
}

// validate requires exactly one operation, and checks it.
func (o *CommitOperation) validate() error {
	request := o.request()
	if request == nil {
		return protocol.Errorf(protocol.InvalidInput, "exactly one of declare_table, create_table_version, delete_table_versions and deregister_table is possible")
	}
	common := request.RequestCommon()
	common.Identity, common.Context = protocol.Identity{}, nil // the batch has its own
	if err := protocol.CheckID(common.ID); err != nil {
		return err
	}
	if err := protocol.RequireName(common.ID); err != nil {
		return err
	}
	if o.Declare != nil {
		return protocol.CheckProperties(o.Declare.Properties)
	}
	if v, ok := request.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// BatchCommitResponse has the results of the operations, in their order.
type BatchCommitResponse struct {
	TransactionID string                      `json:"transaction_id,omitempty"`
	Results       protocol.List[CommitResult] `json:"results"`
}

// CommitResult is the answer to one operation, under the same name.
type CommitResult struct {
	Declare    *tableapi.DeclareResponse    `json:"declare_table,omitempty"`
	Create     *CreateResponse              `json:"create_table_version,omitempty"`
	Delete     *BatchDeleteResponse         `json:"delete_table_versions,omitempty"`
	Deregister *tableapi.DeregisterResponse `json:"deregister_table,omitempty"`
}

// Targets are the tables of the entries.
func (r *BatchCreateRequest) Targets() []protocol.Target {
	all := make([]protocol.Target, len(r.Entries))
	for i := range r.Entries {
		all[i] = protocol.Target{Operation: "CreateTableVersion", ID: r.Entries[i].ID}
	}
	return all
}

// Targets are the tables of the operations.
func (r *BatchCommitRequest) Targets() []protocol.Target {
	all := make([]protocol.Target, len(r.Operations))
	for i := range r.Operations {
		all[i] = protocol.Target{Operation: r.Operations[i].name(), ID: r.Operations[i].TableID()}
	}
	return all
}

// name is the operation that a valid operation of a batch is by itself.
func (o *CommitOperation) name() string {
	switch {
	case o.Declare != nil:
		return "DeclareTable"
	case o.Create != nil:
		return "CreateTableVersion"
	case o.Delete != nil:
		return "BatchDeleteTableVersions"
	}
	return "DeregisterTable"
}
