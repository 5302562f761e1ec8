package main

import (
	"net/http"
	"strings"

	"tiltyard/shared/protocol"
)

const about = `A catalog and query service for Lance tables. It serves the operations of the Lance Namespace REST protocol, those
that LanceDB's remote clients use instead of them, and few of its own. x-origin of an operation is spec, lancedb or own.

An id in a path is the names from the root namespace down, joined by $: shop$orders is the table orders in the namespace
shop. $ alone is the root namespace. A path may end in a slash; answers then have the spellings that LanceDB's clients read.

Rows go in and out in the Arrow IPC format. All else is JSON. In a request null is the same as no field, and fields that are
not known are ignored; x-ignored of an operation lists those that clients know and that have no effect here. An error is answered with the JSON object Problem; if its retryable is true, the same request may succeed later.`

type group struct {
	name  protocol.Group
	about string
}

// groups are the groups of operations in the order of the table.
var groups = []group{
	{protocol.GroupNamespace, "Namespaces, which hold tables and other namespaces."},
	{protocol.GroupTable, "Names of tables, their locations and sizes."},
	{protocol.GroupSchema, "Columns and metadata of a schema."},
	{protocol.GroupData, "Writing rows."},
	{protocol.GroupQuery, "Reading rows: filters, vectors, full text."},
	{protocol.GroupIndex, "Indices."},
	{protocol.GroupVersion, "Versions of tables."},
	{protocol.GroupRef, "Tags and branches."},
	{protocol.GroupTransaction, "Transactions, jobs and maintenance."},
	{protocol.GroupView, "Views, functions and secrets."},
}

