package all_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/storage/objectstore"
)

// tell asks for all operations: by a line here, or for the least that they take on a table.
func (h *history) tell() {
	rows, more := stream(h.T, 0, 20), stream(h.T, 20, 20)
	h.does("CreateNamespace", "shop", `{"properties":{"owner":"me"}}`)
	h.does("ListNamespaces", "$", "")
	h.does("DescribeNamespace", "shop", `{}`)
	h.does("NamespaceExists", "shop", `{}`)
	h.does("ExplainAccess", "", `{"object_id":["shop"],"kind":"Namespace"}`)

	h.does("CreateTable", "shop$t", rows)
	h.does("CreateTable", "shop$t?mode=overwrite", rows)
	h.does("DeclareTable", "shop$later", `{}`)
	h.does("InsertIntoTable", "shop$later", rows)
	h.does("InsertIntoTable", "shop$t", more)
	h.does("MergeInsertIntoTable", "shop$t?on=id&when_matched_update_all=true&when_not_matched_insert_all=true", more)
	h.does("UpdateTable", "shop$t", `{"predicate":"id = 0","updates":[["x","-1"]]}`)
	h.does("DeleteFromTable", "shop$t", `{"predicate":"id = 1"}`)
	for _, op := range operations.All {
		if _, isLog := op.Request.(*dataapi.LSMRequest); isLog {
			h.live.send(deed{operation: op.Name, where: "shop$t", body: `{}`}) // some are refused
			h.done[op.Name] = true
		}
	}
	for _, end := range []string{"CompleteMultipartWrite", "AbortMultipartWrite"} {
		upload := "?upload_id=" + h.does("CreateMultipartWrite", "shop$t", "")["upload_id"].(string)
		h.does("InsertIntoTable", "shop$t"+upload+"&upload_part_id=6f9619ff-8b86-4d01-b42d-00cf4fc964ff", more)
		h.does(end, "shop$t"+upload, "")
	}

	h.does("QueryTable", "shop$t", `{"k":10}`)
	h.does("ReadTableResult", "shop$t", "")
	h.does("CreateTable", "shop$images", images(h.T, 1))
	h.live.send(deed{operation: "InsertIntoTable", where: "shop$images", body: images(h.T, 9<<20)}) // a file that is sent in parts
	h.live.send(deed{operation: "AlterTableAddColumns", where: "shop$images", body: `{"new_columns":[{"name":"again","expression":"upper(text)"}]}`})
	h.does("FetchTableBlobs", "shop$images", `{"column":"blob","row_ids":[0]}`)
	h.does("ReadTableBlob", "shop$images", "")
	h.does("ExplainTableQueryPlan", "shop$t", `{"query":{"k":1}}`)
	h.does("AnalyzeTableQueryPlan", "shop$t", `{"k":1}`)

	h.does("CreateTableScalarIndex", "shop$t", `{"column":"id","index_type":"BTREE","name":"id_idx"}`, deed{operation: "DescribeTableIndexStats", where: "shop$t", body: `{}`})
	h.does("CreateTableIndex", "shop$t", `{"column":"s","index_type":"FTS"}`)
	h.does("CreateTableIndex", "shop$t", `{"column":"vector","index_type":"IVF_FLAT"}`)
	h.does("ListTableIndices", "shop$t", "")
	h.does("DescribeTableIndexStats", "shop$t", `{}`)
	h.does("PrewarmTableIndex", "shop$t", `{}`)
	h.does("DropTableIndex", "shop$t", `{}`)

	h.does("AlterTableAddColumns", "shop$t", `{"new_columns":[{"name":"y","expression":"x * 2"}]}`)
	h.does("AlterTableAddColumns", "shop$t", `{"new_columns":[{"name":"half","computed":"x / 2"}]}`)
	h.does("AlterTableBackfillColumns", "shop$t", `{"column":"half"}`)
	h.does("AlterTableAlterColumns", "shop$t", `{"alterations":[{"path":"y","rename":"z"}]}`)
	h.does("AlterTableAlterColumns", "shop$t", `{"alterations":[{"path":"z","data_type":{"type":"float32"}}]}`)
	h.does("AlterTableDropColumns", "shop$t", `{"columns":["z"]}`)
	h.does("UpdateFieldMetadata", "shop$t", `{"updates":[{"path":"x","metadata":{"unit":"EUR"}}]}`)
	h.does("UpdateTableSchemaMetadata", "shop$t", `{"source":"shop"}`)

	h.does("ListTables", "shop", "")
	h.does("ListAllTables", "", "")
	h.does("FindTables", "", `{"text":"t","in":["name","column"]}`)
	location := h.does("DescribeTable", "shop$t", `{"load_detailed_metadata":true}`)["location"].(string)
	h.does("CloneTable", "shop$clone", `{"source_location":"`+location+`"}`)
	h.does("CloneTable", "shop$deep", `{"source_location":"`+location+`","is_shallow":false}`)
	h.does("RenameTable", "shop$clone", `{"new_table_name":"copy"}`)
	moved := h.does("DescribeTable", "shop$copy", `{}`)["location"].(string)
	h.does("DeregisterTable", "shop$copy", `{}`)
	h.does("RegisterTable", "shop$copy", `{"location":"`+moved[strings.LastIndex(moved, "/")+1:]+`"}`)

	h.does("CreateTableTag", "shop$t", `{"tag":"stable","version":2}`)
	h.does("UpdateTableTag", "shop$t", `{"tag":"stable","version":3}`)
	h.does("GetTableTagVersion", "shop$t", `{"tag":"stable"}`)
	h.does("ListTableTags", "shop$t", "")
	h.does("DeleteTableTag", "shop$t", `{"tag":"stable"}`)
	h.does("CreateTableBranch", "shop$t", `{"name":"trial"}`)
	h.does("AlterTableAddColumns", "shop$t", `{"branch":"trial","new_columns":[{"name":"more","expression":"x + 1"}]}`)
	h.does("ListTableBranches", "shop$t", "")
	h.does("DiffTableBranches", "shop$t", `{"from_branch":"trial"}`)
	h.does("CherryPickTableBranch", "shop$t", `{"from_branch":"trial"}`)
	h.does("DeleteTableBranch", "shop$t", `{"name":"trial"}`)

	h.does("ListTableVersions", "shop$t", "")
	h.does("DescribeTableVersion", "shop$t", `{}`)
	h.does("CompareTableVersions", "shop$t", `{"from_version":1}`)
	restored := h.does("RestoreTable", "shop$t", `{"version":2}`)["transaction_id"].(string)
	h.does("DescribeTransaction", restored, `{}`)
	h.does("AlterTransaction", restored, `{"actions":[{"setPropertyAction":{"key":"a","value":"b"}}]}`)
	h.does("BatchDeleteTableVersions", "shop$t", `{"ranges":[{"start_version":2,"end_version":3}]}`)
	h.versions()

	jobID := h.does("MaintainTable", "shop$t", `{"compact":true}`)["job_id"].(string)
	for _, operation := range []string{"DescribeJob", "QueryJobEvents", "PauseJob", "ResumeJob", "CancelJob"} {
		h.does(operation, "", `{"job_id":"`+jobID+`"}`)
	}
	h.does("ListJobs", "", `{}`)
	h.does("ListEvents", "", `{}`)

	h.does("CreateView", "shop$recent", `{"query":"SELECT id FROM shop.t"}`)
	h.does("DescribeView", "shop$recent", `{}`)
	h.does("ListViews", "shop", "")
	h.does("DropView", "shop$recent", `{}`)
	h.does("CreateMaterializedView", "shop$totals", `{"query":"SELECT id, x FROM shop.t","auto_refresh":true}`)
	h.does("DescribeMaterializedView", "shop$totals", `{}`)
	h.live.send(deed{operation: "MaintainTable", where: "shop$images", body: `{"compact":true}`}) // by a worker, in parts
	h.does("InsertIntoTable", "shop$t", more)
	h.does("RefreshMaterializedView", "shop$totals", `{}`)
	h.does("RefreshTable", "shop$totals", `{}`)
	h.does("ListMaterializedViews", "shop", "")
	h.does("DropMaterializedView", "shop$totals", `{}`)
	h.does("CreateSecret", "shop$key", `{"value":"v"}`)
	h.does("AlterSecret", "shop$key", `{"value":"w"}`)
	h.does("DescribeSecret", "shop$key", `{}`)
	h.does("ListSecrets", "shop", "")
	h.does("DropSecret", "shop$key", `{}`)
	h.does("CreateFunction", "shop$f", half)
	h.does("DescribeFunction", "shop$f", `{"version":"1"}`)
	h.does("ListFunctions", "shop", "")
	h.does("DropFunction", "shop$f", `{"version":"1"}`)

	h.does("CreateNamespace", "attic", `{"properties":{"drop.retention":"7d"}}`)
	h.does("CreateTable", "attic$t", rows)
	h.does("DropTable", "attic$t", `{}`)
	h.does("UndropTable", "attic$t", `{}`)
	h.does("DropTable", "attic$t", `{}`)
	h.does("PurgeTable", "attic$t", `{}`)
	h.does("DropNamespace", "attic", `{"behavior":"Cascade"}`)
	h.does("ListDropped", "$", "")
	h.does("UndropNamespace", "attic", `{}`)
	h.does("DropTable", "shop$later", `{}`)
	h.does("CreateNamespace", "cellar", `{}`)
	h.does("CreateTable", "cellar$t", rows)
	h.does("DropNamespace", "cellar", `{"behavior":"Cascade"}`)

	h.statements()
	for _, op := range operations.All { // of which nothing is special
		if !h.done[op.Name] {
			h.does(op.Name, "shop$t", op.LeastBody)
		}
	}
}

