package viewapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"

	"tiltyard/shared/protocol"
)

// MaterializedOperations are the rows of the operations on materialized views.
var MaterializedOperations = []protocol.Operation{
	{
		Name: "CreateMaterializedView", Methods: protocol.ByPost, Path: "/v1/materialized_view/{id}/create", Group: protocol.GroupView, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateMaterializedRequest), Response: new(CreateMaterializedResponse), Summary: "Create a materialized view",
		LeastBody: `{"query":"SELECT a FROM t"}`,
		Statuses:  []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
	},
	{
		Name: "RefreshMaterializedView", Methods: protocol.ByPost, Path: "/v1/materialized_view/{id}/refresh", Group: protocol.GroupView, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(RefreshRequest), Response: new(RefreshResponse), Summary: "Refresh a materialized view by a job",
	},
	{
		Name: "RefreshTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/refresh", Group: protocol.GroupView, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(RefreshRequest), Response: new(RefreshResponse), Summary: "Refresh a materialized view by the path of its table",
		Permission: "RefreshMaterializedView", NoMethod: "another name of RefreshMaterializedView",
	},
	{
		Name: "DescribeMaterializedView", Methods: protocol.ByPost, Path: "/v1/materialized_view/{id}/describe", Group: protocol.GroupView, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(MaterializedRequest), Response: new(DescribeMaterializedResponse), Summary: "Describe a materialized view",
	},
	{
		Name: "DropMaterializedView", Methods: protocol.ByPost, Path: "/v1/materialized_view/{id}/drop", Group: protocol.GroupView, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(MaterializedRequest), Response: new(DropMaterializedResponse), Summary: "Drop a materialized view",
		Frees: true,
	},
	{
		Name: "ListMaterializedViews", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/materialized_view/list", Group: protocol.GroupView, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ListMaterializedRequest), Response: new(ListMaterializedResponse), Summary: "List the materialized views in a namespace",
	},
}

// MaxBody bounds the bytes of a request that creates a materialized view. It leaves room for the code
// of a function.
const MaxBody = 16 << 20

// maxAutoInterval bounds the time between two refreshes, in seconds.
const maxAutoInterval = 1 << 30

// maxText bounds each text of a definition in the metadata of the view, because every reader of the
// table reads it.
const maxText = 1 << 20

// CreateMaterializedRequest asks for a table whose rows a definition computes. It has two forms:
// with Kind that of the Lance Namespace protocol, and with Query that of LanceDB clients.
type CreateMaterializedRequest struct {
	protocol.Common
	// Query is SQL.
	Query string `json:"query"`

	Kind Kind `json:"kind"`
	// SourceQuery is what the client makes of its query. It is stored as it is.
	SourceQuery  string    `json:"source_query"`
	OutputSchema string    `json:"output_schema"` // base64 of an Arrow IPC schema message
	UDTF         *UDTFSpec `json:"udtf_spec"`

	// AutoRefresh has the view refreshed when its source has changed. LanceDB clients do not send it.
	AutoRefresh bool `json:"auto_refresh"`
	// AutoInterval is how many seconds lie between two such refreshes at least. Nil: the rules of the deployment.
	AutoInterval *float64 `json:"auto_refresh_interval_seconds"`

	// WithNoData leaves the view empty. Nil: the form decides.
	WithNoData *bool `json:"with_no_data"`
}

// Kind is how the rows of a view are computed.
type Kind string

// The kinds of views.
const (
	KindQuery   Kind = "query"
	KindUDTF    Kind = "udtf"
	KindChunker Kind = "chunker"

	kindScalarUDTF Kind = "scalar_udtf" // a former name of [KindChunker]
)

// UDTFSpec describes a function that computes the rows of a view.
type UDTFSpec struct {
	Kind                     Kind            `json:"kind,omitempty"`
	UDTF                     string          `json:"udtf"`     // base64 of the client's envelope
	SHA                      string          `json:"udtf_sha"` // hexadecimal SHA-256 of the base64 text
	Name                     string          `json:"udtf_name"`
	Version                  string          `json:"udtf_version"`
	InputColumns             []string        `json:"input_columns,omitempty"`
	PartitionBy              string          `json:"partition_by,omitempty"`
	PartitionByIndexedColumn string          `json:"partition_by_indexed_column,omitempty"`
	NumCPUs                  *float64        `json:"num_cpus,omitempty"`
	NumGPUs                  *float64        `json:"num_gpus,omitempty"`
	Memory                   *float64        `json:"memory,omitempty"` // bytes
	ErrorHandling            json.RawMessage `json:"error_handling,omitempty"`
	Batch                    *bool           `json:"batch,omitempty"`
	Manifest                 string          `json:"manifest,omitempty"`
	ManifestChecksum         string          `json:"manifest_checksum,omitempty"`
}

