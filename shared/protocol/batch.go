package protocol

// MaxBatchEntries bounds what one batch may change.
const MaxBatchEntries = 1000

// BatchVersionEntry is one version that a batch is to make.
type BatchVersionEntry struct {
	ID []string `json:"id"`
	StagedVersion
}

// BatchCreateTableVersionsRequest asks to make versions of tables, all of them or none.
type BatchCreateTableVersionsRequest struct {
	Common
	Entries []BatchVersionEntry `json:"entries"`
}

// Validate requires entries that each name a table, a version and a manifest.
func (r *BatchCreateTableVersionsRequest) Validate() error {
	if len(r.Entries) == 0 || len(r.Entries) > MaxBatchEntries {
		return Errorf(InvalidInput, "entries holds %d entries; 1 to %d are possible", len(r.Entries), MaxBatchEntries)
	}
	for i := range r.Entries {
		entry := &r.Entries[i]
		err := CheckID(entry.ID)
		if err == nil {
			err = RequireName(entry.ID)
		}
		if err == nil {
			err = entry.Validate()
		}
		if err != nil {
			return Errorf(InvalidInput, "entries[%d]: %w", i, err)
		}
	}
	return nil
}

// BatchCreateTableVersionsResponse describes the versions in the order of the entries.
type BatchCreateTableVersionsResponse struct {
	TransactionID string             `json:"transaction_id,omitempty"`
	Versions      List[TableVersion] `json:"versions"`
}

// BatchCommitTablesRequest asks for operations on tables, all of them or none.
type BatchCommitTablesRequest struct {
	Common
	Operations []CommitTableOperation `json:"operations"`
}

// CommitTableOperation is one operation of a batch: exactly one of the fields, with an id of
// its own.
type CommitTableOperation struct {
	Declare    *DeclareTableRequest             `json:"declare_table"`
	Create     *CreateTableVersionRequest       `json:"create_table_version"`
	Delete     *BatchDeleteTableVersionsRequest `json:"delete_table_versions"`
	Deregister *DeregisterTableRequest          `json:"deregister_table"`
}

// request returns the field that is there, nil when there is none or several.
func (o *CommitTableOperation) request() Request {
	var found []Request
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
func (o *CommitTableOperation) TableID() []string { return o.request().RequestCommon().ID }

// Validate requires operations that are each valid by themselves.
func (r *BatchCommitTablesRequest) Validate() error {
	if len(r.Operations) == 0 || len(r.Operations) > MaxBatchEntries {
		return Errorf(InvalidInput, "operations holds %d entries; 1 to %d are possible", len(r.Operations), MaxBatchEntries)
	}
	for i := range r.Operations {
		if err := r.Operations[i].validate(); err != nil {
			return Errorf(InvalidInput, "operations[%d]: %w", i, err)
		}
	}
	return nil
}

func (o *CommitTableOperation) validate() error {
	request := o.request()
	if request == nil {
		return Errorf(InvalidInput, "exactly one of declare_table, create_table_version, delete_table_versions and deregister_table is possible")
	}
	common := request.RequestCommon()
	common.Identity, common.Context = Identity{}, nil // the batch has its own
	if err := CheckID(common.ID); err != nil {
		return err
	}
	if err := RequireName(common.ID); err != nil {
		return err
	}
	if o.Declare != nil {
		return CheckProperties(o.Declare.Properties)
	}
	if v, ok := request.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// BatchCommitTablesResponse has the results of the operations, in their order.
type BatchCommitTablesResponse struct {
	TransactionID string                  `json:"transaction_id,omitempty"`
	Results       List[CommitTableResult] `json:"results"`
}

// CommitTableResult is the answer to one operation, under the same name.
type CommitTableResult struct {
	Declare    *DeclareTableResponse             `json:"declare_table,omitempty"`
	Create     *CreateTableVersionResponse       `json:"create_table_version,omitempty"`
	Delete     *BatchDeleteTableVersionsResponse `json:"delete_table_versions,omitempty"`
	Deregister *DeregisterTableResponse          `json:"deregister_table,omitempty"`
}
