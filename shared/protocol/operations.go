package protocol

import (
	"net/http"
	"strings"
)

// Group names a family of endpoints. It is the folder under functions and under
// shared/service, and the unit of deployment and of permission.
type Group string

// The groups of the endpoints.
const (
	GroupNamespace   Group = "namespace"
	GroupTable       Group = "table"
	GroupSchema      Group = "schema"
	GroupData        Group = "data"
	GroupQuery       Group = "query"
	GroupIndex       Group = "index"
	GroupVersion     Group = "version"
	GroupRef         Group = "ref"
	GroupTransaction Group = "transaction"
	GroupView        Group = "view"
)

// Access reports whether an operation may change anything.
type Access string

// The kinds of access. Write implies that the caller may also read.
const (
	Read  Access = "read"
	Write Access = "write"
)

// Operation is one row of the operation table.
type Operation struct {
	Name    string   // as in the public specification: CreateNamespace
	Methods []string // allowed methods, the specification's own first
	Path    string   // with {id} and other parameters, without trailing slash
	Group   Group
	Access  Access
	Origin  Origin
}

// Frees reports whether the operation deletes what is stored, or begins a job that does: it must be possible on a full
// disk.
func (o Operation) Frees() bool {
	switch o.Name {
	case "PurgeTable", "BatchDeleteTableVersions", "DeleteTableBranch", "MaintainTable", "CancelJob":
		return true
	}
	return strings.HasPrefix(o.Name, "Drop")
}

// Permission returns the name of the operation that a caller must be permitted. A client decides
// by itself to send an insert as a multipart write, so that needs the permission to insert. A refresh
// has two paths. A stored result is the answer to a query. The storage of columns is a part of what
// describes a table.
func (o Operation) Permission() string {
	switch o.Name {
	case "CreateMultipartWrite", "CompleteMultipartWrite", "AbortMultipartWrite":
		return "InsertIntoTable"
	case "ReadTableResult":
		return "QueryTable"
	case "GetTableStorage":
		return "DescribeTable"
	case "RefreshTable":
		return "RefreshMaterializedView"
	}
	return o.Name
}

// Origin says where an operation is defined.
type Origin string

// The origins of operations.
const (
	Spec    Origin = "spec"    // the public Lance Namespace specification, 0.13
	LanceDB Origin = "lancedb" // only the LanceDB clients call it
	Own     Origin = "own"     // this service, beside all specifications
)

// Lookup returns the operation of that name.
func Lookup(name string) (Operation, bool) {
	for _, op := range Operations {
		if op.Name == name {
			return op, true
		}
	}
	return Operation{}, false
}

var (
	post = []string{http.MethodPost}
	get  = []string{http.MethodGet}
	list = []string{http.MethodGet, http.MethodPost} // the lists answer both

	listByPost = []string{http.MethodPost, http.MethodGet} // and so do these
)

