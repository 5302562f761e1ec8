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

// BatchCreateTableVersionsResponse tells about the versions in the order of the entries.
type BatchCreateTableVersionsResponse struct {
	TransactionID string             `json:"transaction_id,omitempty"`
	Versions      List[TableVersion] `json:"versions"`
}