// IsQuery reports whether the request has the form of LanceDB clients.
func (r *CreateMaterializedRequest) IsQuery() bool { return r.Kind == "" }

// Empty reports whether the view begins without rows.
func (r *CreateMaterializedRequest) Empty() bool {
	if r.WithNoData != nil {
		return *r.WithNoData
	}
	return !r.IsQuery()
}

// Validate checks the form of the request, and replaces old names of kinds.
func (r *CreateMaterializedRequest) Validate() error {
	if (r.Query == "") == (r.Kind == "") {
		return protocol.Errorf(protocol.InvalidInput, "a request to create a materialized view has either kind or query")
	}
	for field, text := range map[string]string{"query": r.Query, "source_query": r.SourceQuery, "output_schema": r.OutputSchema} {
		if len(text) > maxText {
			return protocol.Errorf(protocol.InvalidInput, "%s has %d bytes; at most %d are allowed", field, len(text), maxText)
		}
	}
	if s := r.AutoInterval; s != nil && (!r.AutoRefresh || !(*s > 0) || *s > maxAutoInterval) {
		return protocol.Errorf(protocol.InvalidInput, "auto_refresh_interval_seconds is %g; it is above 0, at most %d, and for views with auto_refresh", *s, maxAutoInterval)
	}
	if r.IsQuery() {
		return nil
	}
	if r.Kind == kindScalarUDTF {
		r.Kind = KindChunker
	}
	switch r.Kind {
	case KindQuery, KindUDTF, KindChunker:
	default:
		return protocol.Errorf(protocol.InvalidInput, "kind is none of query, udtf and chunker")
	}
	if err := protocol.RequireText("source_query", r.SourceQuery); err != nil {
		return err
	}
	if err := protocol.RequireText("output_schema", r.OutputSchema); err != nil {
		return err
	}
	if (r.UDTF == nil) != (r.Kind == KindQuery) {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec is required for kinds udtf and chunker, and must be null for kind query; kind is %s", r.Kind)
	}
	if r.UDTF == nil {
		return nil
	}
	return r.UDTF.validate(r.Kind)
}

// validate checks the function of a view of the given kind.
func (u *UDTFSpec) validate(kind Kind) error {
	if u.Kind == kindScalarUDTF {
		u.Kind = KindChunker
	}
	if u.Kind != "" && u.Kind != kind {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec.kind is not %s, as kind is; they must agree", kind)
	}
	for field, value := range map[string]string{"udtf": u.UDTF, "udtf_sha": u.SHA, "udtf_name": u.Name, "udtf_version": u.Version} {
		if err := protocol.RequireText("udtf_spec."+field, value); err != nil {
			return err
		}
	}
	if e := u.ErrorHandling; len(e) > 0 && e[0] != '{' && string(e) != "null" {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec.error_handling is no object")
	}
	if n := u.textBytes(); n > maxText {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec has %d bytes beside udtf; at most %d are allowed", n, maxText)
	}
	if _, err := base64.StdEncoding.DecodeString(u.UDTF); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec.udtf is not base64: %w", err)
	}
	if sum := sha256.Sum256([]byte(u.UDTF)); u.SHA != hex.EncodeToString(sum[:]) {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec.udtf_sha is not the SHA-256 of udtf, which is %x", sum)
	}
	if u.PartitionBy != "" && u.PartitionByIndexedColumn != "" {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec has partition_by and partition_by_indexed_column; one is possible")
	}
	for field, value := range map[string]*float64{"num_cpus": u.NumCPUs, "num_gpus": u.NumGPUs, "memory": u.Memory} {
		if value != nil && (*value < 0 || math.IsInf(*value, 0)) {
			return protocol.Errorf(protocol.InvalidInput, "udtf_spec.%s is %g; it must not be negative", field, *value)
		}
	}
	if m := u.Memory; m != nil && *m != math.Trunc(*m) {
		return protocol.Errorf(protocol.InvalidInput, "udtf_spec.memory is %g; it counts bytes", *m)
	}
	return nil
}

// textBytes returns the size in bytes of all fields except the envelope.
func (u *UDTFSpec) textBytes() int {
	n := len(u.Name) + len(u.Version) + len(u.PartitionBy) + len(u.PartitionByIndexedColumn) + len(u.ErrorHandling) + len(u.Manifest) + len(u.ManifestChecksum)
	for _, column := range u.InputColumns {
		n += len(column)
	}
	return n
}

