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
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/tableapi"
)

// withoutEmpty are the operations whose requests have other fields than those of one JSON object, or fields
// in which an empty value matters.
var withoutEmpty = map[string]bool{
	// Of Arrow, of bytes, of any keys, or with fields in the query string.
	"CreateTable": true, "InsertIntoTable": true, "MergeInsertIntoTable": true, "ReadTableBlob": true, "ReadTableResult": true,
	"UpdateTableSchemaMetadata": true, "CompleteMultipartWrite": true, "AbortMultipartWrite": true,
	// With fields of its own that matter.
	"CreateTableIndex": true, "CreateTableScalarIndex": true, "CreateFunction": true, "CreateMaterializedView": true,
}

// emptyExceptions lists, by the Go type of the field, whether an empty value counts as none where
// its JSON type does not decide it.
var emptyExceptions = map[string]bool{
	"queryapi.Vector []":                true, // LanceDB clients always send the field
	"queryapi.Vector {}":                true,
	"queryapi.Projection {}":            true,
	"*queryapi.FullTextQuery {}":        false, // it asks for a search, and not for what
	"*schemaapi.FunctionDeclaration {}": false, // it asks for columns of a function, and not of which
}

// emptyLists are the fields in which [] is a list of nothing, of which the operation makes a version.
var emptyLists = map[string]bool{
	"AlterTableAddColumns new_columns": true, "AlterTableAlterColumns alterations": true, "AlterTableDropColumns columns": true,
}

// Clients send a missing field in many ways: as null, or as the empty value of the field's type.
// All of these count as a missing field. An empty value of another type is refused.
func TestEmptyFieldsAreNoFields(t *testing.T) {
	for _, op := range operations.All {
		if withoutEmpty[op.Name] {
			continue
		}
		if _, refusal := decoded(t, op, op.LeastBody); refusal != "" {
			t.Errorf("%s: the least body is refused: %s", op.Name, refusal)
			continue
		}
		fields := map[string]reflect.Type{}
		jsonFields(op.RequestType(), fields)
		for field, kind := range fields {
			for _, empty := range []string{`null`, `""`, `[]`, `{}`} {
				without, body := withField(t, op.LeastBody, field, empty)
				if body == op.LeastBody {
					continue // the field is required
				}
				name := fmt.Sprintf("%s: %s", op.Name, body)
				got, refusal := decoded(t, op, body)
				if empty == `[]` && emptyLists[op.Name+" "+field] {
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
				if none, noneRefused := decoded(t, op, without); noneRefused != refusal || !cmp.Equal(none, got, equalRequests...) {
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

// decoded returns the request that a service gets for a body, or the error that the client gets.
func decoded(t *testing.T, op protocol.Operation, body string) (got protocol.Request, refusal string) {
	t.Helper()
	h := Handler([]Route{noting(op, &got)}, Options{Verifier: verifier{}})
	path := strings.NewReplacer("{id}", "a$t", "{index_name}", "i").Replace(op.Path)
	w := request{method: withBody(op), path: path, body: body}.do(t, h)
	if w.Code == http.StatusOK {
		return got, ""
	}
	p := decodeProblem(t, w)
	if p.Status != http.StatusBadRequest {
		t.Errorf("%s: %s: got status %d, want 200 or 400", op.Name, body, p.Status)
	}
	return nil, p.Error
}

// noting is a route that keeps the request that it gets.
func noting(op protocol.Operation, got *protocol.Request) Route {
	return Untyped(op, func(_ context.Context, req protocol.Request) (any, error) {
		*got = req
		return &protocol.Empty{}, nil
	})
}

// Requests as clients in other languages write them.
func TestRequestsOfOtherClients(t *testing.T) {
	for _, c := range []struct {
		client, operation, path, body string
		check                         func(protocol.Request) bool
	}{
		{"Java renames", "RenameTable", "/v1/table/a%24t/rename", `{"identity":null,"context":{},"id":[],"new_table_name":"u","new_namespace_id":[]}`,
			func(r protocol.Request) bool {
				return cmp.Equal(r.(*tableapi.RenameRequest).NewID(), []string{"a", "u"})
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
			var r protocol.Request
			op, _ := operations.Lookup(c.operation)
			h := Handler([]Route{noting(op, &r)}, Options{Verifier: verifier{}})
			if w := (request{path: c.path, body: c.body}).do(t, h); w.Code != http.StatusOK {
				t.Fatalf("got status %d: %s", w.Code, w.Body)
			}
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
