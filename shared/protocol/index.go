package protocol

import (
	"math"
	"time"
)

// indexOperations are the rows of the operations on indices.
var indexOperations = []Operation{
	{
		Name: "CreateTableIndex", Methods: post, Path: "/v1/table/{id}/create_index", Group: GroupIndex, Access: Write, Origin: Spec,
		Request: new(CreateTableIndexRequest), Response: new(CreateTableIndexResponse), Summary: "Create an index on a column",
		LeastBody: `{"column":"a","index_type":"BTREE"}`,
		Note:      "A job builds it.",
	},
	{
		Name: "CreateTableScalarIndex", Methods: post, Path: "/v1/table/{id}/create_scalar_index", Group: GroupIndex, Access: Write, Origin: Spec,
		Request: new(CreateTableIndexRequest), Response: new(CreateTableIndexResponse), Summary: "Create an index on a column of scalars",
		LeastBody: `{"column":"a","index_type":"BTREE"}`,
		Note:      "A job builds it.",
	},
	{
		Name: "ListTableIndices", Methods: listByPost, Path: "/v1/table/{id}/index/list", Group: GroupIndex, Access: Read, Origin: Spec,
		Request: new(ListTableIndicesRequest), Response: new(ListTableIndicesResponse), Summary: "List the indices of a table",
	},
	{
		Name: "DescribeTableIndexStats", Methods: post, Path: "/v1/table/{id}/index/{index_name}/stats", Group: GroupIndex, Access: Read, Origin: Spec,
		Request: new(DescribeTableIndexStatsRequest), Response: new(DescribeTableIndexStatsResponse), Summary: "Describe what an index covers",
	},
	{
		Name: "DropTableIndex", Methods: post, Path: "/v1/table/{id}/index/{index_name}/drop", Group: GroupIndex, Access: Write, Origin: Spec,
		Request: new(DropTableIndexRequest), Response: new(DropTableIndexResponse), Summary: "Drop an index",
		Frees: true,
	},
	{
		Name: "PrewarmTableIndex", Methods: post, Path: "/v1/table/{id}/index/{index_name}/prewarm", Group: GroupIndex, Access: Read, Origin: LanceDB,
		Request: new(PrewarmTableIndexRequest), Response: new(PrewarmTableIndexResponse), Summary: "Load an index into the cache",
	},
}

// CreateTableIndexRequest asks for an index on a column. Parameters of other kinds of indices are
// ignored, and those that are absent have the defaults of native Lance.
type CreateTableIndexRequest struct {
	Common
	TextIndexParameters
	Column string `json:"column"`
	Type   string `json:"index_type"`
	// Name may be empty: the index is named after the column, followed by _idx or, with list_element,
	// _list_element_idx. Where an index of another kind or column has that name, _2, _3 … is appended.
	Name   string `json:"name"`
	Branch string `json:"branch" query:"branch"`
	// Replace lets the index replace one of the same name and column. Nil: LanceDB clients replace, others do not.
	Replace *bool `json:"replace"`
	VectorIndexParameters
	// NumberOfItems is how many rows each filter of an index BLOOMFILTER covers, and Probability that a filter
	// seems to have a value that it lacks. Nil: 8192 and 0.00057.
	NumberOfItems *int64   `json:"number_of_items"`
	Probability   *float64 `json:"probability"`
}

// VectorIndexParameters are the parameters of indices of vectors.
type VectorIndexParameters struct {
	DistanceType  DistanceType `json:"distance_type"` // unset: l2
	MetricType    DistanceType `json:"metric_type"`   // the same in the words of LanceDB clients
	NumPartitions *int64       `json:"num_partitions"`
	NumSubVectors *int64       `json:"num_sub_vectors"`
	NumBits       *int64       `json:"num_bits"`
	SampleRate    *int64       `json:"sample_rate"`
	MaxIterations *int64       `json:"max_iterations"`
	// TargetPartitionSize is how many rows a partition should have, where there is no NumPartitions.
	TargetPartitionSize *int64 `json:"target_partition_size"`
	M                   *int64 `json:"m"`               // edges of a new node of a graph
	EFConstruction      *int64 `json:"ef_construction"` // nodes that it chooses from
}

// Metric returns the distance type under either name.
func (p *VectorIndexParameters) Metric() DistanceType {
	if p.DistanceType != DistanceUnset {
		return p.DistanceType
	}
	return p.MetricType
}

// validate requires positive numbers, and one distance type.
func (p *VectorIndexParameters) validate() error {
	if p.DistanceType != DistanceUnset && p.MetricType != DistanceUnset && p.DistanceType != p.MetricType {
		return Errorf(InvalidInput, "distance_type is %s and metric_type is %s; they mean the same, so one is enough", p.DistanceType, p.MetricType)
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
			return Errorf(InvalidInput, "%s is %d; it may be 1 to %d", number.field, *v, uint32(math.MaxUint32))
		}
	}
	return nil
}

