package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tiltyard/shared/client"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/accessapi"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/service/all/alltest"
)

// seen is the request that a server has decoded.
type seen struct {
	operation string
	request   protocol.Request
}

// uploaded is a route that keeps its requests, whose bodies are rows.
func uploaded[Req any, PReq interface {
	*Req
	protocol.Request
	RequestUpload() *protocol.Upload
}](s *seen, operation string) httpapi.Route {
	return httpapi.Upload[Req, protocol.Empty, PReq](operation, func(_ context.Context, req *Req) (*protocol.Empty, error) {
		PReq(req).RequestUpload().Body = nil
		*s = seen{operation, PReq(req)}
		return &protocol.Empty{}, nil
	})
}

// recordingRoutes returns a route for each operation.
func recordingRoutes(s *seen) []httpapi.Route {
	routes := []httpapi.Route{
		uploaded[dataapi.CreateTableRequest](s, "CreateTable"),
		uploaded[dataapi.InsertRequest](s, "InsertIntoTable"),
		uploaded[dataapi.MergeInsertRequest](s, "MergeInsertIntoTable"),
	}
	uploads := len(routes)
	for _, op := range operations.All {
		if slices.ContainsFunc(routes[:uploads], func(r httpapi.Route) bool { return r.Shape().Operation == op.Name }) {
			continue
		}
		routes = append(routes, httpapi.Untyped(op, func(_ context.Context, req protocol.Request) (any, error) {
			*s = seen{op.Name, req}
			return &protocol.Empty{}, nil
		}))
	}
	return routes
}

// Each method is called with a request that has a value in every field, and the server decodes the
// same one.
func TestRequestsArriveAsTheyAre(t *testing.T) {
	var got seen
	verifier, err := auth.NewStatic("test", alltest.Token)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.Handler(recordingRoutes(&got), httpapi.Options{Verifier: verifier}))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: alltest.Token})
	if err != nil {
		t.Fatal(err)
	}
	methods := reflect.ValueOf(c)
	tried := 0
	for _, op := range operations.All {
		method := methods.MethodByName(op.Name)
		if !method.IsValid() {
			continue
		}
		tried++
		t.Run(op.Name, func(t *testing.T) {
			want := reflect.New(method.Type().In(1).Elem())
			fill(want.Elem())
			settle(want.Interface())
			args := []reflect.Value{reflect.ValueOf(t.Context()), want}
			if method.Type().NumIn() == 3 {
				args = append(args, reflect.Zero(method.Type().In(2)))
			}
			got = seen{}
			results := method.Call(args)
			if got.operation != op.Name {
				t.Fatalf("the server got %q, want %s; the client returned %v", got.operation, op.Name, results[len(results)-1])
			}
			normalize(want.Interface().(protocol.Request).RequestCommon())
			normalize(got.request.RequestCommon())
			if explain, ok := got.request.(*queryapi.ExplainPlanRequest); ok {
				explain.Query.Common = protocol.Common{} // the server gives it that of the request
			}
			if function, ok := want.Interface().(*functionapi.CreateRequest); ok {
				function.Artifact.Content = nil // the server has decoded it
			}
			if diff := cmp.Diff(want.Interface(), got.request, cmp.Comparer(sameType), cmp.Comparer(sameJSON), cmpopts.IgnoreUnexported(functionapi.CreateRequest{})); diff != "" {
				t.Errorf("sent and decoded differ (-sent +decoded):\n%s", diff)
			}
		})
	}
	if tried < 80 {
		t.Errorf("%d operations were tried, want all", tried)
	}
}

// normalize removes what a server adds to a request, and what the client does not send.
func normalize(common *protocol.Common) {
	*common = protocol.Common{ID: append([]string{}, common.ID...)}
}

func sameType(a, b protocol.TypeName) bool { return arrow.TypeEqual(a.Type, b.Type) }

func sameJSON(a, b json.RawMessage) bool { return string(a) == string(b) }

