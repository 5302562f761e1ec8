package queryapi

import (
	"net/http"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations that read rows.
var Operations = []protocol.Operation{
	{
		Name: "QueryTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/query", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(Request), Response: new(protocol.Rows), Summary: "Query rows by filter, vector, text or both",
		Note:     "Rows come as an Arrow file. The header Accept can ask for a stream, and for compression: `application/vnd.apache.arrow.stream; compression=zstd`. The header X-Tiltyard-Result lets the server write the rows to storage, for answers that are too large for a response.",
		Statuses: []int{http.StatusOK, http.StatusSeeOther},
	},
	{
		Name: "CountTableRows", Methods: protocol.ByPost, Path: "/v1/table/{id}/count_rows", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(CountRowsRequest), Response: new(CountRowsResponse), Summary: "Count the rows that match",
		Note: "The answer is a bare number.",
	},
	{
		Name: "ExplainTableQueryPlan", Methods: protocol.ByPost, Path: "/v1/table/{id}/explain_plan", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ExplainPlanRequest), Response: new(Plan), Summary: "Show the plan of a query",
		LeastBody: `{"query":{}}`,
	},
	{
		Name: "AnalyzeTableQueryPlan", Methods: protocol.ByPost, Path: "/v1/table/{id}/analyze_plan", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(AnalyzePlanRequest), Response: new(Plan), Summary: "Run a query and show its plan with times and counts",
	},
	{
		Name: "PrewarmTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/page_cache/prewarm", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(PrewarmRequest), Response: new(PrewarmResponse), Summary: "Load columns into the cache",
	},
	{
		Name: "FetchTableBlobs", Methods: protocol.ByPost, Path: "/v1/table/{id}/fetch_blobs", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(FetchBlobsRequest), Response: new(protocol.Rows), Summary: "Read whole values of a blob column",
		LeastBody: `{"column":"a","row_ids":[1]}`,
		Statuses:  []int{http.StatusOK, http.StatusSeeOther},
	},
	{
		Name: "ReadTableBlob", Methods: protocol.ByGet, Path: "/v1/table/{id}/blob/{column}/{row_id}/bytes", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ReadBlobRequest), Response: new(protocol.Bytes), Summary: "Read one value of a blob column, or a range of its bytes",
		Note:      "The header Range selects a part of the value.",
		Statuses:  []int{http.StatusOK, http.StatusNoContent, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable},
		NoContent: "The value is null.",
	},
	{
		Name: "ReadTableResult", Methods: protocol.ByGet, Path: "/v1/table/{id}/result/{result_id}", Group: protocol.GroupQuery, Access: protocol.Read, Origin: protocol.Own,
		Request: new(ReadResultRequest), Response: new(protocol.Bytes), Summary: "Read the stored answer to a query, or a range of its bytes",
		Permission: "QueryTable",
		Note:       "Only the caller that asked for the answer can read it, for a day. In S3 the response leads to a signed URL, which works for an hour and needs no token.",
		Statuses:   []int{http.StatusOK, http.StatusPartialContent, http.StatusSeeOther, http.StatusRequestedRangeNotSatisfiable},
	},
}

// The limits of a query; what exceeds them is InvalidInput.
const (
	MaxVectorDimensions = 8192
	MaxVectors          = 256
	MaxColumns          = 4096
	MaxNProbes          = 4096
	MaxEF               = 10_000
	MaxRefineFactor     = 100
)

// Request asks for rows: those nearest to a vector, those that match a text, the best
// of both, or all, in each case only where the filter is true.
type Request struct {
	protocol.Common
	Version *int64 `json:"version"` // nil: the latest
	Branch  string `json:"branch"`

	// K is the number of rows after Offset. Nil: 10 for a vector query, with or without a text, else no limit.
	// Zero: no limit for scans and text, but for a scan by a client of LanceDB no rows.
	// 1<<63-1 is how clients say no limit; K+Offset may overflow.
	K      *int64 `json:"k"`
	Offset int64  `json:"offset"`

	Columns Projection `json:"columns"`
	Filter  string     `json:"filter"`
	// Prefilter says that the filter applies before the search for the nearest.
	Prefilter bool      `json:"prefilter"`
	OrderBy   []OrderBy `json:"order_by"` // of scans, and of what a search has found

	Vector            Vector                `json:"vector"`
	VectorColumn      string                `json:"vector_column"` // empty: "vector", or the only one
	DistanceType      protocol.DistanceType `json:"distance_type"`
	NProbes           *int64                `json:"nprobes"` // ignored when a bound is given
	MinimumNProbes    *int64                `json:"minimum_nprobes"`
	MaximumNProbes    *int64                `json:"maximum_nprobes"` // zero: unbounded
	SearchEffort      *float64              `json:"search_effort"`   // from 0 to 1; replaces nprobes
	EF                *int64                `json:"ef"`
	RefineFactor      *int64                `json:"refine_factor"`
	LowerBound        *float64              `json:"lower_bound"` // inclusive
	UpperBound        *float64              `json:"upper_bound"` // exclusive
	BypassVectorIndex bool                  `json:"bypass_vector_index"`
	FastSearch        bool                  `json:"fast_search"` // only indexed rows

	FullTextQuery *FullTextQuery `json:"full_text_query"`
	Rerank        Rerank         `json:"rerank"` // only with both Vector and FullTextQuery
	WithRowID     bool           `json:"with_row_id"`
	protocol.LogUse

	// Part is a part of a large query, as JSON from another instance of the service. It stands for all fields but the id and
	// the branch.
	Part string `json:"part"`
}

