package indexapi

import (
	"math"
	"time"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on indices.
var Operations = []protocol.Operation{
	{
		Name: "CreateTableIndex", Methods: protocol.ByPost, Path: "/v1/table/{id}/create_index", Group: protocol.GroupIndex, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateRequest), Response: new(CreateResponse), Summary: "Create an index on a column",
		LeastBody: `{"column":"a","index_type":"BTREE"}`,
		Note:      "A job builds it.",
	},
	{
		Name: "CreateTableScalarIndex", Methods: protocol.ByPost, Path: "/v1/table/{id}/create_scalar_index", Group: protocol.GroupIndex, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateRequest), Response: new(CreateResponse), Summary: "Create an index on a column of scalars",
		LeastBody: `{"column":"a","index_type":"BTREE"}`,
		Note:      "A job builds it.",
	},
	{
		Name: "ListTableIndices", Methods: protocol.ByPostOrGet, Path: "/v1/table/{id}/index/list", Group: protocol.GroupIndex, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the indices of a table",
	},
	{
		Name: "DescribeTableIndexStats", Methods: protocol.ByPost, Path: "/v1/table/{id}/index/{index_name}/stats", Group: protocol.GroupIndex, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(DescribeStatsRequest), Response: new(DescribeStatsResponse), Summary: "Describe what an index covers",
	},
	{
		Name: "DropTableIndex", Methods: protocol.ByPost, Path: "/v1/table/{id}/index/{index_name}/drop", Group: protocol.GroupIndex, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DropRequest), Response: new(DropResponse), Summary: "Drop an index",
		Frees: true,
	},
	{
		Name: "PrewarmTableIndex", Methods: protocol.ByPost, Path: "/v1/table/{id}/index/{index_name}/prewarm", Group: protocol.GroupIndex, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(PrewarmRequest), Response: new(PrewarmResponse), Summary: "Load an index into the cache",
	},
}

// CreateRequest asks for an index on a column. Parameters of other kinds of indices are
// ignored, and those that are absent have the defaults of native Lance.
type CreateRequest struct {
	protocol.Common
	TextParameters
	Column string `json:"column"`
	Type   string `json:"index_type"`
	// Name may be empty: the index is named after the column, followed by _idx or, with list_element,
	// _list_element_idx. Where an index of another kind or column has that name, _2, _3 … is appended.
	Name   string `json:"name"`
	Branch string `json:"branch" query:"branch"`
	// Replace lets the index replace one of the same name and column. Nil: LanceDB clients replace, others do not.
	Replace *bool `json:"replace"`
	VectorParameters
	// NumberOfItems is how many rows each filter of an index BLOOMFILTER covers, and Probability that a filter
	// seems to have a value that it lacks. Nil: 8192 and 0.00057.
	NumberOfItems *int64   `json:"number_of_items"`
	Probability   *float64 `json:"probability"`
}

// VectorParameters are the parameters of indices of vectors.
type VectorParameters struct {
	DistanceType  protocol.DistanceType `json:"distance_type"` // unset: l2
	MetricType    protocol.DistanceType `json:"metric_type"`   // the same in the words of LanceDB clients
	NumPartitions *int64                `json:"num_partitions"`
	NumSubVectors *int64                `json:"num_sub_vectors"`
	NumBits       *int64                `json:"num_bits"`
	SampleRate    *int64                `json:"sample_rate"`
	MaxIterations *int64                `json:"max_iterations"`
	// TargetPartitionSize is how many rows a partition should have, where there is no NumPartitions.
	TargetPartitionSize *int64 `json:"target_partition_size"`
	M                   *int64 `json:"m"`               // edges of a new node of a graph
	EFConstruction      *int64 `json:"ef_construction"` // nodes that it chooses from
}

// Metric returns the distance type under either name.
func (p *VectorParameters) Metric() protocol.DistanceType {
	if p.DistanceType != protocol.DistanceUnset {
		return p.DistanceType
	}
	return p.MetricType
}

// validate requires positive numbers, and one distance type.
func (p *VectorParameters) validate() error {
	if p.DistanceType != protocol.DistanceUnset && p.MetricType != protocol.DistanceUnset && p.DistanceType != p.MetricType {
		return protocol.Errorf(protocol.InvalidInput, "distance_type is %s and metric_type is %s; they mean the same, so one is enough", p.DistanceType, p.MetricType)
	}
	for _, number := range []struct {
		field string
		value *int64
	}{
		{"num_partitions", p.NumPartitions}, {"num_sub_vectors", p.NumSubVectors}, {"num_bits", p.NumBits},
		{"sample_rate", p.SampleRate}, {"max_iterations", p.MaxIterations}, {"target_partition_size", p.TargetPartitionSize},
		{"m", p.M}, {"ef_construction", p.EFConstruction},
	} {
		if v := number.value; v != nil && (*v < 1 || *v > math.MaxUint32) {
			return protocol.Errorf(protocol.InvalidInput, "%s is %d; it may be 1 to %d", number.field, *v, uint32(math.MaxUint32))
		}
	}
	return nil
}

