package httpapi

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tiltyard/shared/protocol"
)

// emptyCase is an operation, the type of its requests, and the least body that it takes.
type emptyCase struct {
	operation string
	body      string
	request   reflect.Type
	route     func(got *any) Route
}

func emptyOf[Req any, PReq interface {
	*Req
	protocol.Request
}](operation, body string) emptyCase {
	return emptyCase{operation, body, reflect.TypeFor[Req](), func(got *any) Route {
		return JSON[Req, protocol.Empty, PReq](operation, func(_ context.Context, req *Req) (*protocol.Empty, error) {
			*got = req
			return &protocol.Empty{}, nil
		})
	}}
}

// emptyCases are all operations whose requests are JSON objects.
var emptyCases = []emptyCase{
	emptyOf[protocol.CreateNamespaceRequest]("CreateNamespace", `{}`),
	emptyOf[protocol.ListNamespacesRequest]("ListNamespaces", `{}`),
	emptyOf[protocol.DescribeNamespaceRequest]("DescribeNamespace", `{}`),
	emptyOf[protocol.DropNamespaceRequest]("DropNamespace", `{}`),
	emptyOf[protocol.NamespaceExistsRequest]("NamespaceExists", `{}`),
	emptyOf[protocol.ListDroppedRequest]("ListDropped", `{}`),
	emptyOf[protocol.ExplainAccessRequest]("ExplainAccess", `{}`),
	emptyOf[protocol.UndropNamespaceRequest]("UndropNamespace", `{}`),
	emptyOf[protocol.UndropTableRequest]("UndropTable", `{}`),
	emptyOf[protocol.PurgeTableRequest]("PurgeTable", `{}`),
	emptyOf[protocol.ListTablesRequest]("ListTables", `{}`),
	emptyOf[protocol.ListAllTablesRequest]("ListAllTables", `{}`),
	emptyOf[protocol.FindTablesRequest]("FindTables", `{}`),
	emptyOf[protocol.ListEventsRequest]("ListEvents", `{}`),
	emptyOf[protocol.RegisterTableRequest]("RegisterTable", `{"location":"x"}`),
	emptyOf[protocol.AlterTableBackfillColumnsRequest]("AlterTableBackfillColumns", `{"column":"x"}`),
	emptyOf[protocol.DescribeTableRequest]("DescribeTable", `{}`),
	emptyOf[protocol.TableExistsRequest]("TableExists", `{}`),
	emptyOf[protocol.DropTableRequest]("DropTable", `{}`),
	emptyOf[protocol.DeregisterTableRequest]("DeregisterTable", `{}`),
	emptyOf[protocol.DeclareTableRequest]("DeclareTable", `{}`),
	emptyOf[protocol.RenameTableRequest]("RenameTable", `{"new_table_name":"u"}`),
	emptyOf[protocol.GetTableStatsRequest]("GetTableStats", `{}`),
	emptyOf[protocol.GetTableStorageRequest]("GetTableStorage", `{}`),
	emptyOf[protocol.CloneTableRequest]("CloneTable", `{"source_location":"x"}`),
	emptyOf[protocol.AlterTableAddColumnsRequest]("AlterTableAddColumns", `{"new_columns":[{"name":"a","expression":"1"}]}`),
	emptyOf[protocol.AlterTableAlterColumnsRequest]("AlterTableAlterColumns", `{"alterations":[{"path":"a","rename":"b"}]}`),
	emptyOf[protocol.AlterTableDropColumnsRequest]("AlterTableDropColumns", `{"columns":["a"]}`),
	emptyOf[protocol.UpdateFieldMetadataRequest]("UpdateFieldMetadata", `{"updates":[{"path":"a","metadata":{}}]}`),
	emptyOf[protocol.UpdateTableRequest]("UpdateTable", `{"updates":[["a","1"]]}`),
	emptyOf[protocol.DeleteFromTableRequest]("DeleteFromTable", `{"predicate":"a"}`),
	emptyOf[protocol.CreateMultipartWriteRequest]("CreateMultipartWrite", `{}`),
	emptyOf[protocol.LSMRequest]("SetLsmWriteSpec", `{}`),
	emptyOf[protocol.LSMRequest]("UnsetLsmWriteSpec", `{}`),
	emptyOf[protocol.LSMRequest]("GetLsmWriteSpec", `{}`),
	emptyOf[protocol.LSMRequest]("FlushLsm", `{}`),
	emptyOf[protocol.LSMRequest]("CompactLsm", `{}`),
	emptyOf[protocol.LSMRequest]("GetLsmStats", `{}`),
	emptyOf[protocol.LSMRequest]("EnableRte", `{}`),
	emptyOf[protocol.LSMRequest]("DisableRte", `{}`),
	emptyOf[protocol.LSMRequest]("GetRteSpec", `{}`),
	emptyOf[protocol.LSMRequest]("FlushRte", `{}`),
	emptyOf[protocol.LSMRequest]("CompactRte", `{}`),
	emptyOf[protocol.LSMRequest]("GetRteStats", `{}`),
	emptyOf[protocol.QueryTableRequest]("QueryTable", `{}`),
	emptyOf[protocol.CountTableRowsRequest]("CountTableRows", `{}`),
	emptyOf[protocol.ExplainTableQueryPlanRequest]("ExplainTableQueryPlan", `{"query":{}}`),
	emptyOf[protocol.AnalyzeTableQueryPlanRequest]("AnalyzeTableQueryPlan", `{}`),
	emptyOf[protocol.PrewarmTableRequest]("PrewarmTable", `{}`),
	emptyOf[protocol.FetchTableBlobsRequest]("FetchTableBlobs", `{"column":"a","row_ids":[1]}`),
	emptyOf[protocol.ListTableIndicesRequest]("ListTableIndices", `{}`),
	emptyOf[protocol.DescribeTableIndexStatsRequest]("DescribeTableIndexStats", `{}`),
	emptyOf[protocol.DropTableIndexRequest]("DropTableIndex", `{}`),
	emptyOf[protocol.PrewarmTableIndexRequest]("PrewarmTableIndex", `{}`),
	emptyOf[protocol.ListTableVersionsRequest]("ListTableVersions", `{}`),
	emptyOf[protocol.CreateTableVersionRequest]("CreateTableVersion", `{"version":1,"manifest_path":"x"}`),
	emptyOf[protocol.DescribeTableVersionRequest]("DescribeTableVersion", `{}`),
	emptyOf[protocol.BatchDeleteTableVersionsRequest]("BatchDeleteTableVersions", `{"ranges":[{"start_version":1,"end_version":2}]}`),
	emptyOf[protocol.BatchCreateTableVersionsRequest]("BatchCreateTableVersions", `{"entries":[{"id":["t"],"version":1,"manifest_path":"x"}]}`),
	emptyOf[protocol.BatchCommitTablesRequest]("BatchCommitTables", `{"operations":[{"deregister_table":{"id":["t"]}}]}`),
	emptyOf[protocol.RestoreTableRequest]("RestoreTable", `{"version":1}`),
	emptyOf[protocol.CompareTableVersionsRequest]("CompareTableVersions", `{"from_version":1}`),
	emptyOf[protocol.ListTableTagsRequest]("ListTableTags", `{}`),
	emptyOf[protocol.GetTableTagVersionRequest]("GetTableTagVersion", `{"tag":"a"}`),
	emptyOf[protocol.SetTableTagRequest]("CreateTableTag", `{"tag":"a","version":1}`),
	emptyOf[protocol.SetTableTagRequest]("UpdateTableTag", `{"tag":"a","version":1}`),
	emptyOf[protocol.DeleteTableTagRequest]("DeleteTableTag", `{"tag":"a"}`),
	emptyOf[protocol.ListTableBranchesRequest]("ListTableBranches", `{}`),
	emptyOf[protocol.CreateTableBranchRequest]("CreateTableBranch", `{"name":"a"}`),
	emptyOf[protocol.DeleteTableBranchRequest]("DeleteTableBranch", `{"name":"a"}`),
	emptyOf[protocol.DiffTableBranchesRequest]("DiffTableBranches", `{"from_branch":"a"}`),
	emptyOf[protocol.CherryPickTableBranchRequest]("CherryPickTableBranch", `{"from_branch":"a"}`),
	emptyOf[protocol.DescribeTransactionRequest]("DescribeTransaction", `{}`),
	emptyOf[protocol.AlterTransactionRequest]("AlterTransaction", `{"actions":[{}]}`),
	emptyOf[protocol.ListJobsRequest]("ListJobs", `{}`),
	emptyOf[protocol.JobRequest]("DescribeJob", `{"job_id":"a"}`),
	emptyOf[protocol.ListTableErrorsRequest]("ListTableErrors", `{}`),
	emptyOf[protocol.QueryJobEventsRequest]("QueryJobEvents", `{"job_id":"a"}`),
	emptyOf[protocol.MaintainTableRequest]("MaintainTable", `{"compact":true}`),
}