// OrderBy is one key of a sort.
type OrderBy struct {
	ColumnName string `json:"column_name"`
	Ascending  *bool  `json:"ascending"` // nil is true
	NullsFirst bool   `json:"nulls_first"`
}

// SearchVector returns the field for the value of "vector" in a body.
func (r *Request) SearchVector() *Vector { return &r.Vector }

// Validate refuses negative counts, exceeded limits and contradictions.
func (r *Request) Validate() error {
	counts := []struct {
		field string
		value *int64
		limit int64
	}{
		{"version", r.Version, maxInt64},
		{"k", r.K, maxInt64},
		{"offset", &r.Offset, maxInt64},
		{"nprobes", r.NProbes, MaxNProbes},
		{"minimum_nprobes", r.MinimumNProbes, MaxNProbes},
		{"maximum_nprobes", r.MaximumNProbes, MaxNProbes},
		{"ef", r.EF, MaxEF},
		{"refine_factor", r.RefineFactor, MaxRefineFactor},
	}
	for _, c := range counts {
		if err := protocol.AtMost(c.field, c.value, c.limit); err != nil {
			return err
		}
	}
	return r.checkSearch()
}

// checkSearch checks the fields that concern a search, and their combinations.
func (r *Request) checkSearch() error {
	switch {
	case r.Rerank != (Rerank{}) && (r.Vector.Empty() || r.FullTextQuery == nil):
		return protocol.Errorf(protocol.InvalidInput, "rerank needs both vector and full_text_query, whose rows it joins")
	case len(r.Filter) > protocol.MaxFilterBytes:
		return protocol.Errorf(protocol.InvalidInput, "filter is longer than %d bytes", protocol.MaxFilterBytes)
	case len(r.Columns) > MaxColumns:
		return protocol.Errorf(protocol.InvalidInput, "columns names %d columns; at most %d are possible", len(r.Columns), MaxColumns)
	case r.MinimumNProbes != nil && r.MaximumNProbes != nil && *r.MaximumNProbes > 0 && *r.MinimumNProbes > *r.MaximumNProbes:
		return protocol.Errorf(protocol.InvalidInput, "minimum_nprobes is %d, above maximum_nprobes, %d", *r.MinimumNProbes, *r.MaximumNProbes)
	}
	if e := r.SearchEffort; e != nil && !(*e >= 0 && *e <= 1) {
		return protocol.Errorf(protocol.InvalidInput, "search_effort is %g; it goes from 0, the fewest partitions, to 1, all of them", *e)
	}
	for i, key := range r.OrderBy {
		if key.ColumnName == "" {
			return protocol.Errorf(protocol.InvalidInput, "order_by[%d] names no column_name", i)
		}
	}
	if err := r.Rerank.check(); err != nil {
		return err
	}
	return r.Vector.check()
}

// PrewarmRequest asks to have columns at hand for the queries that come.
type PrewarmRequest struct {
	protocol.Common
	Columns []string `json:"columns"` // empty: all
	Branch  string   `json:"branch" query:"branch"`
}

// PrewarmResponse says that it was done.
type PrewarmResponse struct{}

// CountRowsRequest asks for the number of rows that match.
type CountRowsRequest struct {
	protocol.Common
	Version   *int64 `json:"version"`
	Branch    string `json:"branch"`
	Predicate string `json:"predicate"` // empty: all rows
	protocol.LogUse
}

// Validate refuses negative versions and endless predicates.
func (r *CountRowsRequest) Validate() error {
	if len(r.Predicate) > protocol.MaxFilterBytes {
		return protocol.Errorf(protocol.InvalidInput, "predicate is longer than %d bytes", protocol.MaxFilterBytes)
	}
	return protocol.NotNegative("version", r.Version)
}

// CountRowsResponse is a bare number on the wire.
type CountRowsResponse struct {
	Count   int64
	Version int64 // of the table that was counted
}

// AtVersion returns the version of the table that was counted.
func (r *CountRowsResponse) AtVersion() int64 { return r.Version }

// ExplainPlanRequest asks how a query would be run. The answer is a string.
type ExplainPlanRequest struct {
	protocol.Common
	Query   *Request `json:"query"`
	Verbose bool     `json:"verbose"`
	Branch  string   `json:"branch"`
}

// Validate requires a valid query. It replaces the query's id by the id of the request.
func (r *ExplainPlanRequest) Validate() error {
	if r.Query == nil {
		return protocol.Errorf(protocol.InvalidInput, "query is required")
	}
	if r.Query.Part != "" {
		return errPartPlan
	}
	r.Query.Common = r.Common
	if r.Branch == "" {
		r.Branch = r.Query.Branch
	}
	return r.Query.Validate()
}

// AnalyzePlanRequest asks to run a query and to tell how it went. The answer
// is a string.
type AnalyzePlanRequest struct {
	Request
}

// errPartPlan is the error of a request for the plan of a part.
var errPartPlan = protocol.Errorf(protocol.InvalidInput, "part is of QueryTable only; plans are of whole queries")

// Validate checks the query.
func (r *AnalyzePlanRequest) Validate() error {
	if r.Part != "" {
		return errPartPlan
	}
	return r.Request.Validate()
}

// Plan tells how a query is answered, as lines of text. On the wire it is one string.
type Plan string