// Operations is the one table of operations: routing, permissions, deployment and
// documentation are made from it. Nobody changes it.
var Operations = []Operation{
	{"CreateNamespace", post, "/v1/namespace/{id}/create", GroupNamespace, Write, Spec},
	{"ListNamespaces", list, "/v1/namespace/{id}/list", GroupNamespace, Read, Spec},
	{"DescribeNamespace", post, "/v1/namespace/{id}/describe", GroupNamespace, Read, Spec},
	{"DropNamespace", post, "/v1/namespace/{id}/drop", GroupNamespace, Write, Spec},
	{"NamespaceExists", post, "/v1/namespace/{id}/exists", GroupNamespace, Read, Spec},
	{"ListDropped", list, "/v1/namespace/{id}/dropped/list", GroupNamespace, Read, Own},
	{"ExplainAccess", post, "/v1/access/explain", GroupNamespace, Read, Own},
	{"UndropNamespace", post, "/v1/namespace/{id}/undrop", GroupNamespace, Write, Own},

	{"ListTables", list, "/v1/namespace/{id}/table/list", GroupTable, Read, Spec},
	{"ListAllTables", list, "/v1/table", GroupTable, Read, Spec},
	{"FindTables", post, "/v1/table/find", GroupTable, Read, Own},
	{"RegisterTable", post, "/v1/table/{id}/register", GroupTable, Write, Spec},
	{"DescribeTable", post, "/v1/table/{id}/describe", GroupTable, Read, Spec},
	{"TableExists", post, "/v1/table/{id}/exists", GroupTable, Read, Spec},
	{"DropTable", post, "/v1/table/{id}/drop", GroupTable, Write, Spec},
	{"DeregisterTable", post, "/v1/table/{id}/deregister", GroupTable, Write, Spec},
	{"DeclareTable", post, "/v1/table/{id}/declare", GroupTable, Write, Spec},
	{"RenameTable", post, "/v1/table/{id}/rename", GroupTable, Write, Spec},
	{"GetTableStats", post, "/v1/table/{id}/stats", GroupTable, Read, Spec},
	{"GetTableStorage", post, "/v1/table/{id}/storage", GroupTable, Read, Own},
	{"CloneTable", post, "/v1/table/{id}/clone", GroupTable, Write, LanceDB},
	{"UndropTable", post, "/v1/table/{id}/undrop", GroupTable, Write, Own},
	{"PurgeTable", post, "/v1/table/{id}/purge", GroupTable, Write, Own},

	{"AlterTableAddColumns", post, "/v1/table/{id}/add_columns", GroupSchema, Write, Spec},
	{"AlterTableAlterColumns", post, "/v1/table/{id}/alter_columns", GroupSchema, Write, Spec},
	{"AlterTableDropColumns", post, "/v1/table/{id}/drop_columns", GroupSchema, Write, Spec},
	{"AlterTableBackfillColumns", post, "/v1/table/{id}/backfill_column", GroupSchema, Write, Spec},
	{"UpdateFieldMetadata", post, "/v1/table/{id}/update_field_metadata", GroupSchema, Write, Spec},
	{"UpdateTableSchemaMetadata", post, "/v1/table/{id}/schema_metadata/update", GroupSchema, Write, Spec},

	{"CreateTable", post, "/v1/table/{id}/create", GroupData, Write, Spec},
	{"InsertIntoTable", post, "/v1/table/{id}/insert", GroupData, Write, Spec},
	{"MergeInsertIntoTable", post, "/v1/table/{id}/merge_insert", GroupData, Write, Spec},
	{"UpdateTable", post, "/v1/table/{id}/update", GroupData, Write, Spec},
	{"DeleteFromTable", post, "/v1/table/{id}/delete", GroupData, Write, Spec},
	{"CreateMultipartWrite", post, "/v1/table/{id}/multipart_write/create", GroupData, Write, LanceDB},
	{"CompleteMultipartWrite", post, "/v1/table/{id}/multipart_write/complete", GroupData, Write, LanceDB},
	{"AbortMultipartWrite", post, "/v1/table/{id}/multipart_write/abort", GroupData, Write, LanceDB},
	{"SetLsmWriteSpec", post, "/v1/table/{id}/set_lsm_write_spec", GroupData, Write, LanceDB},
	{"UnsetLsmWriteSpec", post, "/v1/table/{id}/unset_lsm_write_spec", GroupData, Write, LanceDB},
	{"GetLsmWriteSpec", post, "/v1/table/{id}/get_lsm_write_spec", GroupData, Read, LanceDB},
	{"FlushLsm", post, "/v1/table/{id}/flush_lsm", GroupData, Write, LanceDB},
	{"CompactLsm", post, "/v1/table/{id}/compact_lsm", GroupData, Write, LanceDB},
	{"GetLsmStats", post, "/v1/table/{id}/get_lsm_stats", GroupData, Read, LanceDB},
	{"EnableRte", post, "/v1/table/{id}/enable_rte", GroupData, Write, LanceDB}, // these are newer names of those before
	{"DisableRte", post, "/v1/table/{id}/disable_rte", GroupData, Write, LanceDB},
	{"GetRteSpec", post, "/v1/table/{id}/get_rte_spec", GroupData, Read, LanceDB},
	{"FlushRte", post, "/v1/table/{id}/flush_rte", GroupData, Write, LanceDB},
	{"CompactRte", post, "/v1/table/{id}/compact_rte", GroupData, Write, LanceDB},
	{"GetRteStats", post, "/v1/table/{id}/get_rte_stats", GroupData, Read, LanceDB},

	{"QueryTable", post, "/v1/table/{id}/query", GroupQuery, Read, Spec},
	{"CountTableRows", post, "/v1/table/{id}/count_rows", GroupQuery, Read, Spec},
	{"ExplainTableQueryPlan", post, "/v1/table/{id}/explain_plan", GroupQuery, Read, Spec},
	{"AnalyzeTableQueryPlan", post, "/v1/table/{id}/analyze_plan", GroupQuery, Read, Spec},
	{"PrewarmTable", post, "/v1/table/{id}/page_cache/prewarm", GroupQuery, Read, LanceDB},
	{"FetchTableBlobs", post, "/v1/table/{id}/fetch_blobs", GroupQuery, Read, LanceDB},
	{"ReadTableBlob", get, "/v1/table/{id}/blob/{column}/{row_id}/bytes", GroupQuery, Read, LanceDB},
	{"ReadTableResult", get, "/v1/table/{id}/result/{result_id}", GroupQuery, Read, Own},

	{"CreateTableIndex", post, "/v1/table/{id}/create_index", GroupIndex, Write, Spec},
	{"CreateTableScalarIndex", post, "/v1/table/{id}/create_scalar_index", GroupIndex, Write, Spec},
	{"ListTableIndices", listByPost, "/v1/table/{id}/index/list", GroupIndex, Read, Spec},
	{"DescribeTableIndexStats", post, "/v1/table/{id}/index/{index_name}/stats", GroupIndex, Read, Spec},
	{"DropTableIndex", post, "/v1/table/{id}/index/{index_name}/drop", GroupIndex, Write, Spec},
	{"PrewarmTableIndex", post, "/v1/table/{id}/index/{index_name}/prewarm", GroupIndex, Read, LanceDB},

	{"ListTableVersions", listByPost, "/v1/table/{id}/version/list", GroupVersion, Read, Spec},
	{"CreateTableVersion", post, "/v1/table/{id}/version/create", GroupVersion, Write, Spec},
	{"DescribeTableVersion", post, "/v1/table/{id}/version/describe", GroupVersion, Read, Spec},
	{"BatchDeleteTableVersions", post, "/v1/table/{id}/version/delete", GroupVersion, Write, Spec},
	{"BatchCreateTableVersions", post, "/v1/table/version/batch-create", GroupVersion, Write, Spec},
	{"BatchCommitTables", post, "/v1/table/batch-commit", GroupVersion, Write, Spec},
	{"RestoreTable", post, "/v1/table/{id}/restore", GroupVersion, Write, Spec},
	{"CompareTableVersions", post, "/v1/table/{id}/version/compare", GroupVersion, Read, Own},

	{"ListTableTags", listByPost, "/v1/table/{id}/tags/list", GroupRef, Read, Spec},
	{"GetTableTagVersion", post, "/v1/table/{id}/tags/version", GroupRef, Read, Spec},
	{"CreateTableTag", post, "/v1/table/{id}/tags/create", GroupRef, Write, Spec},
	{"UpdateTableTag", post, "/v1/table/{id}/tags/update", GroupRef, Write, Spec},
	{"DeleteTableTag", post, "/v1/table/{id}/tags/delete", GroupRef, Write, Spec},
	{"ListTableBranches", listByPost, "/v1/table/{id}/branches/list", GroupRef, Read, Spec},
	{"CreateTableBranch", post, "/v1/table/{id}/branches/create", GroupRef, Write, Spec},
	{"DeleteTableBranch", post, "/v1/table/{id}/branches/delete", GroupRef, Write, Spec},
	{"DiffTableBranches", post, "/v1/table/{id}/branches/diff", GroupRef, Read, LanceDB},
	{"CherryPickTableBranch", post, "/v1/table/{id}/branches/cherry_pick", GroupRef, Write, LanceDB},

	{"DescribeTransaction", post, "/v1/transaction/{id}/describe", GroupTransaction, Read, Spec},
	{"AlterTransaction", post, "/v1/transaction/{id}/alter", GroupTransaction, Write, Spec},
	{"ListJobs", listByPost, "/v1/jobs/list", GroupTransaction, Read, LanceDB},
	{"DescribeJob", post, "/v1/jobs/describe", GroupTransaction, Read, LanceDB},
	{"QueryJobEvents", post, "/v1/jobs/query_events", GroupTransaction, Read, LanceDB},
	{"CancelJob", post, "/v1/jobs/cancel", GroupTransaction, Write, LanceDB},
	{"PauseJob", post, "/v1/jobs/pause", GroupTransaction, Write, LanceDB},
	{"ResumeJob", post, "/v1/jobs/resume", GroupTransaction, Write, LanceDB},
	{"ListEvents", post, "/v1/event/list", GroupTransaction, Read, Own},
	{"MaintainTable", post, "/v1/table/{id}/maintain", GroupTransaction, Write, Own},

	{"CreateMaterializedView", post, "/v1/materialized_view/{id}/create", GroupView, Write, Spec},
	{"RefreshMaterializedView", post, "/v1/materialized_view/{id}/refresh", GroupView, Write, Spec},
	{"RefreshTable", post, "/v1/table/{id}/refresh", GroupView, Write, LanceDB}, // the same, as native Lance's adapter serves it
	{"DescribeMaterializedView", post, "/v1/materialized_view/{id}/describe", GroupView, Read, LanceDB},
	{"DropMaterializedView", post, "/v1/materialized_view/{id}/drop", GroupView, Write, LanceDB},
	{"ListMaterializedViews", list, "/v1/namespace/{id}/materialized_view/list", GroupView, Read, LanceDB},
	{"CreateView", post, "/v1/view/{id}/create", GroupView, Write, LanceDB},
	{"DescribeView", post, "/v1/view/{id}/describe", GroupView, Read, LanceDB},
	{"DropView", post, "/v1/view/{id}/drop", GroupView, Write, LanceDB},
	{"ListViews", list, "/v1/namespace/{id}/view/list", GroupView, Read, LanceDB},
	{"CreateFunction", post, "/v1/function/{id}/create", GroupView, Write, LanceDB},
	{"DescribeFunction", post, "/v1/function/{id}/describe", GroupView, Read, LanceDB},
	{"DropFunction", post, "/v1/function/{id}/drop", GroupView, Write, LanceDB},
	{"ListFunctions", list, "/v1/namespace/{id}/function/list", GroupView, Read, LanceDB},
	{"CreateSecret", post, "/v1/secret/{id}/create", GroupView, Write, LanceDB},
	{"AlterSecret", post, "/v1/secret/{id}/alter", GroupView, Write, LanceDB},
	{"DescribeSecret", post, "/v1/secret/{id}/describe", GroupView, Read, LanceDB},
	{"DropSecret", post, "/v1/secret/{id}/drop", GroupView, Write, LanceDB},
	{"ListSecrets", list, "/v1/namespace/{id}/secret/list", GroupView, Read, LanceDB},
	{"ListTableErrors", post, "/v1/table/{id}/errors", GroupView, Read, LanceDB},
}

// SpecificationVersion is the version of the public specification that is spoken here.
const SpecificationVersion = "0.13"

// RemoteVersion is the feature level that LanceDB's remote clients assume of this server. From 0.3.0 on
// they send structured text queries and several vectors, and from 0.4.0 on multipart writes; from 0.5.0
// on they fetch blobs, and from 0.6.0 on they search for elements of lists.
const RemoteVersion = "0.6.0"
