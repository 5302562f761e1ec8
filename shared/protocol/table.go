package protocol

import "slices"

// tableOperations are the rows of the operations on tables in the catalog.
var tableOperations = []Operation{
	{
		Name: "ListTables", Methods: list, Path: "/v1/namespace/{id}/table/list", Group: GroupTable, Access: Read, Origin: Spec,
		Request: new(ListTablesRequest), Response: new(ListTablesResponse), Summary: "List the tables in a namespace",
	},
	{
		Name: "ListAllTables", Methods: list, Path: "/v1/table", Group: GroupTable, Access: Read, Origin: Spec,
		Request: new(ListAllTablesRequest), Response: new(ListTablesResponse), Summary: "List the tables of all namespaces",
	},
	{
		Name: "FindTables", Methods: post, Path: "/v1/table/find", Group: GroupTable, Access: Read, Origin: Own,
		Request: new(FindTablesRequest), Response: new(FindTablesResponse), Summary: "Find tables by name, column, property, tag or comment",
	},
	{
		Name: "RegisterTable", Methods: post, Path: "/v1/table/{id}/register", Group: GroupTable, Access: Write, Origin: Spec,
		Request: new(RegisterTableRequest), Response: new(RegisterTableResponse), Summary: "Give a name to a table that exists on storage",
		LeastBody: `{"location":"x"}`,
	},
	{
		Name: "DescribeTable", Methods: post, Path: "/v1/table/{id}/describe", Group: GroupTable, Access: Read, Origin: Spec,
		Request: new(DescribeTableRequest), Response: new(DescribeTableResponse), Summary: "Describe a table at a version",
		Note: "The version and the schema come only if load_detailed_metadata is set.",
	},
	{
		Name: "TableExists", Methods: post, Path: "/v1/table/{id}/exists", Group: GroupTable, Access: Read, Origin: Spec,
		Request: new(TableExistsRequest), Response: new(Empty), Summary: "Ask whether a table exists",
		Note: "The answer is TableNotFound if there is none.",
	},
	{
		Name: "DropTable", Methods: post, Path: "/v1/table/{id}/drop", Group: GroupTable, Access: Write, Origin: Spec,
		Request: new(DropTableRequest), Response: new(DropTableResponse), Summary: "Drop a table, and its data if it cannot be restored",
		Frees: true,
		Note:  "If the answer has a drop_id, UndropTable can restore the table.",
	},
	{
		Name: "DeregisterTable", Methods: post, Path: "/v1/table/{id}/deregister", Group: GroupTable, Access: Write, Origin: Spec,
		Request: new(DeregisterTableRequest), Response: new(DeregisterTableResponse), Summary: "Forget the name of a table and keep its data",
	},
	{
		Name: "DeclareTable", Methods: post, Path: "/v1/table/{id}/declare", Group: GroupTable, Access: Write, Origin: Spec,
		Request: new(DeclareTableRequest), Response: new(DeclareTableResponse), Summary: "Reserve a name and a location for a table",
	},
	{
		Name: "RenameTable", Methods: post, Path: "/v1/table/{id}/rename", Group: GroupTable, Access: Write, Origin: Spec,
		Request: new(RenameTableRequest), Response: new(RenameTableResponse), Summary: "Rename a table, also into another namespace",
		LeastBody: `{"new_table_name":"u"}`,
	},
	{
		Name: "GetTableStats", Methods: post, Path: "/v1/table/{id}/stats", Group: GroupTable, Access: Read, Origin: Spec,
		Request: new(GetTableStatsRequest), Response: new(GetTableStatsResponse), Summary: "Count rows, bytes, indices and fragments of a table",
	},
	{
		Name: "GetTableStorage", Methods: post, Path: "/v1/table/{id}/storage", Group: GroupTable, Access: Read, Origin: Own,
		Request: new(GetTableStorageRequest), Response: new(GetTableStorageResponse), Summary: "Measure how much each column of a table takes",
		Permission: "DescribeTable",
	},
	{
		Name: "CloneTable", Methods: post, Path: "/v1/table/{id}/clone", Group: GroupTable, Access: Write, Origin: LanceDB,
		Request: new(CloneTableRequest), Response: new(CloneTableResponse), Summary: "Create a table that begins as a version of another one",
		LeastBody: `{"source_location":"x"}`,
	},
	{
		Name: "UndropTable", Methods: post, Path: "/v1/table/{id}/undrop", Group: GroupTable, Access: Write, Origin: Own,
		Request: new(UndropTableRequest), Response: new(UndropTableResponse), Summary: "Restore a dropped table or view, under its name or another one",
	},
	{
		Name: "PurgeTable", Methods: post, Path: "/v1/table/{id}/purge", Group: GroupTable, Access: Write, Origin: Own,
		Request: new(PurgeTableRequest), Response: new(PurgeTableResponse), Summary: "Delete the files of a dropped table before its time",
		Frees: true,
	},
}