// statements changes what can be changed by SQL.
func (h *history) statements() {
	h.Helper()
	for _, text := range []string{
		"SELECT id FROM shop.t WHERE id > 1",
		"CREATE NAMESPACE desk", "CREATE TABLE desk.t (id bigint, x int)", "INSERT INTO desk.t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO desk.t SELECT id, id AS x FROM shop.t",
		"CREATE TABLE desk.u AS SELECT id, x FROM desk.t", "UPDATE desk.t SET x = 2 WHERE id = 1", "DELETE FROM desk.t WHERE id = 2",
		"CREATE INDEX ids ON desk.t USING BTREE (id)", "SHOW INDEXES FROM desk.t", "DROP INDEX ids ON desk.t",
		"CREATE TAG first ON desk.t VERSION AS OF 1", "DROP TAG first ON desk.t", "CREATE BRANCH trial ON desk.t", "DROP BRANCH trial ON desk.t",
		"ALTER TABLE desk.t ADD COLUMN y int", "ALTER TABLE desk.t RENAME COLUMN y TO z", "ALTER TABLE desk.t DROP COLUMN z", "OPTIMIZE TABLE desk.t",
		"CREATE VIEW desk.v AS SELECT id FROM desk.t", "DROP VIEW desk.v",
		"CREATE TABLE desk.texts AS SELECT id, concat(text, upper(text)) AS text FROM shop.images", // a file that is sent in parts
		"CREATE MATERIALIZED VIEW desk.m AS SELECT id FROM desk.t", "REFRESH MATERIALIZED VIEW desk.m", "SHOW MATERIALIZED VIEWS IN desk", "DROP MATERIALIZED VIEW desk.m",
		"ALTER TABLE desk.u RENAME TO w", "DROP TABLE desk.w", "DROP NAMESPACE desk CASCADE",
	} {
		body, err := json.Marshal(map[string]string{"query": text})
		if err != nil {
			h.Fatal(err)
		}
		h.does("ExecuteStatement", "", string(body))
	}
}