// emptyExceptions lists, by the Go type of the field, whether an empty value counts as none where
// its JSON type does not decide it.
var emptyExceptions = map[string]bool{
	"protocol.QueryVector []":          true, // LanceDB clients always send the field
	"protocol.QueryVector {}":          true,
	"protocol.Projection {}":           true,
	"*protocol.FullTextQuery {}":       false, // it asks for a search, and not for what
	"*protocol.FunctionDeclaration {}": false, // it asks for columns of a function, and not of which
}

// emptyLists are the fields in which [] is a list of nothing, of which the operation makes a version.
var emptyLists = map[string]bool{
	"AlterTableAddColumns new_columns": true, "AlterTableAlterColumns alterations": true, "AlterTableDropColumns columns": true,
}

// Clients send a missing field in many ways: as null, or as the empty value of the field's type.
// All of these count as a missing field. An empty value of another type is refused.
func TestEmptyFieldsAreNoFields(t *testing.T) {
	for _, c := range emptyCases {
		if _, refusal := c.decode(t, c.body); refusal != "" {
			t.Errorf("%s: the body without optional fields is refused: %s", c.operation, refusal)
			continue
		}
		fields := map[string]reflect.Type{}
		jsonFields(c.request, fields)
		for field, kind := range fields {
			for _, empty := range []string{`null`, `""`, `[]`, `{}`} {
				without, body := withField(t, c.body, field, empty)
				if body == c.body {
					continue // the field is required
				}
				name := fmt.Sprintf("%s: %s", c.operation, body)
				got, refusal := c.decode(t, body)
				if empty == `[]` && emptyLists[c.operation+" "+field] {
					if refusal != "" {
						t.Errorf("%s is refused: %s", name, refusal)
					}
					continue
				}
				if !countsAsNone(kind, empty) {
					if refusal == "" {
						t.Errorf("%s is accepted, want 400", name)
					}
					continue
				}
				if none, noneRefused := c.decode(t, without); noneRefused != refusal || !cmp.Equal(none, got, equalRequests...) {
					t.Errorf("%s: got %q, %s; without the field it is %q", name, refusal, cmp.Diff(none, got, equalRequests...), noneRefused)
				}
			}
		}
	}
}

