package tableapi

import (
	"slices"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on tables in the catalog.
var Operations = []protocol.Operation{
	{
		Name: "ListTables", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/table/list", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the tables in a namespace",
	},
	{
		Name: "ListAllTables", Methods: protocol.ByGetOrPost, Path: "/v1/table", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ListAllRequest), Response: new(ListResponse), Summary: "List the tables of all namespaces",
	},
	{
		Name: "FindTables", Methods: protocol.ByPost, Path: "/v1/table/find", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Own,
		Request: new(FindRequest), Response: new(FindResponse), Summary: "Find tables by name, column, property, tag or comment",
	},
	{
		Name: "RegisterTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/register", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(RegisterRequest), Response: new(RegisterResponse), Summary: "Give a name to a table that exists on storage",
		LeastBody: `{"location":"x"}`,
	},
	{
		Name: "DescribeTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/describe", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(DescribeRequest), Response: new(DescribeResponse), Summary: "Describe a table at a version",
		Note: "The version and the schema come only if load_detailed_metadata is set.",
	},
	{
		Name: "TableExists", Methods: protocol.ByPost, Path: "/v1/table/{id}/exists", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(ExistsRequest), Response: new(protocol.Empty), Summary: "Ask whether a table exists",
		Note: "The answer is TableNotFound if there is none.",
	},
	{
		Name: "DropTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/drop", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DropRequest), Response: new(DropResponse), Summary: "Drop a table, and its data if it cannot be restored",
		Frees: true,
		Note:  "If the answer has a drop_id, UndropTable can restore the table.",
	},
	{
		Name: "DeregisterTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/deregister", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DeregisterRequest), Response: new(DeregisterResponse), Summary: "Forget the name of a table and keep its data",
	},
	{
		Name: "DeclareTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/declare", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DeclareRequest), Response: new(DeclareResponse), Summary: "Reserve a name and a location for a table",
	},
	{
		Name: "RenameTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/rename", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(RenameRequest), Response: new(RenameResponse), Summary: "Rename a table, also into another namespace",
		LeastBody: `{"new_table_name":"u"}`,
	},
	{
		Name: "GetTableStats", Methods: protocol.ByPost, Path: "/v1/table/{id}/stats", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(GetStatsRequest), Response: new(GetStatsResponse), Summary: "Count rows, bytes, indices and fragments of a table",
	},
	{
		Name: "GetTableStorage", Methods: protocol.ByPost, Path: "/v1/table/{id}/storage", Group: protocol.GroupTable, Access: protocol.Read, Origin: protocol.Own,
		Request: new(GetStorageRequest), Response: new(GetStorageResponse), Summary: "Measure how much each column of a table takes",
		Permission: "DescribeTable",
	},
	{
		Name: "CloneTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/clone", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(CloneRequest), Response: new(CloneResponse), Summary: "Create a table that begins as a version of another one",
		LeastBody: `{"source_location":"x"}`,
	},
	{
		Name: "UndropTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/undrop", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Own,
		Request: new(UndropRequest), Response: new(UndropResponse), Summary: "Restore a dropped table or view, under its name or another one",
	},
	{
		Name: "PurgeTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/purge", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Own,
		Request: new(PurgeRequest), Response: new(PurgeResponse), Summary: "Delete the files of a dropped table before its time",
		Frees: true,
	},
}

// ListRequest asks for the tables of one namespace.
type ListRequest struct {
	protocol.Common
	protocol.Page
	// IncludeDeclared asks for tables that are declared but not created, too. Nil is true.
	IncludeDeclared *bool `json:"include_declared" query:"include_declared"`
}

// ListAllRequest asks for the tables of all namespaces as joined ids. In the
// LanceDB dialect it asks for the names of the tables in the root namespace.
type ListAllRequest struct {
	protocol.Common
	protocol.Page
	IncludeDeclared *bool `json:"include_declared" query:"include_declared"` // nil is true
}

// ListResponse answers both lists: names relative to the namespace, or whole ids
// joined with the delimiter of the request, in byte order.
type ListResponse struct {
	Tables    protocol.List[string] `json:"tables"`
	PageToken string                `json:"page_token,omitempty"` // the last name when there are more
}

// RegisterRequest asks to give a name to a table that exists on storage.
type RegisterRequest struct {
	protocol.Common
	Location   string            `json:"location"`
	Mode       RegisterMode      `json:"mode"`
	Properties map[string]string `json:"properties"`
}

// Validate requires a location.
func (r *RegisterRequest) Validate() error {
	return protocol.RequireText("location", r.Location)
}

// RegisterResponse has the absolute location.
type RegisterResponse struct {
	TransactionID string              `json:"transaction_id,omitempty"`
	Location      string              `json:"location"`
	Properties    protocol.Properties `json:"properties"`
}