// ListTablesRequest asks for the tables of one namespace.
type ListTablesRequest struct {
	Common
	Page
	// IncludeDeclared asks for tables that are declared but not created, too. Nil is true.
	IncludeDeclared *bool `json:"include_declared" query:"include_declared"`
}

// ListAllTablesRequest asks for the tables of all namespaces as joined ids. In the
// LanceDB dialect it asks for the names of the tables in the root namespace.
type ListAllTablesRequest struct {
	Common
	Page
	IncludeDeclared *bool `json:"include_declared" query:"include_declared"` // nil is true
}

// ListTablesResponse answers both lists: names relative to the namespace, or whole ids
// joined with the delimiter of the request, in byte order.
type ListTablesResponse struct {
	Tables    List[string] `json:"tables"`
	PageToken string       `json:"page_token,omitempty"` // the last name when there are more
}

// RegisterTableRequest asks to give a name to a table that exists on storage.
type RegisterTableRequest struct {
	Common
	Location   string            `json:"location"`
	Mode       RegisterMode      `json:"mode"`
	Properties map[string]string `json:"properties"`
}

// Validate requires a location.
func (r *RegisterTableRequest) Validate() error {
	return requireText("location", r.Location)
}

// RegisterTableResponse has the absolute location.
type RegisterTableResponse struct {
	TransactionID string     `json:"transaction_id,omitempty"`
	Location      string     `json:"location"`
	Properties    Properties `json:"properties"`
}

// DescribeTableRequest asks about a table, by default at its latest version.
type DescribeTableRequest struct {
	Common
	Version *int64 `json:"version"`
	Tag     string `json:"tag"` // excludes Version and Branch
	Branch  string `json:"branch"`
	// WithTableURI asks for table_uri.
	WithTableURI bool `json:"with_table_uri" query:"with_table_uri"`
	// LoadDetailedMetadata asks for what needs the table to be opened. The LanceDB
	// dialect always means yes: see [DescribeTableRequest.Detailed].
	LoadDetailedMetadata bool `json:"load_detailed_metadata" query:"load_detailed_metadata"`
	// CheckDeclared asks for is_only_declared.
	CheckDeclared   bool  `json:"check_declared" query:"check_declared"`
	VendCredentials *bool `json:"vend_credentials" query:"vend_credentials"`
}

// Detailed reports whether the answer needs version, schema and statistics.
func (r *DescribeTableRequest) Detailed() bool {
	return r.LoadDetailedMetadata || r.Dialect == DialectLanceDB
}

// Validate refuses contradictory ways to name a version.
func (r *DescribeTableRequest) Validate() error {
	if r.Tag != "" && (r.Version != nil || r.Branch != "") {
		return Errorf(InvalidInput, "tag cannot be combined with version or branch")
	}
	return notNegative("version", r.Version)
}

