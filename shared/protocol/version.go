package protocol

// ListTableVersionsRequest asks for the versions of a table. The page token is the last
// version of the page before.
type ListTableVersionsRequest struct {
	Common
	Page
	Descending bool   `json:"descending" query:"descending"` // latest first
	Branch     string `json:"branch" query:"branch"`
}

// ListTableVersionsResponse holds versions in the order asked for.
type ListTableVersionsResponse struct {
	Versions  List[TableVersion] `json:"versions"`
	PageToken string             `json:"page_token,omitempty"`
}

// TableVersion is one version of a table.
type TableVersion struct {
	Version         int64      `json:"version"`
	ManifestPath    string     `json:"manifest_path"` // from the root of the bucket or file system on, no slash in front
	ManifestSize    int64      `json:"manifest_size,omitempty"`
	ETag            string     `json:"e_tag,omitempty"`
	TimestampMillis int64      `json:"timestamp_millis"` // since 1970
	Metadata        Properties `json:"metadata"`
}

// DescribeTableVersionRequest asks about one version.
type DescribeTableVersionRequest struct {
	Common
	Version *int64 `json:"version"` // nil: the latest
	Branch  string `json:"branch"`
}

// Validate refuses negative versions.
func (r *DescribeTableVersionRequest) Validate() error { return notNegative("version", r.Version) }

// DescribeTableVersionResponse tells about one version.
type DescribeTableVersionResponse struct {
	Version TableVersion `json:"version"`
}

// RestoreTableRequest asks for a new version equal to an old one.
type RestoreTableRequest struct {
	Common
	Version *int64 `json:"version"`
	Branch  string `json:"branch"`
}

// Validate requires a version.
func (r *RestoreTableRequest) Validate() error {
	if r.Version == nil {
		return Errorf(InvalidInput, "version is required")
	}
	return notNegative("version", r.Version)
}

// RestoreTableResponse answers a restore.
type RestoreTableResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}
