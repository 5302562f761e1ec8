package main

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/all/alltest"
)

// orders is an Arrow stream of rows.
func orders(t *testing.T) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "price", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "title", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 3 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Float64Builder).Append(float64(i) * 10)
		b.Field(2).(*array.StringBuilder).Append("red shoes " + strconv.Itoa(i))
		vector := b.Field(3).(*array.FixedSizeListBuilder)
		vector.Append(true)
		vector.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(i), 1}, nil)
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A server answers requests, and each answer is compared with the document.
type server struct {
	*testing.T
	url    string
	check  checker
	called map[string]bool
}

// call sends a request with the first example as its body unless another one is given, and returns the
// answer. where is the id and, after a ?, the query string.
func (s *server) call(operation, where string, status int, body ...string) map[string]any {
	s.Helper()
	op, _ := operations.Lookup(operation)
	text := op.LeastBody
	if given := examples[operation]; len(given) > 0 {
		text = string(given[0].body)
	}
	if len(body) > 0 {
		text = body[0]
	}
	got := s.send(op, where, text)
	if got.status != status {
		s.Errorf("%s: status %d, want %d: %s", operation, got.status, status, got.content)
		return nil
	}
	return s.compare(op, got)
}

// An answer is what came back for a request.
type answer struct {
	status  int
	media   string
	content []byte
}

// send sends a request, and returns its answer.
func (s *server) send(op protocol.Operation, where, text string) answer {
	s.Helper()
	id, query, _ := strings.Cut(where, "?")
	path := strings.NewReplacer("{id}", strings.ReplaceAll(id, "$", "%24"), "{index_name}", "id_idx", "{column}", "id", "{row_id}", "0").Replace(op.Path)
	request, err := http.NewRequestWithContext(s.Context(), op.Methods[0], s.url+path+"?"+query, strings.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+alltest.Token)
	request.Header.Set("User-Agent", "test")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	s.called[op.Name] = true
	return answer{response.StatusCode, response.Header.Get("Content-Type"), content}
}

// compare requires that the document has the answer.
func (s *server) compare(op protocol.Operation, got answer) map[string]any {
	s.Helper()
	item := s.check.document["paths"].(map[string]any)[op.Path].(map[string]any)
	responses := item[strings.ToLower(op.Methods[0])].(map[string]any)["responses"].(map[string]any)
	described, ok := responses[strconv.Itoa(got.status)].(map[string]any)
	if !ok {
		described, ok = responses[strconv.Itoa(got.status)[:1]+"XX"].(map[string]any)
	}
	if ok && described["$ref"] != nil {
		described, _ = s.check.resolve(described["$ref"].(string))
	}
	types, _ := described["content"].(map[string]any)
	media, known := types[got.media].(map[string]any)
	switch {
	case !ok:
		s.Errorf("%s: the document has no status %d", op.Name, got.status)
	case len(got.content) == 0 && len(types) == 0:
	case !known:
		s.Errorf("%s: the answer is %q, and the document has %v", op.Name, got.media, types)
	case got.media == "application/json":
		value := plainValue(s.T, got.content)
		if err := s.check.check(op.Name, media["schema"].(map[string]any), value); err != nil {
			s.Errorf("%v\n%s", err, got.content)
		}
		object, _ := value.(map[string]any)
		return object
	}
	return nil
}