var equalRequests = []cmp.Option{cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })}

// countsAsNone reports whether an empty JSON value is that of a field's type.
func countsAsNone(kind reflect.Type, empty string) bool {
	if none, ok := emptyExceptions[kind.String()+" "+empty]; ok {
		return none
	}
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case empty == `null`:
		return true
	case reflect.PointerTo(kind).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()), kind.Kind() == reflect.String:
		return empty == `""`
	case kind.Kind() == reflect.Slice:
		return empty == `[]`
	case kind.Kind() == reflect.Map || kind.Kind() == reflect.Struct:
		return empty == `{}`
	}
	return false
}

// jsonFields collects the fields of a request by their names on the wire.
func jsonFields(request reflect.Type, fields map[string]reflect.Type) {
	for i := range request.NumField() {
		field := request.Field(i)
		if field.Anonymous {
			jsonFields(field.Type, fields)
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
}

// withField returns a body without a field, and with it.
func withField(t *testing.T, body, field, value string) (without, with string) {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Fatal(err)
	}
	write := func() string {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	delete(object, field)
	without = write()
	object[field] = json.RawMessage(value)
	return without, write()
}

// decode returns the request that a service gets for a body, or the error that the client gets.
func (c emptyCase) decode(t *testing.T, body string) (got any, refusal string) {
	t.Helper()
	op, ok := protocol.Lookup(c.operation)
	if !ok {
		t.Fatalf("no operation is called %s", c.operation)
	}
	h := Handler([]Route{c.route(&got)}, Options{Verifier: verifier{}})
	path := strings.NewReplacer("{id}", "a$t", "{index_name}", "i").Replace(op.Path)
	w := request{method: withBody(op), path: path, body: body}.do(t, h)
	if w.Code == http.StatusOK {
		return got, ""
	}
	p := decodeProblem(t, w)
	if p.Status != http.StatusBadRequest {
		t.Errorf("%s: %s: got status %d, want 200 or 400", c.operation, body, p.Status)
	}
	return nil, p.Error
}

// No operation that takes a body is left out of emptyCases.
func TestEmptyFieldsOfAllOperations(t *testing.T) {
	known := map[string]bool{
		// Of Arrow, of bytes, of any keys, or like another one.
		"CreateTable": true, "InsertIntoTable": true, "MergeInsertIntoTable": true, "ReadTableBlob": true, "ReadTableResult": true,
		"UpdateTableSchemaMetadata": true, "CancelJob": true, "PauseJob": true, "ResumeJob": true,
		"CompleteMultipartWrite": true, "AbortMultipartWrite": true,
		// With fields of its own that matter.
		"CreateTableIndex": true, "CreateTableScalarIndex": true,
	}
	for _, c := range emptyCases {
		known[c.operation] = true
	}
	for _, op := range protocol.Operations {
		if !known[op.Name] && op.Group != protocol.GroupView {
			t.Errorf("%s is not among the cases", op.Name)
		}
	}
}

// Requests as clients in other languages write them.
func TestRequestsOfOtherClients(t *testing.T) {
	for _, c := range []struct {
		client, operation, path, body string
		check                         func(protocol.Request) bool
	}{
		{"Java renames", "RenameTable", "/v1/table/a%24t/rename", `{"identity":null,"context":{},"id":[],"new_table_name":"u","new_namespace_id":[]}`,
			func(r protocol.Request) bool {
				return cmp.Equal(r.(*protocol.RenameTableRequest).NewID(), []string{"a", "u"})
			}},
		{"Java describes", "DescribeTable", "/v1/table/a%24t/describe?with_table_uri=false&load_detailed_metadata=true", `{"context":{},"id":[],"version":null,"with_table_uri":false}`, nil},
		{"Spark lists versions", "ListTableVersions", "/v1/table/a%24t/version/list?descending=true&limit=1&delimiter=%24", `null`, nil},
		{"Java drops a namespace", "DropNamespace", "/v1/namespace/a%24t/drop", `{"identity":null,"id":["a","t"],"mode":"","behavior":null}`, nil},
		{"Java counts", "CountTableRows", "/v1/table/a%24t/count_rows", ` null `, nil},
		{"DuckDB describes", "DescribeTable", "/v1/table/a$t/describe", `{"id":["a$t"]}`, nil},
		{"DuckDB with a delimiter of its own", "DescribeTable", "/v1/table/a.t/describe?delimiter=.", `{"id":["a.t"]}`, nil},
		{"DuckDB lists", "ListTables", "/v1/namespace/$/table/list", `{"id":["$"]}`, func(r protocol.Request) bool { return len(r.RequestCommon().ID) == 0 }},
		{"Java creates a namespace", "CreateNamespace", "/v1/namespace/a%24t/create", `{"id":["a","t"],"mode":null,"properties":{}}`, nil},
	} {
		t.Run(c.client, func(t *testing.T) {
			var got any
			for _, known := range emptyCases {
				if known.operation != c.operation {
					continue
				}
				h := Handler([]Route{known.route(&got)}, Options{Verifier: verifier{}})
				if w := (request{path: c.path, body: c.body}).do(t, h); w.Code != http.StatusOK {
					t.Fatalf("got status %d: %s", w.Code, w.Body)
				}
			}
			r := got.(protocol.Request)
			if c.check == nil {
				c.check = func(r protocol.Request) bool { return cmp.Equal(r.RequestCommon().ID, []string{"a", "t"}) }
			}
			if !c.check(r) {
				t.Errorf("the service gets %+v", r)
			}
		})
	}
}

// withBody returns the method by which an operation gets a body, or else the only one it has.
func withBody(op protocol.Operation) string {
	if slices.Contains(op.Methods, http.MethodPost) {
		return http.MethodPost
	}
	return op.Methods[0]
}