// DescribeTableResponse describes a table. Only Location is always there; the fields
// that need the table to be opened are there when the request was detailed.
type DescribeTableResponse struct {
	Table             string            `json:"table,omitempty"`
	Namespace         []string          `json:"namespace,omitempty"`
	Version           *int64            `json:"version,omitempty"`
	Location          string            `json:"location,omitempty"`
	TableURI          string            `json:"table_uri,omitempty"`
	Schema            *JSONSchema       `json:"schema,omitempty"`
	StorageOptions    map[string]string `json:"storage_options,omitempty"`
	Stats             *TableBasicStats  `json:"stats,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	Properties        Properties        `json:"properties"`
	ManagedVersioning bool              `json:"managed_versioning,omitempty"`
	IsOnlyDeclared    *bool             `json:"is_only_declared,omitempty"`
}

// TableBasicStats counts what a manifest knows without reading data.
type TableBasicStats struct {
	NumDeletedRows int64 `json:"num_deleted_rows"`
	NumFragments   int64 `json:"num_fragments"`
}

// TableExistsRequest asks whether a table exists. The answer is [Empty].
type TableExistsRequest struct {
	Common
	Version *int64 `json:"version"`
}

// Validate refuses negative versions.
func (r *TableExistsRequest) Validate() error { return notNegative("version", r.Version) }

// DropTableRequest asks to remove a table and its data. The data goes at once, or after the time for which the
// table can be restored: see [PropertyDropRetention].
type DropTableRequest struct {
	Common
}

// DropTableResponse names the dropped table.
type DropTableResponse struct {
	TransactionID string       `json:"transaction_id,omitempty"`
	ID            List[string] `json:"id"`
	Location      string       `json:"location,omitempty"`
	Properties    Properties   `json:"properties"`
	Warning       string       `json:"warning,omitempty"` // about views that read the table
	// DropID and RestorableUntilMillis are there if the table can be restored.
	DropID                string `json:"drop_id,omitempty"`
	RestorableUntilMillis int64  `json:"restorable_until_millis,omitempty"`
}

// DeregisterTableRequest asks to forget the name of a table and to keep its data.
type DeregisterTableRequest struct {
	Common
}

// DeregisterTableResponse has the location at which the data remains.
type DeregisterTableResponse struct {
	TransactionID string       `json:"transaction_id,omitempty"`
	ID            List[string] `json:"id"`
	Location      string       `json:"location,omitempty"`
	Properties    Properties   `json:"properties"`
}

// DeclareTableRequest asks to reserve a name and a location for a table to be written.
type DeclareTableRequest struct {
	Common
	Location        string            `json:"location"` // empty: the catalog chooses
	VendCredentials *bool             `json:"vend_credentials"`
	Properties      map[string]string `json:"properties"`
}

// DeclareTableResponse has the location to which a client writes the data.
type DeclareTableResponse struct {
	TransactionID     string            `json:"transaction_id,omitempty"`
	Location          string            `json:"location"`
	StorageOptions    map[string]string `json:"storage_options,omitempty"`
	Properties        Properties        `json:"properties"`
	ManagedVersioning bool              `json:"managed_versioning,omitempty"`
}

// WithoutCredentials returns the response without storage options.
func (r *DeclareTableResponse) WithoutCredentials() any {
	without := *r
	without.StorageOptions = nil
	return &without
}

// RenameTableRequest asks to give a table another name, and perhaps another namespace.
type RenameTableRequest struct {
	Common
	NewTableName string `json:"new_table_name"`
	// NewNamespaceID is the namespace that the table goes to. Empty is the one that it is in:
	// clients in Java always send the field. The root is the delimiter alone, as in a path.
	NewNamespaceID []string `json:"new_namespace_id"`
	// NewNamespace is what LanceDB clients call NewNamespaceID.
	NewNamespace []string `json:"new_namespace"`
}

// Validate requires a name, and an id that a table may have.
func (r *RenameTableRequest) Validate() error {
	if err := requireText("new_table_name", r.NewTableName); err != nil {
		return err
	}
	if len(r.NewNamespaceID) > 0 && len(r.NewNamespace) > 0 && !slices.Equal(r.NewNamespaceID, r.NewNamespace) {
		return Errorf(InvalidInput, "new_namespace_id and new_namespace differ; give one of them")
	}
	if slices.Contains(r.NewNamespaceID, "") || slices.Contains(r.NewNamespace, "") {
		return Errorf(InvalidInput, "the new namespace has an empty component; the root is written [%q]", DefaultDelimiter)
	}
	if err := RequireName(r.ID); err != nil {
		return err
	}
	return CheckID(r.NewID())
}

// NewID is the id that the table is to have. ID must not be empty.
func (r *RenameTableRequest) NewID() []string {
	for _, given := range [][]string{r.NewNamespaceID, r.NewNamespace} {
		if len(given) > 0 {
			return append(resplit(given, DefaultDelimiter), r.NewTableName)
		}
	}
	return append(slices.Clone(r.ID[:len(r.ID)-1]), r.NewTableName)
}

// RenameTableResponse answers a rename.
type RenameTableResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
}

// CloneTableRequest asks for a table that begins as a version of the one at a location: the
// newest, unless a version or a tag is given.
type CloneTableRequest struct {
	Common
	SourceLocation string `json:"source_location"`
	SourceVersion  *int64 `json:"source_version"`
	SourceTag      string `json:"source_tag"`
	// IsShallow means that the clone refers to the files of its source; else it copies them. Nil is
	// true.
	IsShallow *bool `json:"is_shallow"`
}

// Validate requires a location, and at most one way to name a version.
func (r *CloneTableRequest) Validate() error {
	if r.SourceVersion != nil && r.SourceTag != "" {
		return Errorf(InvalidInput, "source_version cannot be combined with source_tag")
	}
	if r.SourceVersion != nil && *r.SourceVersion < 1 {
		return Errorf(InvalidInput, "source_version is %d; versions begin at 1", *r.SourceVersion)
	}
	return requireText("source_location", r.SourceLocation)
}

// CloneTableResponse has the location of the clone.
type CloneTableResponse struct {
	TransactionID string     `json:"transaction_id,omitempty"`
	Location      string     `json:"location"`
	Version       int64      `json:"version"`
	Properties    Properties `json:"properties"`
}

// GetTableStatsRequest asks for the sizes of a table.
type GetTableStatsRequest struct {
	Common
	Branch string `json:"branch"`
}

// GetTableStatsResponse has the sizes of a table. Every field is required by clients.
type GetTableStatsResponse struct {
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