// A server answers as the document says, to the examples of the document where they fit.
func TestDocumentDescribesTheAnswersOfAServer(t *testing.T) {
	_, document := written(t)
	started, err := alltest.Serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	s := &server{T: t, url: started.URL, check: document, called: map[string]bool{}}
	rows := orders(t)

	s.call("CreateNamespace", "shop", 200)
	s.call("CreateNamespace", "shop", 409)
	s.call("CreateNamespace", "archive", 200)
	s.call("ListNamespaces", "$", 200)
	s.call("DescribeNamespace", "shop", 200)
	s.call("NamespaceExists", "shop", 200)
	s.call("DropNamespace", "none?", 204, `{"mode":"Skip"}`)

	created := s.call("CreateTable", "shop$orders", 200, rows)
	s.call("InsertIntoTable", "shop$orders", 200, rows)
	s.call("MergeInsertIntoTable", "shop$orders?on=id&when_matched_update_all=true", 200, rows)
	s.call("MergeInsertIntoTable", "shop$orders", 400, rows)
	s.call("DeleteFromTable", "shop$orders", 200, `{"predicate":"id = 0"}`)
	s.call("UpdateTable", "shop$orders", 200)
	s.call("ListTables", "shop", 200)
	s.call("ListAllTables", "", 200)
	s.call("DescribeTable", "shop$orders", 200)
	s.call("DescribeTable", "shop$none", 404)
	s.call("DeclareTable", "shop$declared", 200)
	s.call("DeregisterTable", "shop$declared", 200)
	s.call("CloneTable", "shop$clone", 200, `{"source_location":"`+created["location"].(string)+`"}`)
	s.call("RenameTable", "shop$clone", 200)
	s.call("DropTable", "archive$orders_2024", 200)
	s.call("CreateNamespace", "attic", 200, `{"properties":{"drop.retention":"7d"}}`)
	s.call("CreateNamespace", "cellar", 400, `{"properties":{"drop.retention":"long"}}`)
	for range 2 {
		s.call("CreateTable", "attic$orders", 200, rows)
		if s.call("DropTable", "attic$orders", 200)["drop_id"] == nil {
			t.Error("the answer to a drop has no drop_id")
		}
	}
	s.call("UndropTable", "attic$orders", 200)
	s.call("UndropTable", "attic$orders_again", 404)
	s.call("PurgeTable", "attic$orders", 200)
	s.call("DropNamespace", "attic", 200, `{"behavior":"Cascade"}`)
	if found := s.call("ListDropped", "$", 200)["dropped"].([]any); len(found) != 2 {
		t.Errorf("dropped are %v, want the namespace and its table", found)
	}
	s.call("UndropNamespace", "attic", 200)

	s.call("AlterTableAddColumns", "shop$orders", 200, `{"new_columns":[{"name":"total","expression":"price * 2"}]}`)
	s.call("AlterTableAddColumns", "shop$orders", 200, `{"new_columns":[{"name":"half","computed":"price / 2"}]}`)
	s.call("AlterTableBackfillColumns", "shop$orders", 202, `{"column":"half"}`)
	s.call("AlterTableAlterColumns", "shop$orders", 200, `{"alterations":[{"path":"total","rename":"note"}]}`)
	s.call("AlterTableDropColumns", "shop$orders", 200, `{"columns":["note"]}`)
	s.call("UpdateFieldMetadata", "shop$orders", 200)
	s.call("UpdateTableSchemaMetadata", "shop$orders", 200)

	s.call("QueryTable", "shop$orders", 200)
	s.call("QueryTable", "shop$orders", 200, string(examples["QueryTable"][1].body))
	s.call("CountTableRows", "shop$orders", 200)
	s.call("ExplainTableQueryPlan", "shop$orders", 200)
	s.call("AnalyzeTableQueryPlan", "shop$orders", 200)

	s.call("CreateTableScalarIndex", "shop$orders", 200, `{"column":"id","index_type":"BTREE","name":"id_idx"}`)
	s.call("CreateTableIndex", "shop$orders", 200, string(examples["CreateTableIndex"][1].body))
	s.call("ListTableIndices", "shop$orders", 200)
	s.call("DescribeTableIndexStats", "shop$orders", 404, `{"version":1}`)

	s.call("ListTableVersions", "shop$orders", 200)
	s.call("DescribeTableVersion", "shop$orders", 200)
	s.call("BatchCommitTables", "", 409)
	s.call("CreateTableTag", "shop$orders", 200)
	s.call("CreateTableTag", "shop$orders", 409)
	s.call("UpdateTableTag", "shop$orders", 200)
	s.call("GetTableTagVersion", "shop$orders", 200)
	s.call("ListTableTags", "shop$orders", 200)
	s.call("DeleteTableTag", "shop$orders", 200)
	s.call("CreateTableBranch", "shop$orders", 200)
	s.call("ListTableBranches", "shop$orders", 200)
	s.call("DiffTableBranches", "shop$orders", 200)
	s.call("CherryPickTableBranch", "shop$orders", 409) // the branch has no column of its own
	s.call("DeleteTableBranch", "shop$orders", 200)
	restored := s.call("RestoreTable", "shop$orders", 200)
	s.call("CompareTableVersions", "shop$orders", 200)
	s.call("DescribeTransaction", restored["transaction_id"].(string), 200)

	job := s.call("MaintainTable", "shop$orders", 200, `{}`)["job_id"].(string)
	s.call("MaintainTable", "shop$orders", 200)
	for _, operation := range []string{"DescribeJob", "QueryJobEvents", "PauseJob", "ResumeJob", "CancelJob"} {
		s.call(operation, "", 200, `{"job_id":"`+job+`"}`)
	}
	s.call("ListJobs", "", 200)
	s.call("ListTableErrors", "shop$orders", 200, `{}`)
	upload := s.call("CreateMultipartWrite", "shop$orders", 200)["upload_id"].(string)
	s.call("AbortMultipartWrite", "shop$orders?upload_id="+upload, 200)
	for _, operation := range []string{"GetLsmWriteSpec", "GetLsmStats", "GetRteSpec", "GetRteStats", "FlushLsm", "CompactRte"} {
		s.call(operation, "shop$orders", 200)
	}
	s.call("SetLsmWriteSpec", "shop$orders", 501)

	s.call("CreateView", "shop$recent", 200)
	s.call("DescribeView", "shop$recent", 200)
	s.call("ListViews", "shop", 200)
	s.call("DropView", "shop$recent", 200)
	s.call("CreateTable", "orders", 200, rows)
	s.call("CreateMaterializedView", "shop$totals", 202)
	s.call("DescribeMaterializedView", "shop$totals", 200)
	s.call("RefreshMaterializedView", "shop$totals", 202)
	s.call("ListMaterializedViews", "shop", 200)
	s.call("DropMaterializedView", "shop$totals", 200)
	s.call("CreateSecret", "shop$key", 200)
	s.call("AlterSecret", "shop$key", 200)
	s.call("DescribeSecret", "shop$key", 200)
	s.call("ListSecrets", "shop", 200)
	s.call("DropSecret", "shop$key", 200)
	s.call("CreateFunction", "shop$half", 202, withoutSecrets(string(examples["CreateFunction"][0].body)))
	s.call("ListFunctions", "shop", 200)
	s.call("DropFunction", "shop$none", 200)
	for _, op := range operations.All { // most others refuse the least that they take
		if !s.called[op.Name] {
			got := s.send(op, "shop$orders", op.LeastBody)
			if got.status >= 500 && got.status != http.StatusNotImplemented {
				t.Errorf("%s: status %d: %s", op.Name, got.status, got.content)
			}
			s.compare(op, got)
		}
	}
	s.call("DropNamespace", "shop", 200)
}

// withoutSecrets is the body of a function that needs no secret.
func withoutSecrets(body string) string {
	before, _, _ := strings.Cut(body, `,
		"secret_bindings"`)
	return before + "}"
}