// summaries has a line about each operation.
var summaries = map[string]string{
	"CreateNamespace":   "Create a namespace",
	"ListNamespaces":    "List the namespaces in a namespace",
	"DescribeNamespace": "Describe a namespace",
	"DropNamespace":     "Drop a namespace",
	"NamespaceExists":   "Ask whether a namespace exists",
	"ListDropped":       "List what was dropped in a namespace and can be restored",
	"ExplainAccess":     "Explain what a subject may do with an object",
	"UndropNamespace":   "Restore a dropped namespace with what was dropped with it",

	"ListTables":      "List the tables in a namespace",
	"ListAllTables":   "List the tables of all namespaces",
	"FindTables":      "Find tables by name, column, property, tag or comment",
	"RegisterTable":   "Give a name to a table that exists on storage",
	"DescribeTable":   "Describe a table at a version",
	"TableExists":     "Ask whether a table exists",
	"DropTable":       "Drop a table, and its data if it cannot be restored",
	"DeregisterTable": "Forget the name of a table and keep its data",
	"DeclareTable":    "Reserve a name and a location for a table",
	"RenameTable":     "Rename a table, also into another namespace",
	"GetTableStats":   "Count rows, bytes, indices and fragments of a table",
	"GetTableStorage": "Measure how much each column of a table takes",
	"CloneTable":      "Create a table that begins as a version of another one",
	"UndropTable":     "Restore a dropped table or view, under its name or another one",
	"PurgeTable":      "Delete the files of a dropped table before its time",

	"AlterTableAddColumns":      "Add columns",
	"AlterTableAlterColumns":    "Rename columns, or change their types",
	"AlterTableDropColumns":     "Drop columns",
	"AlterTableBackfillColumns": "Compute the values of a computed column by a job",
	"UpdateFieldMetadata":       "Change the metadata of fields",
	"UpdateTableSchemaMetadata": "Set keys of the metadata of the schema",

	"CreateTable":            "Create a table from an Arrow stream",
	"InsertIntoTable":        "Add the rows of an Arrow stream",
	"MergeInsertIntoTable":   "Merge the rows of an Arrow stream by key columns",
	"UpdateTable":            "Set columns to SQL expressions in the rows that match",
	"DeleteFromTable":        "Delete the rows that match",
	"CreateMultipartWrite":   "Begin a write of several parts",
	"CompleteMultipartWrite": "Make one version of the parts of a write",
	"AbortMultipartWrite":    "Abandon a write of several parts",
	"SetLsmWriteSpec":        "Ask for a write-ahead log (refused: this service has none)",
	"UnsetLsmWriteSpec":      "Ask for no write-ahead log",
	"GetLsmWriteSpec":        "Ask how a write-ahead log is set up: there is none",
	"FlushLsm":               "Flush the write-ahead log: there is none",
	"CompactLsm":             "Compact the write-ahead log: there is none",
	"GetLsmStats":            "Ask for the numbers of a write-ahead log: there is none",
	"EnableRte":              "SetLsmWriteSpec by its newer name",
	"DisableRte":             "UnsetLsmWriteSpec by its newer name",
	"GetRteSpec":             "GetLsmWriteSpec by its newer name",
	"FlushRte":               "FlushLsm by its newer name",
	"CompactRte":             "CompactLsm by its newer name",
	"GetRteStats":            "GetLsmStats by its newer name",

	"QueryTable":            "Query rows by filter, vector or text",
	"CountTableRows":        "Count the rows that match",
	"ExplainTableQueryPlan": "Show the plan of a query",
	"AnalyzeTableQueryPlan": "Run a query and show its plan with times and counts",
	"PrewarmTable":          "Load columns into the cache",
	"FetchTableBlobs":       "Read whole values of a blob column",
	"ReadTableBlob":         "Read one value of a blob column, or a range of its bytes",
	"ReadTableResult":       "Read the stored answer to a query, or a range of its bytes",

	"CreateTableIndex":        "Create an index on a column",
	"CreateTableScalarIndex":  "Create an index on a column of scalars",
	"ListTableIndices":        "List the indices of a table",
	"DescribeTableIndexStats": "Describe what an index covers",
	"DropTableIndex":          "Drop an index",
	"PrewarmTableIndex":       "Load an index into the cache",

	"ListTableVersions":        "List the versions of a table",
	"CreateTableVersion":       "Make a staged manifest the next version",
	"DescribeTableVersion":     "Describe a version",
	"BatchDeleteTableVersions": "Delete versions of a table",
	"BatchCreateTableVersions": "Make versions of many tables, all or none",
	"BatchCommitTables":        "Change many tables, all or none",
	"RestoreTable":             "Make an old version the newest",
	"CompareTableVersions":     "List the rows that differ between two versions",

	"ListTableTags":         "List the tags of a table",
	"GetTableTagVersion":    "Describe a tag",
	"CreateTableTag":        "Create a tag",
	"UpdateTableTag":        "Let a tag name another version",
	"DeleteTableTag":        "Delete a tag",
	"ListTableBranches":     "List the branches of a table",
	"CreateTableBranch":     "Create a branch",
	"DeleteTableBranch":     "Delete a branch and its versions",
	"DiffTableBranches":     "Compare a branch with its table",
	"CherryPickTableBranch": "Take over the columns that a branch has added",

	"DescribeTransaction": "Describe a transaction",
	"AlterTransaction":    "Change a transaction",
	"ListJobs":            "List jobs, the newest first",
	"DescribeJob":         "Describe a job",
	"QueryJobEvents":      "Read the events of a job",
	"CancelJob":           "Cancel a job",
	"PauseJob":            "Pause a job",
	"ResumeJob":           "Resume a job",
	"ListEvents":          "Read the events of changes, the oldest first",
	"MaintainTable":       "Compact a table, bring its indices up to date, delete old versions",

	"CreateMaterializedView":   "Create a materialized view",
	"RefreshMaterializedView":  "Refresh a materialized view by a job",
	"RefreshTable":             "Refresh a materialized view by the path of its table",
	"DescribeMaterializedView": "Describe a materialized view",
	"DropMaterializedView":     "Drop a materialized view",
	"ListMaterializedViews":    "List the materialized views in a namespace",
	"CreateView":               "Create a view without rows of its own",
	"DescribeView":             "Describe a view",
	"DropView":                 "Drop a view",
	"ListViews":                "List the views in a namespace",
	"CreateFunction":           "Create a version of a function by a job",
	"DescribeFunction":         "Describe a version of a function",
	"DropFunction":             "Drop a version of a function",
	"ListFunctions":            "List the functions in a namespace",
	"CreateSecret":             "Create a secret",
	"AlterSecret":              "Replace the value of a secret",
	"DescribeSecret":           "Describe a secret, without its value",
	"DropSecret":               "Drop a secret",
	"ListSecrets":              "List the secrets in a namespace",
	"ListTableErrors":          "List the rows that functions failed for",
}