// versions asks for versions that a client has staged.
func (h *history) versions() {
	for _, name := range []string{"v", "w"} {
		h.does("CreateTable", "shop$"+name, stream(h.T, 0, 20))
		h.does("InsertIntoTable", "shop$"+name, stream(h.T, 20, 20))
	}
	h.does("CreateTableVersion", "shop$v", `{"version":2,"manifest_path":"`+h.stage("shop$v")+`"}`)
	h.does("BatchCreateTableVersions", "", `{"entries":[{"id":["shop","w"],"version":2,"manifest_path":"`+h.stage("shop$w")+`"}]}`, ofEachGroup("shop$w")...)
	h.does("UpdateTable", "shop$w", `{"predicate":"id = 0","updates":[["x","-1"]]}`)
	h.does("AlterTableAddColumns", "shop$w", `{"new_columns":[{"name":"y","expression":"x * 2"}]}`)
	h.does("CreateTableScalarIndex", "shop$w", `{"column":"id","index_type":"BTREE","name":"id_idx"}`)
	h.does("DropTableIndex", "shop$w", `{}`)
	h.does("RestoreTable", "shop$w", `{"version":1}`)
	h.does("BatchCommitTables", "", `{"operations":[{"declare_table":{"id":["shop","batched"]}},{"deregister_table":{"id":["shop","w"]}}]}`,
		slices.Concat(ofEachGroup("shop$w"), ofEachGroup("shop$batched"))...)
}