// Validate requires a column and a type, and checks the parameters that do not depend on the column.
func (r *CreateRequest) Validate() error {
	if err := protocol.RequireText("column", r.Column); err != nil {
		return err
	}
	if err := protocol.RequireText("index_type", r.Type); err != nil {
		return err
	}
	if len(r.Name) > maxName {
		return protocol.Errorf(protocol.InvalidInput, "name has %d bytes; at most %d are possible", len(r.Name), maxName)
	}
	if longest := r.MaxTokenLength.Value; longest != nil && *longest < 0 {
		return protocol.Errorf(protocol.InvalidInput, "max_token_length is %d; it must not be negative", *longest)
	}
	if n := r.NumberOfItems; n != nil && (*n < 1 || *n > math.MaxUint32) {
		return protocol.Errorf(protocol.InvalidInput, "number_of_items is %d; it may be 1 to %d", *n, uint32(math.MaxUint32))
	}
	if p := r.Probability; p != nil && (*p <= 0 || *p >= 1) {
		return protocol.Errorf(protocol.InvalidInput, "probability is %v; it must be between 0 and 1", *p)
	}
	return r.VectorParameters.validate()
}

// maxName bounds the name of an index in bytes, because each version of the table stores it.
const maxName = 1024

// Replaces reports whether the index replaces one of the same name.
func (r *CreateRequest) Replaces() bool {
	if r.Replace != nil {
		return *r.Replace
	}
	return r.Dialect == protocol.DialectLanceDB
}

// CreateResponse names the job that builds the index under both of its names. Without jobs
// the index is built, and the transaction is its commit.
type CreateResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	JobID         string `json:"job_id,omitempty"`
}

// ListRequest asks for the indices of a table.
type ListRequest struct {
	protocol.Common
	protocol.Page
	Version *int64 `json:"version"` // nil: the latest
	Branch  string `json:"branch" query:"branch"`
}

// Validate refuses negative versions.
func (r *ListRequest) Validate() error { return protocol.NotNegative("version", r.Version) }

// ListResponse holds the indices in the order of their names.
type ListResponse struct {
	Indexes   protocol.List[Content] `json:"indexes"`
	PageToken string                 `json:"page_token,omitempty"`
}

// Content describes an index. LanceDB clients refuse the whole list for an index type
// that they do not know, or a column that the table does not have.
type Content struct {
	Name             string                `json:"index_name"`
	UUID             string                `json:"index_uuid"`
	Columns          protocol.List[string] `json:"columns"`
	Status           string                `json:"status"`
	Type             string                `json:"index_type"`
	TypeURL          string                `json:"type_url"`
	NumIndexedRows   int64                 `json:"num_indexed_rows"`
	NumUnindexedRows int64                 `json:"num_unindexed_rows"`
	SizeBytes        *int64                `json:"size_bytes,omitempty"` // nil: not known
	NumSegments      int64                 `json:"num_segments"`
	CreatedAt        *time.Time            `json:"created_at,omitempty"` // nil: not known
	Version          int64                 `json:"index_version"`
	Details          string                `json:"index_details"` // a JSON object
}

// Ready is the status of an index that is there.
const Ready = "SUCCEEDED"

// DescribeStatsRequest asks what an index covers.
type DescribeStatsRequest struct {
	protocol.Common
	IndexName string `json:"index_name" path:"index_name"`
	Version   *int64 `json:"version"` // nil: the latest
	Branch    string `json:"branch" query:"branch"`
}

// Validate refuses negative versions.
func (r *DescribeStatsRequest) Validate() error { return protocol.NotNegative("version", r.Version) }

// DescribeStatsResponse says what an index covers.
type DescribeStatsResponse struct {
	IndexType        string `json:"index_type"`
	DistanceType     string `json:"distance_type,omitempty"` // of vector indices
	NumIndexedRows   int64  `json:"num_indexed_rows"`
	NumUnindexedRows int64  `json:"num_unindexed_rows"`
	NumIndices       int64  `json:"num_indices"` // segments
	// ExpectedRecall is absent if it was not measured: the index is not of vectors, another program built it, or the table
	// had less than 4,096 rows or more than 4 GiB of vectors.
	ExpectedRecall *ExpectedRecall `json:"expected_recall,omitempty"`
}

// ExpectedRecall is the share of the truly nearest rows that searches of a vector index found when it was built. The
// queries were rows of the table.
type ExpectedRecall struct {
	K        int              `json:"k"`       // nearest rows per query, without the row itself
	Queries  int              `json:"queries"` // number of queries
	Searches []MeasuredSearch `json:"searches"`
}

// MeasuredSearch is the effort of a search, as in a query, and its recall.
type MeasuredSearch struct {
	Nprobes      int     `json:"nprobes"`
	RefineFactor int     `json:"refine_factor,omitempty"` // absent: none
	EF           int     `json:"ef,omitempty"`            // absent: the default
	Recall       float64 `json:"recall"`                  // from 0 to 1
}

// DropRequest asks to remove an index.
type DropRequest struct {
	protocol.Common
	IndexName string `json:"index_name" path:"index_name"`
	Branch    string `json:"branch" query:"branch"`
}

// DropResponse answers the removal of an index.
type DropResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// PrewarmRequest asks to have an index at hand for the queries that come.
type PrewarmRequest struct {
	protocol.Common
	IndexName string `json:"index_name" path:"index_name"`
	Branch    string `json:"branch" query:"branch"`
}

// PrewarmResponse says that it was done.
type PrewarmResponse struct{}