// DescribeRequest asks about a table, by default at its latest version.
type DescribeRequest struct {
	protocol.Common
	Version *int64 `json:"version"`
	Tag     string `json:"tag"` // excludes Version and Branch
	Branch  string `json:"branch"`
	// WithTableURI asks for table_uri.
	WithTableURI bool `json:"with_table_uri" query:"with_table_uri"`
	// LoadDetailedMetadata asks for what needs the table to be opened. The LanceDB
	// dialect always means yes: see [DescribeRequest.Detailed].
	LoadDetailedMetadata bool `json:"load_detailed_metadata" query:"load_detailed_metadata"`
	// CheckDeclared asks for is_only_declared.
	CheckDeclared   bool  `json:"check_declared" query:"check_declared"`
	VendCredentials *bool `json:"vend_credentials" query:"vend_credentials"`
}

// Detailed reports whether the answer needs version, schema and statistics.
func (r *DescribeRequest) Detailed() bool {
	return r.LoadDetailedMetadata || r.Dialect == protocol.DialectLanceDB
}

// Validate refuses contradictory ways to name a version.
func (r *DescribeRequest) Validate() error {
	if r.Tag != "" && (r.Version != nil || r.Branch != "") {
		return protocol.Errorf(protocol.InvalidInput, "tag cannot be combined with version or branch")
	}
	return protocol.NotNegative("version", r.Version)
}

// DescribeResponse describes a table. Only Location is always there; the fields
// that need the table to be opened are there when the request was detailed.
type DescribeResponse struct {
	Table             string               `json:"table,omitempty"`
	Namespace         []string             `json:"namespace,omitempty"`
	Version           *int64               `json:"version,omitempty"`
	Location          string               `json:"location,omitempty"`
	TableURI          string               `json:"table_uri,omitempty"`
	Schema            *protocol.JSONSchema `json:"schema,omitempty"`
	StorageOptions    map[string]string    `json:"storage_options,omitempty"`
	Stats             *BasicStats          `json:"stats,omitempty"`
	Metadata          map[string]string    `json:"metadata,omitempty"`
	Properties        protocol.Properties  `json:"properties"`
	ManagedVersioning bool                 `json:"managed_versioning,omitempty"`
	IsOnlyDeclared    *bool                `json:"is_only_declared,omitempty"`
}

// BasicStats counts what a manifest knows without reading data.
type BasicStats struct {
	NumDeletedRows int64 `json:"num_deleted_rows"`
	NumFragments   int64 `json:"num_fragments"`
}

// ExistsRequest asks whether a table exists. The answer is [protocol.Empty].
type ExistsRequest struct {
	protocol.Common
	Version *int64 `json:"version"`
}

// Validate refuses negative versions.
func (r *ExistsRequest) Validate() error { return protocol.NotNegative("version", r.Version) }

// DropRequest asks to remove a table and its data. The data goes at once, or after the time for which the
// table can be restored: see [protocol.PropertyDropRetention].
type DropRequest struct {
	protocol.Common
}

// DropResponse names the dropped table.
type DropResponse struct {
	TransactionID string                `json:"transaction_id,omitempty"`
	ID            protocol.List[string] `json:"id"`
	Location      string                `json:"location,omitempty"`
	Properties    protocol.Properties   `json:"properties"`
	Warning       string                `json:"warning,omitempty"` // about views that read the table
	// DropID and RestorableUntilMillis are there if the table can be restored.
	DropID                string `json:"drop_id,omitempty"`
	RestorableUntilMillis int64  `json:"restorable_until_millis,omitempty"`
}

// DeregisterRequest asks to forget the name of a table and to keep its data.
type DeregisterRequest struct {
	protocol.Common
}

// DeregisterResponse has the location at which the data remains.
type DeregisterResponse struct {
	TransactionID string                `json:"transaction_id,omitempty"`
	ID            protocol.List[string] `json:"id"`
	Location      string                `json:"location,omitempty"`
	Properties    protocol.Properties   `json:"properties"`
}

// DeclareRequest asks to reserve a name and a location for a table to be written.
type DeclareRequest struct {
	protocol.Common
	Location        string            `json:"location"` // empty: the catalog chooses
	VendCredentials *bool             `json:"vend_credentials"`
	Properties      map[string]string `json:"properties"`
}

// DeclareResponse has the location to which a client writes the data.
type DeclareResponse struct {
	TransactionID     string              `json:"transaction_id,omitempty"`
	Location          string              `json:"location"`
	StorageOptions    map[string]string   `json:"storage_options,omitempty"`
	Properties        protocol.Properties `json:"properties"`
	ManagedVersioning bool                `json:"managed_versioning,omitempty"`
}

// WithoutCredentials returns the response without storage options.
func (r *DeclareResponse) WithoutCredentials() any {
	without := *r
	without.StorageOptions = nil
	return &without
}

