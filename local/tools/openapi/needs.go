package main

import "encoding/json"

// required lists the required fields of requests, and of parts of them.
var required = map[string][]string{
	"RegisterTableRequest":             {"location"},
	"RenameTableRequest":               {"new_table_name"},
	"CloneTableRequest":                {"source_location"},
	"AlterTableAddColumnsRequest":      {"new_columns"},
	"NewColumn":                        {"name"},
	"VirtualColumn":                    {"outputs", "udf", "udf_name"},
	"VirtualColumnOutput":              {"column", "data_type"},
	"AlterTableAlterColumnsRequest":    {"alterations"},
	"Alteration":                       {"path"},
	"AlterTableDropColumnsRequest":     {"columns"},
	"AlterTableBackfillColumnsRequest": {"column"},
	"UpdateFieldMetadataRequest":       {"updates"},
	"FieldMetadataUpdate":              {"path"},
	"MergeInsertIntoTableRequest":      {"on"},
	"EndMultipartWriteRequest":         {"upload_id"},
	"UpdateTableRequest":               {"updates"},
	"DeleteFromTableRequest":           {"predicate"},
	"OrderBy":                          {"column_name"},
	"BoostQuery":                       {"positive", "negative"},
	"ExplainTableQueryPlanRequest":     {"query"},
	"StatementRequest":                 {"query"},
	"FetchTableBlobsRequest":           {"column"},
	"CreateTableIndexRequest":          {"column", "index_type"},
	"RestoreTableRequest":              {"version"},
	"CompareTableVersionsRequest":      {"from_version"},
	"CreateTableVersionRequest":        {"version", "manifest_path"},
	"BatchCreateTableVersionsRequest":  {"entries"},
	"BatchVersionEntry":                {"id", "version", "manifest_path"},
	"BatchDeleteTableVersionsRequest":  {"ranges"},
	"VersionRange":                     {"start_version", "end_version"},
	"BatchCommitTablesRequest":         {"operations"},
	"GetTableTagVersionRequest":        {"tag"},
	"SetTableTagRequest":               {"tag", "version"},
	"DeleteTableTagRequest":            {"tag"},
	"CreateTableBranchRequest":         {"name"},
	"DeleteTableBranchRequest":         {"name"},
	"DiffTableBranchesRequest":         {"from_branch"},
	"CherryPickTableBranchRequest":     {"from_branch"},
	"AlterTransactionRequest":          {"actions"},
	"SetStatusAction":                  {"status"},
	"SetPropertyAction":                {"key", "value"},
	"UnsetPropertyAction":              {"key"},
	"JobRequest":                       {"job_id"},
	"QueryJobEventsRequest":            {"job_id"},
	"UDTFSpec":                         {"udtf", "udtf_sha", "udtf_name", "udtf_version"},
	"CreateViewRequest":                {"query"},
	"CreateFunctionRequest":            {"artifact", "signature", "runtime"},
	"FunctionContent":                  {"encoding", "data"},
	"FunctionSignature":                {"output"},
	"FunctionOutput":                   {"kind"},
	"FunctionField":                    {"name", "arrow_type"},
	"SecretBinding":                    {"kind", "variable", "secret_ref"},
	"SecretReference":                  {"name"},
	"FunctionRequest":                  {"version"},
	"WriteSecretRequest":               {"value"},
}

// needsOne lists fields of which a request needs one.
var needsOne = map[string][]string{
	"CreateMaterializedView": {"query", "kind"},
}

// An example is a body that an operation accepts.
type example struct {
	name, about string
	body        json.RawMessage
}

func body(text string) json.RawMessage { return json.RawMessage(text) }