// Validate requires a column and a type, and checks the parameters that do not depend on the column.
func (r *CreateTableIndexRequest) Validate() error {
	if err := requireText("column", r.Column); err != nil {
		return err
	}
	if err := requireText("index_type", r.Type); err != nil {
		return err
	}
	if len(r.Name) > maxIndexName {
		return Errorf(InvalidInput, "name has %d bytes; at most %d are possible", len(r.Name), maxIndexName)
	}
	if longest := r.MaxTokenLength.Value; longest != nil && *longest < 0 {
		return Errorf(InvalidInput, "max_token_length is %d; it must not be negative", *longest)
	}
	if n := r.NumberOfItems; n != nil && (*n < 1 || *n > math.MaxUint32) {
		return Errorf(InvalidInput, "number_of_items is %d; it may be 1 to %d", *n, uint32(math.MaxUint32))
	}
	if p := r.Probability; p != nil && (*p <= 0 || *p >= 1) {
		return Errorf(InvalidInput, "probability is %v; it must be between 0 and 1", *p)
	}
	return r.VectorIndexParameters.validate()
}

// maxIndexName is the longest name of an index in bytes, since each version of the table holds it.
const maxIndexName = 1024

// Replaces reports whether the index replaces one of the same name.
func (r *CreateTableIndexRequest) Replaces() bool {
	if r.Replace != nil {
		return *r.Replace
	}
	return r.Dialect == DialectLanceDB
}

// CreateTableIndexResponse names the job that builds the index under both of its names. Without jobs
// the index is built, and the transaction is its commit.
type CreateTableIndexResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	JobID         string `json:"job_id,omitempty"`
}

// ListTableIndicesRequest asks for the indices of a table.
type ListTableIndicesRequest struct {
	Common
	Page
	Version *int64 `json:"version"` // nil: the latest
	Branch  string `json:"branch" query:"branch"`
}

// Validate refuses negative versions.
func (r *ListTableIndicesRequest) Validate() error { return notNegative("version", r.Version) }

// ListTableIndicesResponse holds the indices in the order of their names.
type ListTableIndicesResponse struct {
	Indexes   List[IndexContent] `json:"indexes"`
	PageToken string             `json:"page_token,omitempty"`
}

// IndexContent describes an index. LanceDB clients refuse the whole list for an index type
// that they do not know, or a column that the table does not have.
type IndexContent struct {
	Name             string       `json:"index_name"`
	UUID             string       `json:"index_uuid"`
	Columns          List[string] `json:"columns"`
	Status           string       `json:"status"`
	Type             string       `json:"index_type"`
	TypeURL          string       `json:"type_url"`
	NumIndexedRows   int64        `json:"num_indexed_rows"`
	NumUnindexedRows int64        `json:"num_unindexed_rows"`
	SizeBytes        *int64       `json:"size_bytes,omitempty"` // nil: not known
	NumSegments      int64        `json:"num_segments"`
	CreatedAt        *time.Time   `json:"created_at,omitempty"` // nil: not known
	Version          int64        `json:"index_version"`
	Details          string       `json:"index_details"` // a JSON object
}

// IndexReady is the status of an index that is there.
const IndexReady = "SUCCEEDED"

// DescribeTableIndexStatsRequest asks what an index covers.
type DescribeTableIndexStatsRequest struct {
	Common
	IndexName string `json:"index_name" path:"index_name"`
	Version   *int64 `json:"version"` // nil: the latest
	Branch    string `json:"branch" query:"branch"`
}

// Validate refuses negative versions.
func (r *DescribeTableIndexStatsRequest) Validate() error { return notNegative("version", r.Version) }

// DescribeTableIndexStatsResponse says what an index covers.
type DescribeTableIndexStatsResponse struct {
	IndexType        string `json:"index_type"`
	DistanceType     string `json:"distance_type,omitempty"` // of vector indices
	NumIndexedRows   int64  `json:"num_indexed_rows"`
	NumUnindexedRows int64  `json:"num_unindexed_rows"`
	NumIndices       int64  `json:"num_indices"` // segments
}

// DropTableIndexRequest asks to remove an index.
type DropTableIndexRequest struct {
	Common
	IndexName string `json:"index_name" path:"index_name"`
	Branch    string `json:"branch" query:"branch"`
}

// DropTableIndexResponse answers the removal of an index.
type DropTableIndexResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// PrewarmTableIndexRequest asks to have an index at hand for the queries that come.
type PrewarmTableIndexRequest struct {
	Common
	IndexName string `json:"index_name" path:"index_name"`
	Branch    string `json:"branch" query:"branch"`
}

// PrewarmTableIndexResponse says that it was done.
type PrewarmTableIndexResponse struct{}
