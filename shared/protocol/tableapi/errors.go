package tableapi

import "tiltyard/shared/protocol"

// ErrorOperations are the rows of the operations on the failures of functions in a table.
var ErrorOperations = []protocol.Operation{
	{
		Name: "ListTableErrors", Methods: protocol.ByPost, Path: "/v1/table/{id}/errors", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ListErrorsRequest), Response: new(ListErrorsResponse), Summary: "List the rows that functions failed for",
		Note: "Those of the newest job come first.",
	},
}

// Bounds of the records in an answer.
const (
	defaultErrors = 10_000
	maxErrors     = 100_000
)

// ListErrorsRequest asks for the rows of a table that functions failed for.
type ListErrorsRequest struct {
	protocol.Common
	JobID  string `json:"job_id"` // "" is all jobs
	Column string `json:"column"` // "" is all columns
	Limit  *int64 `json:"limit"`  // nil is 10,000; at most 100,000
	Branch string `json:"branch" query:"branch"`
}

// Validate refuses a negative limit.
func (r *ListErrorsRequest) Validate() error { return protocol.NotNegative("limit", r.Limit) }

// Most returns the greatest number of records in the answer.
func (r *ListErrorsRequest) Most() int {
	if r.Limit == nil {
		return defaultErrors
	}
	return int(min(*r.Limit, maxErrors))
}

// ListErrorsResponse holds rows that functions failed for, those of the newest job first.
type ListErrorsResponse struct {
	Records   protocol.List[RowError]      `json:"records"`
	Fragments protocol.List[ErrorFragment] `json:"fragments"` // those with more rows than are recorded
	Truncated bool                         `json:"truncated"` // there are records beyond the limit
}

// RowError is the failure of a function for one row.
type RowError struct {
	JobID           string `json:"job_id"`
	FragmentID      uint64 `json:"fragment_id"`
	RowOffset       uint32 `json:"row_offset"` // in the fragment
	Column          string `json:"column"`
	Function        string `json:"function"`
	FunctionVersion string `json:"function_version"`
	TableVersion    uint64 `json:"table_version"` // the version that the job read
	ErrorType       string `json:"error_type"`
	ErrorMessage    string `json:"error_message"` // may quote values of the row
	CreatedAtMillis int64  `json:"created_at_millis"`
}

// ErrorFragment says that only some of the failures of a fragment are recorded.
type ErrorFragment struct {
	JobID        string `json:"job_id"`
	FragmentID   uint64 `json:"fragment_id"`
	RowsSkipped  int64  `json:"rows_skipped"`
	RowsRecorded int    `json:"rows_recorded"`
}