// settle gives fields values that are valid together.
func settle(req any) {
	switch req := req.(type) {
	case *tableapi.DescribeRequest:
		req.Tag = ""
	case *tableapi.RenameRequest:
		req.NewNamespace = nil
	case *eventapi.ListRequest:
		req.ID, req.Cursor, req.Types = nil, "12.3", []string{"tiltyard.table."}
	case *namespaceapi.ListDroppedRequest:
		req.PageToken = "t/20260102t150405zab"
	case *tableapi.FindRequest:
		req.ID, req.In = nil, []tableapi.FindPlace{tableapi.FindTag}
	case *namespaceapi.UndropRequest:
		req.DropID = "ab12"
	case *tableapi.UndropRequest:
		req.DropID = "ab12"
	case *tableapi.PurgeRequest:
		req.DropID = "ab12"
	case *tableapi.CloneRequest:
		req.SourceTag = ""
	case *schemaapi.AddColumnsRequest:
		req.NewColumns[0] = schemaapi.NewColumn{Name: "a", VirtualColumn: req.NewColumns[0].VirtualColumn}
		req.Function, req.AutoRefresh, req.AutoInterval = nil, nil, nil // they are for other columns
	case *schemaapi.AlterColumnsRequest:
		req.Alterations[0].VirtualColumn = nil
	case *dataapi.UpdateRequest:
		req.Updates = [][]string{{"a", "1"}}
	case *queryapi.AnalyzePlanRequest:
		req.Part = "" // plans are of whole queries
	case *queryapi.ExplainPlanRequest:
		req.Query.Part = ""
		req.Query.Common = protocol.Common{}
	case *queryapi.ReadBlobRequest:
		req.RowID = "3"
		req.SourceURI, req.RowIsAddress, req.SourceCommitMicros = "", false, nil // they are refused
	case *indexapi.CreateRequest:
		req.Probability = new(0.5)
	case *versionapi.BatchCommitRequest:
		req.ID = nil
		req.Operations[0].Declare, req.Operations[0].Create, req.Operations[0].Deregister = nil, nil, nil
		normalize(&req.Operations[0].Delete.Common)
	case *queryapi.StatementRequest, *versionapi.BatchCreateRequest, *tableapi.ListAllRequest, *accessapi.ExplainRequest, *jobapi.ListRequest, *jobapi.Request, *jobapi.QueryEventsRequest:
		req.(protocol.Request).RequestCommon().ID = nil
	case *functionapi.CreateRequest:
		req.ID = []string{"a", "half"}
		req.Artifact.Digest = functionapi.DigestOf([]byte("x / 2"))
		req.Artifact.Content.Encoding, req.Artifact.Content.Data = "base64", "eCAvIDI="
		req.Signature.Inputs[0].ArrowType, req.Signature.Output.Fields, req.Signature.Initialization = "float64", nil, nil
		req.Signature.Output.Kind, req.Signature.Output.ArrowType = functionapi.ScalarOutput, "float64"
		req.Signature.Output.Nullable = new(false)
		req.Runtime = json.RawMessage(`{"kind":"sql"}`)
		req.SecretBindings[0].Kind = "env"
	case *functionapi.Request:
		req.Version = "1"
	case *secretapi.WriteRequest:
		req.ID = []string{"a", "key-1"}
	case *secretapi.Request:
		req.ID = []string{"a", "key-1"}
	case *viewapi.CreateMaterializedRequest:
		req.Kind = ""
		req.UDTF.Kind = ""
	}
}

// fill gives every field a value that is not zero.
func fill(v reflect.Value) {
	switch field := v.Addr().Interface().(type) {
	case *protocol.Upload:
		return
	case *protocol.Common:
		field.ID = []string{"a", "b c+d/e%"}
		return
	case *queryapi.Vector:
		*field = queryapi.Vector{Vectors: [][]float64{{1.5, 2}, {3, 4}}, Several: true}
		return
	case *queryapi.Projection:
		*field = queryapi.Projection{{Name: "z", Expression: "a + 1"}, {Name: "b", Expression: "c"}}
		return
	case *queryapi.FullTextQuery:
		node := &queryapi.TextQuery{Match: new(queryapi.MatchQuery)}
		fill(reflect.ValueOf(node.Match).Elem())
		*field = queryapi.FullTextQuery{Columns: []string{"a"}, Node: node}
		return
	case *protocol.TypeName:
		field.Type = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
		return
	case *queryapi.OptionalInt:
		field.Null = true
		return
	case *json.RawMessage:
		*field = json.RawMessage(`{"x":1}`)
		return
	case *protocol.LogUse: // true is refused
		field.UseLSM, field.UseRTE = new(false), new(false)
		return
	case *time.Duration:
		*field = 90 * time.Second
		return
	case *indexapi.OptionalMaximum:
		field.Given = true
		return
	}
	fillKind(v)
}

func fillKind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic(fmt.Sprintf("no value for a field of type %s", v.Type()))
	}
}
