package protocol

// tableErrorOperations are the rows of the operations on the failures of functions in a table.
var tableErrorOperations = []Operation{
	{
		Name: "ListTableErrors", Methods: post, Path: "/v1/table/{id}/errors", Group: GroupTable, Access: Read, Origin: LanceDB,
		Request: new(ListTableErrorsRequest), Response: new(ListTableErrorsResponse), Summary: "List the rows that functions failed for",
		Note: "Those of the newest job come first.",
	},
}

// Bounds of the records in an answer.
const (
	defaultTableErrors = 10_000
	maxTableErrors     = 100_000
)

// ListTableErrorsRequest asks for the rows of a table that functions failed for.
type ListTableErrorsRequest struct {
	Common
	JobID  string `json:"job_id"` // "" is all jobs
	Column string `json:"column"` // "" is all columns
	Limit  *int64 `json:"limit"`  // nil is 10,000; at most 100,000
	Branch string `json:"branch" query:"branch"`
}

// Validate refuses a negative limit.
func (r *ListTableErrorsRequest) Validate() error { return notNegative("limit", r.Limit) }

// Most returns the greatest number of records in the answer.
func (r *ListTableErrorsRequest) Most() int {
	if r.Limit == nil {
		return defaultTableErrors
	}
	return int(min(*r.Limit, maxTableErrors))
}

// ListTableErrorsResponse holds rows that functions failed for, those of the newest job first.
type ListTableErrorsResponse struct {
	Records   List[TableError]         `json:"records"`
	Fragments List[TableErrorFragment] `json:"fragments"` // those with more rows than are recorded
	Truncated bool                     `json:"truncated"` // there are records beyond the limit
}

// TableError is the failure of a function for one row.
type TableError struct {
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

// TableErrorFragment says that only some of the failures of a fragment are recorded.
type TableErrorFragment struct {
	JobID        string `json:"job_id"`
	FragmentID   uint64 `json:"fragment_id"`
	RowsSkipped  int64  `json:"rows_skipped"`
	RowsRecorded int    `json:"rows_recorded"`
}