// notes has what summaries have no room for.
var notes = map[string]string{
	"QueryTable":      "Rows come as an Arrow file. The header Accept can ask for a stream, and for compression: `application/vnd.apache.arrow.stream; compression=zstd`. The header X-Tiltyard-Result lets the server write the rows to storage, for answers that are too large for a response.",
	"ReadTableBlob":   "The header Range selects a part of the value.",
	"ReadTableResult": "Only the caller that asked for the answer can read it, for a day. In S3 the response leads to a signed URL, which works for an hour and needs no token.",
	"CreateTable":     "The body is an Arrow IPC stream; one without rows creates an empty table.",
	"InsertIntoTable": "The body is an Arrow IPC stream. Columns are matched by name; nullable columns may be missing.",

	"MergeInsertIntoTable": "The body is an Arrow IPC stream. Without an action the merge changes nothing.",
}

// statuses has the statuses of answers where there is more than one, or where the type does not have it.
var statuses = map[string][]int{
	"DropNamespace":          {http.StatusOK, http.StatusNoContent},
	"CreateMaterializedView": {http.StatusOK, http.StatusCreated, http.StatusAccepted},
	"CherryPickTableBranch":  {http.StatusOK, http.StatusConflict},
	"QueryTable":             {http.StatusOK, http.StatusSeeOther},
	"FetchTableBlobs":        {http.StatusOK, http.StatusSeeOther},
	"ReadTableResult":        {http.StatusOK, http.StatusPartialContent, http.StatusSeeOther, http.StatusRequestedRangeNotSatisfiable},
	"ReadTableBlob":          {http.StatusOK, http.StatusNoContent, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable},
}

// emptyAnswers says what 204 means.
var emptyAnswers = map[string]string{
	"DropNamespace": "There was no such namespace, and the mode is Skip.",
	"ReadTableBlob": "The value is null.",
}

// idParameters has what the id in a path names.
var idParameters = []struct{ kind, about, example string }{
	{"namespace", "The names of the namespaces from the root down, joined by $. $ alone is the root.", "shop"},
	{"table", "The names of the namespaces and the table, joined by $.", "shop$orders"},
	{"transaction", "The id of the transaction. The names of its table may be in front of it, joined by $.", ""},
	{"materialized_view", "The names of the namespaces and the view, joined by $.", "shop$totals"},
	{"view", "The names of the namespaces and the view, joined by $.", "shop$recent"},
	{"function", "The names of the namespaces and the function, joined by $.", "shop$half"},
	{"secret", "The names of the namespaces and the secret, joined by $.", "shop$key"},
}

// sharedParameters lists the parameters that several operations have, by name.
func sharedParameters() object {
	text := object{{"type", "string"}}
	all := object{}
	for _, p := range idParameters {
		parameter := object{{"name", "id"}, {"in", "path"}, {"required", true}, {"description", p.about}, {"schema", text}}
		if p.example != "" {
			parameter = parameter.with("example", p.example)
		}
		all = all.with(p.kind+"Id", parameter)
	}
	header := func(name, about string, schema object) object {
		return object{{"name", name}, {"in", "header"}, {"description", about}, {"schema", schema}}
	}
	return append(all, object{
		{"delimiter", object{
			{"name", "delimiter"}, {"in", "query"}, {"description", "What joins the names of an id, in the path and in answers."},
			{"schema", text.with("default", protocol.DefaultDelimiter)},
		}},
		{"idempotencyKey", header("idempotency-key", "A text of the caller's choice. A request that is sent again with the same key happens once, and has the answer of the first. GET /version tells whether the server keeps keys.", text.with("maxLength", 255))},
		{"range", header("range", "The bytes that are wanted, such as bytes=0-99.", text)},
		{"result", header("x-tiltyard-result", "redirect: an answer beyond 4 MiB is written to storage, and the response leads to it, as clients that follow redirects need. link: the answer is written to storage, and the response says where it is.", object{{"enum", []string{"redirect", "link"}}})},
		{"timeout", header("x-request-timeout-ms", "How many milliseconds the request may take, where that is less than the server allows.", object{{"type", "integer"}, {"minimum", 0}})},
	}...)
}

// llms is a text about the service for language models.
func llms() string {
	var b strings.Builder
	b.WriteString(llmsHead)
	for _, group := range groups {
		b.WriteString("\n### " + string(group.name) + ": " + group.about + "\n\n")
		for _, op := range protocol.Operations {
			if op.Group == group.name {
				b.WriteString("- " + op.Name + ": " + strings.Join(op.Methods, ", ") + " " + op.Path + " - " + summaries[op.Name] + "\n")
			}
		}
	}
	return b.String()
}
