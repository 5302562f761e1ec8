package versionapi

import "tiltyard/shared/protocol"

const (
	// DefaultComparedRows is the default limit of CompareTableVersions for each list of rows.
	DefaultComparedRows = 1000
	// MaxComparedRows is the maximum limit.
	MaxComparedRows = 20_000
)

// CompareRequest asks which rows differ between two versions of a table, of which either
// may be the older one.
type CompareRequest struct {
	protocol.Common
	FromVersion *int64 `json:"from_version"`
	ToVersion   *int64 `json:"to_version"` // nil: the latest
	Branch      string `json:"branch"`
	Limit       *int64 `json:"limit"` // of the row ids that each list has; 1000 if absent, and at most 20,000
}

// Validate requires a version.
func (r *CompareRequest) Validate() error {
	if r.FromVersion == nil {
		return protocol.Errorf(protocol.InvalidInput, "from_version is required")
	}
	if n := r.Limit; n != nil && (*n < 0 || *n > MaxComparedRows) {
		return protocol.Errorf(protocol.InvalidInput, "limit is %d; 0 to %d are possible", *n, MaxComparedRows)
	}
	if err := protocol.NotNegative("from_version", r.FromVersion); err != nil {
		return err
	}
	return protocol.NotNegative("to_version", r.ToVersion)
}

// Rows returns the maximum number of rows in each list.
func (r *CompareRequest) Rows() int {
	if r.Limit == nil {
		return DefaultComparedRows
	}
	return int(*r.Limit)
}

// CompareResponse has the rows that differ in the columns that both versions have.
type CompareResponse struct {
	FromVersion int64 `json:"from_version"`
	ToVersion   int64 `json:"to_version"`
	// StableRowIDs says that rows are known by ids that stay. Otherwise they are known by where they lie,
	// and a row that an update or a compaction has moved is removed there and added here.
	StableRowIDs bool         `json:"stable_row_ids"`
	Removed      ComparedRows `json:"removed"` // in the first version only
	Added        ComparedRows `json:"added"`   // in the second version only
	// Changed rows are in both. No row with another value is missing. Some may have been written again
	// with the values that they had.
	Changed ComparedRows `json:"changed"`
}

// ComparedRows are rows by the values of _rowid, in ascending order.
type ComparedRows struct {
	Count  int64                 `json:"count"`   // of all
	RowIDs protocol.List[uint64] `json:"row_ids"` // the first ones
}