// ofEachGroup returns requests about a table, one of each group.
func ofEachGroup(id string) []deed {
	return []deed{
		{operation: "DropNamespace", where: "shop", body: `{}`}, {operation: "DescribeTable", where: id, body: `{}`},
		{operation: "UpdateTable", where: id, body: `{"updates":[["x","1"]]}`}, {operation: "CountTableRows", where: id, body: `{}`},
		{operation: "DropTableIndex", where: id, body: `{}`}, {operation: "AlterTableDropColumns", where: id, body: `{"columns":["x"]}`},
		{operation: "RestoreTable", where: id, body: `{"version":1}`}, {operation: "CreateTableTag", where: id, body: `{"tag":"t","version":1}`},
		{operation: "MaintainTable", where: id, body: `{}`}, {operation: "DropMaterializedView", where: id, body: `{}`},
	}
}

// stage makes a manifest that a client has staged of the latest version of a table, and returns its path.
func (h *history) stage(id string) string {
	h.Helper()
	location := h.does("DescribeTable", id, `{}`)["location"].(string)
	folder := strings.TrimPrefix(location, "memory://test/") + "/_versions/"
	page, err := h.objects.List(h.Context(), objectstore.ListOptions{Prefix: folder, Limit: 1}) // the latest is the first
	if err != nil {
		h.Fatal(err)
	}
	latest := page.Objects[0]
	if err := h.objects.CopyFrom(h.Context(), h.objects, latest, folder+"staged"); err != nil {
		h.Fatal(err)
	}
	if err := h.objects.Delete(h.Context(), latest.Key, objectstore.Condition{}); err != nil {
		h.Fatal(err)
	}
	h.restart()
	return folder + "staged"
}

// images is a stream of a row with a blob and a text of a length.
func images(t *testing.T, length int) []byte {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "blob", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: arrow.NewMetadata([]string{"lance-encoding:blob"}, []string{"true"})},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	text := make([]byte, length)
	random := rand.NewChaCha8([32]byte{})
	for i := range text {
		text[i] = 'a' + byte(random.Uint64()%26)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).Append(1)
	b.Field(1).(*array.BinaryBuilder).Append(text)
	b.Field(2).(*array.StringBuilder).Append(string(text))
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// half is a function in SQL.
const half = `{"artifact":{"kind":"sql_expression","digest":"sha256:42483466cc8d18c0415f76cff7a284984f3d0af10d1af4ae6eb6ac779fe3d36c","content":{"encoding":"base64","data":"eCAvIDI="}},
	"signature":{"inputs":[{"name":"x","arrow_type":"float64"}],"output":{"kind":"scalar","arrow_type":"float64","nullable":false}},"runtime":{"kind":"sql"}}`