// CreateMaterializedResponse is the answer in either form. LanceDB clients take 202 for a view
// that a job fills, and the job's id as what to wait for. Other clients take 201.
type CreateMaterializedResponse struct {
	Version int64  `json:"version"`          // of the table of the view
	JobID   string `json:"job_id,omitempty"` // of its first refresh

	ForLanceDB bool `json:"-"`
}

// HTTPStatus returns the status of the answer.
func (r *CreateMaterializedResponse) HTTPStatus() int {
	switch {
	case !r.ForLanceDB:
		return http.StatusCreated
	case r.JobID != "":
		return http.StatusAccepted
	}
	return http.StatusOK
}

// RefreshRequest asks for the rows that the definition of a view gives now. What is
// not listed here is about how other services run functions, and is ignored.
type RefreshRequest struct {
	protocol.Common
	Full bool `json:"full"` // compute all rows
	// SourceVersion is the version of the source that the view shall show; nil is the newest.
	SourceVersion *int64 `json:"source_version"`
	SrcVersion    *int64 `json:"src_version"`          // the same in the words of the Lance Namespace protocol
	Incarnation   string `json:"expected_incarnation"` // of the view; "" is any
	// OutputLimit is how many rows of a view of kind chunker are computed at most; nil is any number.
	OutputLimit *int64 `json:"output_limit"`
	// Concurrency is how many workers compute rows at the same time at most.
	Concurrency *int64 `json:"concurrency"`
	// Adopt is the definition_sha256 of the view. The sender becomes who has defined it, so that it is refreshed with
	// the sender's rights.
	Adopt string `json:"adopt"`
}

// Version returns the source version under either name.
func (r *RefreshRequest) Version() *int64 {
	if r.SourceVersion != nil {
		return r.SourceVersion
	}
	return r.SrcVersion
}

// Validate checks the version.
func (r *RefreshRequest) Validate() error {
	if r.SourceVersion != nil && r.SrcVersion != nil && *r.SourceVersion != *r.SrcVersion {
		return protocol.Errorf(protocol.InvalidInput, "source_version is %d and src_version is %d; they mean the same, so one is enough", *r.SourceVersion, *r.SrcVersion)
	}
	if n := r.OutputLimit; n != nil && *n < 1 {
		return protocol.Errorf(protocol.InvalidInput, "output_limit is %d; it counts rows from 1", *n)
	}
	if n := r.Concurrency; n != nil && (*n < 1 || *n > 1<<31-1) {
		return protocol.Errorf(protocol.InvalidInput, "concurrency is %d; it counts workers from 1", *n)
	}
	if v := r.Version(); v != nil && *v < 1 {
		return protocol.Errorf(protocol.InvalidInput, "source_version is %d; versions count from 1", *v)
	}
	return nil
}

// RefreshResponse names the job that refreshes the view.
type RefreshResponse struct {
	JobID         string `json:"job_id"`
	TransactionID string `json:"transaction_id"` // the same
}

// HTTPStatus returns the status of the answer.
func (*RefreshResponse) HTTPStatus() int { return http.StatusAccepted }

// MaterializedRequest names a view.
type MaterializedRequest struct {
	protocol.Common
}

// DescribeMaterializedResponse describes a view. Its first fields are those of LanceDB clients, to
// whom a null in them is an error.
type DescribeMaterializedResponse struct {
	SourceTable     string       `json:"source_table"`
	SourceNamespace []string     `json:"source_namespace,omitempty"`
	Query           string       `json:"query,omitempty"` // only if such clients can read it
	Projections     []Projection `json:"projections,omitempty"`
	Filter          string       `json:"filter,omitempty"`
	Limit           *uint64      `json:"limit,omitempty"`
	Incarnation     string       `json:"incarnation,omitempty"`

	Kind              Kind    `json:"kind"`
	SourceVersion     *uint64 `json:"source_version,omitempty"` // that the rows show
	RefreshedAtMillis *int64  `json:"refreshed_at_millis,omitempty"`
	AutoRefresh       bool    `json:"auto_refresh"`
	Digest            string  `json:"definition_sha256"`
	LastJobID         string  `json:"last_job_id,omitempty"` // the last job that refreshed it, or tried to
}

// Projection is a column of a view.
type Projection struct {
	Output     string `json:"output_column"`
	Expression string `json:"expression"`
}

// DropMaterializedResponse means that the view is gone.
type DropMaterializedResponse struct {
	Warning string `json:"warning,omitempty"` // about views that read it
}

// ListMaterializedRequest asks for the names of the materialized views in a namespace.
type ListMaterializedRequest struct {
	protocol.Common
	protocol.Page
}

// ListMaterializedResponse has names, relative to the namespace.
type ListMaterializedResponse struct {
	Views     protocol.List[string] `json:"views"`
	PageToken string                `json:"page_token,omitempty"`
}