// RenameRequest asks to give a table another name, and perhaps another namespace.
type RenameRequest struct {
	protocol.Common
	NewTableName string `json:"new_table_name"`
	// NewNamespaceID is the namespace that the table goes to. Empty is the one that it is in:
	// clients in Java always send the field. The root is the delimiter alone, as in a path.
	NewNamespaceID []string `json:"new_namespace_id"`
	// NewNamespace is what LanceDB clients call NewNamespaceID.
	NewNamespace []string `json:"new_namespace"`
}

// Validate requires a name, and an id that a table may have.
func (r *RenameRequest) Validate() error {
	if err := protocol.RequireText("new_table_name", r.NewTableName); err != nil {
		return err
	}
	if len(r.NewNamespaceID) > 0 && len(r.NewNamespace) > 0 && !slices.Equal(r.NewNamespaceID, r.NewNamespace) {
		return protocol.Errorf(protocol.InvalidInput, "new_namespace_id and new_namespace differ; give one of them")
	}
	if slices.Contains(r.NewNamespaceID, "") || slices.Contains(r.NewNamespace, "") {
		return protocol.Errorf(protocol.InvalidInput, "the new namespace has an empty component; the root is written [%q]", protocol.DefaultDelimiter)
	}
	if err := protocol.RequireName(r.ID); err != nil {
		return err
	}
	return protocol.CheckID(r.NewID())
}

// NewID is the id that the table is to have. ID must not be empty.
func (r *RenameRequest) NewID() []string {
	for _, given := range [][]string{r.NewNamespaceID, r.NewNamespace} {
		if len(given) > 0 {
			return append(protocol.Resplit(given, protocol.DefaultDelimiter), r.NewTableName)
		}
	}
	return append(slices.Clone(r.ID[:len(r.ID)-1]), r.NewTableName)
}

// RenameResponse answers a rename.
type RenameResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// CloneRequest asks for a table that begins as a version of the one at a location: the
// newest, unless a version or a tag is given.
type CloneRequest struct {
	protocol.Common
	SourceLocation string `json:"source_location"`
	SourceVersion  *int64 `json:"source_version"`
	SourceTag      string `json:"source_tag"`
	// IsShallow means that the clone refers to the files of its source; else it copies them. Nil is
	// true.
	IsShallow *bool `json:"is_shallow"`
}

// Validate requires a location, and refuses a version together with a tag.
func (r *CloneRequest) Validate() error {
	if r.SourceVersion != nil && r.SourceTag != "" {
		return protocol.Errorf(protocol.InvalidInput, "source_version cannot be combined with source_tag")
	}
	if r.SourceVersion != nil && *r.SourceVersion < 1 {
		return protocol.Errorf(protocol.InvalidInput, "source_version is %d; versions begin at 1", *r.SourceVersion)
	}
	return protocol.RequireText("source_location", r.SourceLocation)
}

// CloneResponse has the location of the clone.
type CloneResponse struct {
	TransactionID string              `json:"transaction_id,omitempty"`
	Location      string              `json:"location"`
	Version       int64               `json:"version"`
	Properties    protocol.Properties `json:"properties"`
}

// GetStatsRequest asks for the sizes of a table.
type GetStatsRequest struct {
	protocol.Common
	Branch string `json:"branch"`
}

// GetStatsResponse has the sizes of a table. Every field is required by clients.
type GetStatsResponse struct {
	TotalBytes    int64         `json:"total_bytes"`
	NumRows       int64         `json:"num_rows"`
	NumIndices    int64         `json:"num_indices"`
	FragmentStats FragmentStats `json:"fragment_stats"`
}

// FragmentStats counts fragments. A small fragment has fewer than 1,048,576 rows; to LanceDB
// clients it has fewer than 100,000.
type FragmentStats struct {
	NumFragments      int64           `json:"num_fragments"`
	NumSmallFragments int64           `json:"num_small_fragments"`
	Lengths           FragmentSummary `json:"lengths"`
}

// FragmentSummary is the distribution of the rows per fragment, deleted ones included.
type FragmentSummary struct {
	Min  int64 `json:"min"`
	Max  int64 `json:"max"`
	Mean int64 `json:"mean"`
	P25  int64 `json:"p25"`
	P50  int64 `json:"p50"`
	P75  int64 `json:"p75"`
	P99  int64 `json:"p99"`
}

// RegisterMode is what to do when the name to be registered is taken.
type RegisterMode uint8

// The register modes; the first is the default.
const (
	RegisterModeCreate    RegisterMode = iota // fail
	RegisterModeOverwrite                     // replace the registration
)

var registerModes = protocol.NewEnum("mode", "Create", "Overwrite")

// String returns the PascalCase spelling.
func (m RegisterMode) String() string { return registerModes.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m RegisterMode) MarshalText() ([]byte, error) { return registerModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *RegisterMode) UnmarshalText(text []byte) error {
	return registerModes.Parse(text, (*uint8)(m))
}

// Targets are the new name.
func (r *RenameRequest) Targets() []protocol.Target {
	return []protocol.Target{{Operation: "CreateTable", ID: r.NewID()}}
}