// examples contains example bodies by operation. An operation without one requires no field in its
// body.
var examples = map[string][]example{
	"CreateNamespace": {{"plain", "with a property", body(`{"properties":{"owner":"sales"}}`)}},
	"ExplainAccess": {
		{"own", "what the caller may do with a table", body(`{"object_id":["shop","orders"]}`)},
		{"other", "what a member of a group may do in a namespace", body(`{"object_id":["shop"],"kind":"Namespace","subject":{"subject":"ada","groups":["analysts"]}}`)},
	},
	"ListNamespaces": {{"page", "the first page", body(`{"limit":100}`)}},
	"DropNamespace":  {{"cascade", "with all that is in it", body(`{"behavior":"Cascade"}`)}},
	"ListTables":     {{"page", "the first page", body(`{"limit":100}`)}},
	"ListAllTables":  {{"page", "the first page", body(`{"limit":100}`)}},
	"FindTables": {
		{"words", "words in names, columns and comments", body(`{"text":"orders eu","in":["name","column","comment"]}`)},
		{"column", "vectors of 768 numbers in one namespace", body(`{"namespace_id":["shop"],"columns":[{"type":"fixed_size_list<float32>[768]"}]}`)},
	},
	"ExecuteStatement": {
		{"rows", "rows by a filter, in an order", body(`{"query":"SELECT id, price * 2 AS twice FROM shop.orders WHERE price > $least ORDER BY price DESC LIMIT 10","parameters":{"least":5}}`)},
		{"nearest", "the rows nearest to a vector", body(`{"query":"SELECT id, distance(vector, $q) AS d FROM shop.points ORDER BY d LIMIT 3","parameters":{"q":[0.1,0.2]}}`)},
	},
	"RegisterTable":     {{"plain", "a table of a bucket", body(`{"location":"s3://bucket/orders.lance"}`)}},
	"DescribeTable":     {{"detailed", "with version, schema and statistics", body(`{"load_detailed_metadata":true}`)}},
	"RenameTable":       {{"plain", "into another namespace", body(`{"new_table_name":"orders_2024","new_namespace_id":["archive"]}`)}},
	"UndropTable":       {{"plain", "under another name", body(`{"new_table_name":"orders_again"}`)}},
	"UndropNamespace":   {{"plain", "under another name", body(`{"new_id":["shop_again"]}`)}},
	"CloneTable":        {{"shallow", "which refers to the files of its source", body(`{"source_location":"s3://bucket/orders.lance","source_version":3}`)}},
	"ListTableVersions": {{"latest", "the latest ones", body(`{"descending":true,"limit":20}`)}},

	"AlterTableAddColumns": {
		{"expression", "computed once by SQL", body(`{"new_columns":[{"name":"total","expression":"price * amount"}]}`)},
		{"computed", "computed by jobs, also for rows to come", body(`{"new_columns":[{"name":"total","computed":"price * amount"}]}`)},
		{"virtual", "computed by a function of Python", body(`{"new_columns":[{"name":"half","virtual_column":{"input_columns":["x"],"outputs":[{"column":"half","data_type":"float32"}],"udf":"e30=","udf_name":"half"}}]}`)},
	},
	"AlterTableAlterColumns":    {{"plain", "another name and type", body(`{"alterations":[{"path":"amount","rename":"count","data_type":{"type":"int64"}}]}`)}},
	"AlterTableDropColumns":     {{"plain", "two columns", body(`{"columns":["note","total"]}`)}},
	"AlterTableBackfillColumns": {{"plain", "the rows without a value", body(`{"column":"total"}`)}},
	"UpdateFieldMetadata":       {{"plain", "one key of one field", body(`{"updates":[{"path":"price","metadata":{"unit":"EUR"}}]}`)}},
	"UpdateTableSchemaMetadata": {{"plain", "one key", body(`{"source":"shop"}`)}},

	"UpdateTable":     {{"plain", "one column", body(`{"updates":[["price","price * 1.1"]],"predicate":"id < 100"}`)}},
	"DeleteFromTable": {{"plain", "some rows", body(`{"predicate":"id < 100"}`)}},

	"QueryTable": {
		{"filter", "rows where a condition is true", body(`{"filter":"id > 10","columns":["id"],"order_by":[{"column_name":"id"}],"k":10}`)},
		{"vector", "the nearest rows", body(`{"vector":[0.1,0.2],"k":10,"prefilter":true,"filter":"id > 10"}`)},
		{"text", "rows with words", body(`{"full_text_query":{"string_query":{"query":"red shoes","columns":["title"]}},"k":10}`)},
		{"hybrid", "rows near a vector and with words", body(`{"vector":[0.1,0.2],"full_text_query":{"string_query":{"query":"red shoes","columns":["title"]}},"rerank":{"method":"rrf","k":60,"weights":{"vector":2,"text":1}},"k":10,"prefilter":true}`)},
		{"structured", "rows with words, and rather without others", body(`{"full_text_query":{"structured_query":{"query":{"boost":{"positive":{"match":{"terms":"shoes","column":"title"}},"negative":{"match":{"terms":"used","column":"title"}}}}}}}`)},
	},
	"CountTableRows":        {{"plain", "rows where a condition is true", body(`{"predicate":"id > 10"}`)}},
	"ExplainTableQueryPlan": {{"plain", "the plan of a vector query", body(`{"query":{"vector":[0.1,0.2],"k":10,"filter":"id > 10"},"verbose":true}`)}},
	"AnalyzeTableQueryPlan": {{"plain", "a vector query", body(`{"vector":[0.1,0.2],"k":10,"filter":"id > 10"}`)}},
	"PrewarmTable":          {{"plain", "one column", body(`{"columns":["vector"]}`)}},
	"FetchTableBlobs":       {{"plain", "the values of two rows", body(`{"column":"image","row_ids":[0,1]}`)}},

	"CreateTableIndex": {
		{"vector", "for vectors", body(`{"column":"vector","index_type":"IVF_PQ","distance_type":"cosine"}`)},
		{"text", "for full-text search", body(`{"column":"title","index_type":"FTS","with_position":true}`)},
	},
	"CreateTableScalarIndex": {{"plain", "for filters", body(`{"column":"id","index_type":"BTREE"}`)}},

	"CreateTableVersion":       {{"plain", "a staged manifest", body(`{"version":2,"manifest_path":"data/orders.lance/_versions/staged.manifest"}`)}},
	"DescribeTableVersion":     {{"plain", "the first version", body(`{"version":1}`)}},
	"BatchDeleteTableVersions": {{"plain", "the versions 1 and 2", body(`{"ranges":[{"start_version":1,"end_version":3}]}`)}},
	"BatchCreateTableVersions": {{"plain", "of one table", body(`{"entries":[{"id":["shop","orders"],"version":2,"manifest_path":"data/orders.lance/_versions/staged.manifest"}]}`)}},
	"BatchCommitTables":        {{"plain", "a name for a new table, and the end of another one's", body(`{"operations":[{"declare_table":{"id":["shop","orders"]}},{"deregister_table":{"id":["shop","old"]}}]}`)}},
	"RestoreTable":             {{"plain", "version 1", body(`{"version":1}`)}},
	"CompareTableVersions":     {{"plain", "the first version with the newest", body(`{"from_version":1}`)}},

	"GetTableTagVersion":    {{"plain", "one tag", body(`{"tag":"stable"}`)}},
	"CreateTableTag":        {{"plain", "of version 1", body(`{"tag":"stable","version":1}`)}},
	"UpdateTableTag":        {{"plain", "of version 2", body(`{"tag":"stable","version":2}`)}},
	"DeleteTableTag":        {{"plain", "one tag", body(`{"tag":"stable"}`)}},
	"CreateTableBranch":     {{"plain", "of version 1", body(`{"name":"trial","from_version":1}`)}},
	"DeleteTableBranch":     {{"plain", "one branch", body(`{"name":"trial"}`)}},
	"DiffTableBranches":     {{"plain", "one branch", body(`{"from_branch":"trial"}`)}},
	"CherryPickTableBranch": {{"dry", "without changing anything", body(`{"from_branch":"trial","dry_run":true}`)}},

	"AlterTransaction": {{"plain", "two changes", body(`{"actions":[{"setPropertyAction":{"key":"owner","value":"me"}},{"unsetPropertyAction":{"key":"old"}},{"setStatusAction":{"status":"Canceled"}}]}`)}},
	"DescribeJob":      {{"plain", "one job", body(`{"job_id":"…"}`)}},
	"QueryJobEvents":   {{"plain", "the events of one job", body(`{"job_id":"…","limit":100}`)}},
	"CancelJob":        {{"plain", "one job", body(`{"job_id":"…"}`)}},
	"PauseJob":         {{"plain", "one job", body(`{"job_id":"…"}`)}},
	"ResumeJob":        {{"plain", "one job", body(`{"job_id":"…"}`)}},
	"ListEvents":       {{"plain", "commits to the tables of a namespace", body(`{"types":["tiltyard.table.committed"],"within":["sales"],"limit":100}`)}},
	"MaintainTable":    {{"dry", "what would be done", body(`{"dry_run":true}`)}},

	"CreateMaterializedView": {
		{"sql", "the rows of a query", body(`{"query":"SELECT id, price FROM orders WHERE price > 10","auto_refresh":true}`)},
		{"chunker", "what a function of Python makes of rows", body(`{"kind":"chunker","source_query":"{}","output_schema":"AAAA","udtf_spec":{"udtf":"e30=","udtf_sha":"a135823e1f3518ee22848a79f5427d8cee0bfb85fbc6b4e6eda61f883c057c9e","udtf_name":"pieces","udtf_version":"1"}}`)},
	},
	"RefreshMaterializedView": {{"full", "all rows", body(`{"full":true}`)}},
	"CreateView":              {{"plain", "the rows of a query", body(`{"query":"SELECT id, price FROM orders WHERE price > 10"}`)}},
	"CreateFunction": {{"sql", "half of a number, in SQL", body(`{"artifact":{"kind":"sql_expression","digest":"sha256:42483466cc8d18c0415f76cff7a284984f3d0af10d1af4ae6eb6ac779fe3d36c","content":{"encoding":"base64","data":"eCAvIDI="}},
		"signature":{"inputs":[{"name":"x","arrow_type":"float64"}],"output":{"kind":"scalar","arrow_type":"float64","nullable":false}},"runtime":{"kind":"sql"},
		"secret_bindings":[{"kind":"env","variable":"KEY","secret_ref":{"name":"key"}}]}`)}},
	"DescribeFunction": {{"plain", "the first version", body(`{"version":"1"}`)}},
	"DropFunction":     {{"plain", "the first version", body(`{"version":"1"}`)}},
	"CreateSecret":     {{"plain", "a value", body(`{"value":"…"}`)}},
	"AlterSecret":      {{"plain", "another value", body(`{"value":"…"}`)}},
	"ListTableErrors":  {{"plain", "of one column", body(`{"column":"total","limit":100}`)}},
}
