package versionapi

import (
	"time"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on versions of tables.
var Operations = []protocol.Operation{
	{
		Name: "ListTableVersions", Methods: protocol.ByPostOrGet, Path: "/v1/table/{id}/version/list", Group: protocol.GroupVersion, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the versions of a table",
	},
	{
		Name: "CreateTableVersion", Methods: protocol.ByPost, Path: "/v1/table/{id}/version/create", Group: protocol.GroupVersion, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(CreateRequest), Response: new(CreateResponse), Summary: "Make a staged manifest the next version",
		LeastBody: `{"version":1,"manifest_path":"x"}`,
	},
	{
		Name: "DescribeTableVersion", Methods: protocol.ByPost, Path: "/v1/table/{id}/version/describe", Group: protocol.GroupVersion, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(DescribeRequest), Response: new(DescribeResponse), Summary: "Describe a version",
	},
	{
		Name: "BatchDeleteTableVersions", Methods: protocol.ByPost, Path: "/v1/table/{id}/version/delete", Group: protocol.GroupVersion, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(BatchDeleteRequest), Response: new(BatchDeleteResponse), Summary: "Delete versions of a table",
		Frees: true, LeastBody: `{"ranges":[{"start_version":1,"end_version":2}]}`,
	},
	{
		Name: "BatchCreateTableVersions", Methods: protocol.ByPost, Path: "/v1/table/version/batch-create", Group: protocol.GroupVersion, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(BatchCreateRequest), Response: new(BatchCreateResponse), Summary: "Make versions of many tables, all or none",
		LeastBody: `{"entries":[{"id":["t"],"version":1,"manifest_path":"x"}]}`,
	},
	{
		Name: "BatchCommitTables", Methods: protocol.ByPost, Path: "/v1/table/batch-commit", Group: protocol.GroupVersion, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(BatchCommitRequest), Response: new(BatchCommitResponse), Summary: "Change many tables, all or none",
		LeastBody: `{"operations":[{"deregister_table":{"id":["t"]}}]}`,
	},
	{
		Name: "RestoreTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/restore", Group: protocol.GroupVersion, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(RestoreRequest), Response: new(RestoreResponse), Summary: "Make an old version the newest",
		LeastBody: `{"version":1}`,
	},
	{
		Name: "CompareTableVersions", Methods: protocol.ByPost, Path: "/v1/table/{id}/version/compare", Group: protocol.GroupVersion, Access: protocol.Read, Origin: protocol.Own,
		Request: new(CompareRequest), Response: new(CompareResponse), Summary: "List the rows that differ between two versions",
		LeastBody: `{"from_version":1}`,
	},
}

// ListRequest asks for the versions of a table. The page token is the last
// version of the page before.
type ListRequest struct {
	protocol.Common
	protocol.Page
	Descending bool   `json:"descending" query:"descending"` // latest first
	Branch     string `json:"branch" query:"branch"`
	// Details asks for what each version holds, and what made it. A page then has at most 100 versions,
	// as each of them is read.
	Details bool `json:"details" query:"details"`
}

// MaxDetailed bounds the number of versions in a page with details.
const MaxDetailed = 100

// ListResponse holds versions in the order asked for.
type ListResponse struct {
	Versions  protocol.List[Version] `json:"versions"`
	PageToken string                 `json:"page_token,omitempty"`
}

// Version is one version of a table.
type Version struct {
	Version         int64               `json:"version"`
	ManifestPath    string              `json:"manifest_path"` // from the root of the bucket or file system on, no slash in front
	ManifestSize    int64               `json:"manifest_size,omitempty"`
	ETag            string              `json:"e_tag,omitempty"`
	TimestampMillis int64               `json:"timestamp_millis"` // since 1970
	Timestamp       time.Time           `json:"timestamp"`        // the same; LanceDB clients up to 0.36 require it
	Metadata        protocol.Properties `json:"metadata"`

	Details *Details `json:"details,omitempty"` // if the request asks for them
}

// Details is what a version holds, and what made it as far as its writer has noted that.
type Details struct {
	// Operation is what the commit did, in the words of the format, such as Append; empty if that is not known.
	Operation string `json:"operation,omitempty"`
	// Authors are the subjects whose requests made the version: several if their rows were committed
	// together. Versions of jobs, of other writers, and of a service that notes no authors have none.
	Authors []string `json:"authors,omitempty"`
	// TransactionID is the id of the commit; DescribeTransaction knows more of it.
	TransactionID  string `json:"transaction_id,omitempty"`
	NumRows        int64  `json:"num_rows"`
	NumDeletedRows int64  `json:"num_deleted_rows"` // that are still in the files
	NumFragments   int64  `json:"num_fragments"`
	NumBytes       int64  `json:"num_bytes"` // of the data files
	// Unreadable says why the rest is not known.
	Unreadable string `json:"unreadable,omitempty"`
}

// DescribeRequest asks about one version.
type DescribeRequest struct {
	protocol.Common
	Version *int64 `json:"version"` // nil: the latest
	Branch  string `json:"branch"`
}

// Validate refuses negative versions.
func (r *DescribeRequest) Validate() error { return protocol.NotNegative("version", r.Version) }

// DescribeResponse describes one version.
type DescribeResponse struct {
	Version Version `json:"version"`
}

// RestoreRequest asks for a new version equal to an old one.
type RestoreRequest struct {
	protocol.Common
	Version *int64 `json:"version"`
	Branch  string `json:"branch"`
}

// Validate requires a version.
func (r *RestoreRequest) Validate() error {
	if r.Version == nil {
		return protocol.Errorf(protocol.InvalidInput, "version is required")
	}
	return protocol.NotNegative("version", r.Version)
}

// RestoreResponse answers a restore.
type RestoreResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// NamingScheme is how the manifests of a table are named.
type NamingScheme uint8

// The naming schemes; the first is the default.
const (
	NamingSchemeV2 NamingScheme = iota
	NamingSchemeV1
)

var namingSchemes = protocol.NewEnum("naming_scheme", "V2", "V1")

// String returns the specification's spelling.
func (s NamingScheme) String() string { return namingSchemes.Text(uint8(s)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (s NamingScheme) MarshalText() ([]byte, error) { return namingSchemes.Marshal(uint8(s)) }

// UnmarshalText accepts the spelling in any case.
func (s *NamingScheme) UnmarshalText(text []byte) error {
	return namingSchemes.Parse(text, (*uint8)(s))
}

// Staged names a manifest that a client has written, to be the next version.
type Staged struct {
	Version      *int64            `json:"version"`
	ManifestPath string            `json:"manifest_path"` // like that of a [Version]
	ManifestSize *int64            `json:"manifest_size"`
	ETag         string            `json:"e_tag"`
	Metadata     map[string]string `json:"metadata"` // of the version, for whoever asks for it
	NamingScheme NamingScheme      `json:"naming_scheme"`
	Branch       string            `json:"branch"`
}

// Validate requires a version and a path.
func (v *Staged) Validate() error {
	if v.Version == nil || *v.Version < 1 {
		return protocol.Errorf(protocol.InvalidInput, "version is required; versions begin at 1")
	}
	if err := protocol.NotNegative("manifest_size", v.ManifestSize); err != nil {
		return err
	}
	return protocol.RequireText("manifest_path", v.ManifestPath)
}

// CreateRequest asks to make a staged manifest the next version of a table.
type CreateRequest struct {
	protocol.Common
	Staged
}

// CreateResponse describes the version.
type CreateResponse struct {
	TransactionID string  `json:"transaction_id,omitempty"`
	Version       Version `json:"version"`
}

// Range is versions from Start on and before End; an End of -1 is behind the newest.
type Range struct {
	Start *int64 `json:"start_version"`
	End   *int64 `json:"end_version"`
}

// Holds reports whether the version is in the range.
func (r Range) Holds(version uint64) bool {
	return version >= uint64(*r.Start) && (*r.End == -1 || version < uint64(*r.End))
}

// All reports whether the range includes every version, even the newest.
func (r Range) All() bool { return *r.Start == 0 && *r.End == -1 }

// maxRanges bounds the ranges of one request.
const maxRanges = 10_000

// BatchDeleteRequest asks to delete versions of one table.
type BatchDeleteRequest struct {
	protocol.Common
	Ranges []Range `json:"ranges"`
	Branch string  `json:"branch"`
}

// Validate requires ranges that have two ends.
func (r *BatchDeleteRequest) Validate() error {
	if len(r.Ranges) == 0 || len(r.Ranges) > maxRanges {
		return protocol.Errorf(protocol.InvalidInput, "ranges holds %d entries; 1 to %d are possible", len(r.Ranges), maxRanges)
	}
	for i, part := range r.Ranges {
		switch {
		case part.Start == nil || part.End == nil:
			return protocol.Errorf(protocol.InvalidInput, "ranges[%d] needs start_version and end_version", i)
		case *part.Start < 0 || *part.End < -1:
			return protocol.Errorf(protocol.InvalidInput, "ranges[%d] goes from %d to %d; neither may be negative, but for an end of -1", i, *part.Start, *part.End)
		}
	}
	return nil
}

// BatchDeleteResponse has the number of deleted versions.
type BatchDeleteResponse struct {
	DeletedCount  int64  `json:"deleted_count"`
	TransactionID string `json:"transaction_id,omitempty"`
}
