package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
	"tiltyard/shared/storage/record"
)

// service answers every route with the values that a test has set, and records its requests.
type service struct {
	calls int
	got   any
	err   error
	drop  *namespaceapi.DropResponse
	rows  func() *protocol.Rows
	do    func(ctx context.Context) error
	// ignore means that bodies of uploads are not read.
	ignore bool
}

func serve[Req, Resp any](s *service, resp Resp) func(context.Context, *Req) (*Resp, error) {
	return func(ctx context.Context, req *Req) (*Resp, error) {
		s.calls++
		s.got = req
		if s.do != nil {
			if err := s.do(ctx); err != nil {
				return nil, err
			}
		}
		return &resp, s.err
	}
}

func (s *service) routes() []Route {
	return []Route{
		JSON("CreateNamespace", serve[namespaceapi.CreateRequest](s, namespaceapi.CreateResponse{})),
		JSON("DescribeNamespace", serve[namespaceapi.DescribeRequest](s, namespaceapi.DescribeResponse{})),
		JSON("ListNamespaces", serve[namespaceapi.ListRequest](s, namespaceapi.ListResponse{})),
		JSON("NamespaceExists", serve[namespaceapi.ExistsRequest](s, protocol.Empty{})),
		JSON("ListTables", serve[tableapi.ListRequest](s, tableapi.ListResponse{})),
		JSON("ListAllTables", serve[tableapi.ListAllRequest](s, tableapi.ListResponse{})),
		JSON("DescribeTable", serve[tableapi.DescribeRequest](s, tableapi.DescribeResponse{})),
		JSON("TableExists", serve[tableapi.ExistsRequest](s, protocol.Empty{})),
		JSON("DropTable", serve[tableapi.DropRequest](s, tableapi.DropResponse{})),
		JSON("RegisterTable", serve[tableapi.RegisterRequest](s, tableapi.RegisterResponse{})),
		JSON("DeclareTable", serve[tableapi.DeclareRequest](s, tableapi.DeclareResponse{
			Location: "s3://b/t", StorageOptions: map[string]string{"aws_secret_access_key": "secret"},
		})),
		JSON("UpdateTable", serve[dataapi.UpdateRequest](s, dataapi.UpdateResponse{})),
		JSON("DeleteFromTable", serve[dataapi.DeleteRequest](s, dataapi.DeleteResponse{})),
		JSON("RestoreTable", serve[versionapi.RestoreRequest](s, versionapi.RestoreResponse{})),
		JSON("ListTableVersions", serve[versionapi.ListRequest](s, versionapi.ListResponse{})),
		JSON("CountTableRows", serve[queryapi.CountRowsRequest](s, queryapi.CountRowsResponse{Count: 42, Version: 7})),
		JSON("ExplainTableQueryPlan", serve[queryapi.ExplainPlanRequest](s, "scan <t>")),
		JSON("DropNamespace", func(_ context.Context, req *namespaceapi.DropRequest) (*namespaceapi.DropResponse, error) {
			s.calls, s.got = s.calls+1, req
			return s.drop, s.err
		}),
		Upload("CreateTable", upload[dataapi.CreateTableRequest](s, dataapi.CreateTableResponse{Version: 1})),
		Upload("InsertIntoTable", upload[dataapi.InsertRequest](s, dataapi.InsertResponse{Version: 2})),
		Upload("MergeInsertIntoTable", upload[dataapi.MergeInsertRequest](s, dataapi.MergeInsertResponse{Version: 3})),
		Arrow("QueryTable", func(_ context.Context, req *queryapi.Request) (*protocol.Rows, error) {
			s.calls, s.got = s.calls+1, req
			if s.err != nil {
				return nil, s.err
			}
			return s.rows(), nil
		}),
	}
}

// upload reads the stream, as services do.
func upload[Req, Resp any, PReq interface {
	*Req
	RequestUpload() *protocol.Upload
}](s *service, resp Resp) func(context.Context, *Req) (*Resp, error) {
	return func(ctx context.Context, req *Req) (*Resp, error) {
		s.calls, s.got = s.calls+1, req
		if s.do != nil {
			if err := s.do(ctx); err != nil {
				return nil, err
			}
		}
		if s.ignore {
			return &resp, s.err
		}
		if _, err := io.ReadAll(PReq(req).RequestUpload().Body); err != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "read the stream: %w", err)
		}
		return &resp, s.err
	}
}

const testToken = "t0ken"

// verifier knows three people.
type verifier struct{}

func (verifier) Verify(_ context.Context, token string) (*auth.Principal, error) {
	switch token {
	case testToken:
		return &auth.Principal{Subject: "ada", Scopes: []string{auth.ScopeWrite}}, nil
	case "reader":
		return &auth.Principal{Subject: "rae", Scopes: []string{auth.ScopeRead}}, nil
	case "guest":
		return &auth.Principal{Subject: "gus"}, nil
	case "later":
		return nil, &protocol.Error{Code: protocol.ServiceUnavailable, Message: "later"}
	}
	return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "the token is not known"}
}

func newTestHandler(s *service) http.Handler {
	return Handler(s.routes(), Options{
		Verifier: verifier{},
		Release:  "test",
		NewID:    func() string { return "generated" },
		Limits:   Limits{JSON: 4096, Query: 8192, Upload: 4096},
		BasePath: "/base",
	})
}

// request is a request as tests write it; Authorization is good unless they say otherwise.
type request struct {
	method, path, body string
	header             map[string]string
}

func (rq request) do(t testing.TB, h http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	if rq.method == "" {
		rq.method = http.MethodPost
	}
	r := httptest.NewRequest(rq.method, rq.path, strings.NewReader(rq.body))
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("User-Agent", "test")
	for name, value := range rq.header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decodeProblem(t testing.TB, w *httptest.ResponseRecorder) problem {
	t.Helper()
	var p problem
	dec := json.NewDecoder(w.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		t.Fatalf("the body of status %d is no problem: %v", w.Code, err)
	}
	if p.Status != w.Code {
		t.Errorf("problem says status %d, the response %d", p.Status, w.Code)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q, want application/json", got)
	}
	return p
}

func TestIDsAreReadFromPaths(t *testing.T) {
	cases := []struct {
		name, path, body string
		id               []string
		dialect          protocol.Dialect
	}{
		{"plain", "/v1/table/t/describe", "", []string{"t"}, protocol.DialectNamespace},
		{"slash at the end", "/v1/table/t/describe/", "", []string{"t"}, protocol.DialectLanceDB},
		{"nested", "/v1/table/a$b$t/describe", "", []string{"a", "b", "t"}, 0},
		{"encoded delimiter", "/v1/table/a%24b/describe?delimiter=%24", "", []string{"a", "b"}, 0},
		{"spare delimiters", "/v1/table/$$t$$/describe", "", []string{"t"}, 0},
		{"other delimiter", "/v1/table/a.b/describe?delimiter=.", "", []string{"a", "b"}, 0},
		{"long delimiter", "/v1/table/a::b/describe?delimiter=::", "", []string{"a", "b"}, 0},
		{"encoded slash", "/v1/table/a%2Fb/describe", "", []string{"a/b"}, 0},
		{"plus is a space", "/v1/table/a+b/describe", "", []string{"a b"}, 0},
		{"encoded plus", "/v1/table/a%2Bb/describe", "", []string{"a+b"}, 0},
		{"encoded percent", "/v1/table/a%2541/describe", "", []string{"a%41"}, 0},
		{"unicode", "/v1/table/%C3%A9t%C3%A9/describe", "", []string{"été"}, 0},
		{"dots", "/v1/table/../describe", "", []string{".."}, 0},
		{"encoded dots", "/v1/table/%2e%2e/describe", "", []string{".."}, 0},
		{"double slashes", "//v1//table//t//describe", "", []string{"t"}, 0},
		{"base path", "/base/v1/table/t/describe", "", []string{"t"}, 0},
		{"named like a static route", "/v1/table/version/describe", "", []string{"version"}, 0},
		{"id in the body too", "/v1/table/a$t/describe", `{"id":["a","t"]}`, []string{"a", "t"}, 0},
		{"null id in the body", "/v1/table/a$t/describe", `{"id":null}`, []string{"a", "t"}, 0},
		{"root", "/v1/namespace/$/describe", "", []string{}, 0},
		{"root, encoded", "/v1/namespace/%24/describe", "", []string{}, 0},
		{"root by another delimiter", "/v1/namespace/./describe?delimiter=.", `{"id":[]}`, []string{}, 0},
		{"namespace with slash at the end", "/v1/namespace/a/describe/", "", []string{"a"}, 0},
		{"16 levels", "/v1/namespace/" + strings.Repeat("n$", 15) + "n/describe", "", slices.Repeat([]string{"n"}, 16), 0},
		{"256 bytes", "/v1/namespace/" + strings.Repeat("n", 256) + "/describe", "", []string{strings.Repeat("n", 256)}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &service{}
			w := request{path: c.path, body: c.body}.do(t, newTestHandler(s))
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			common := s.got.(protocol.Request).RequestCommon()
			if diff := cmp.Diff(c.id, common.ID); diff != "" {
				t.Errorf("id (-want +got):\n%s", diff)
			}
			if common.Dialect != c.dialect {
				t.Errorf("dialect %v, want %v", common.Dialect, c.dialect)
			}
		})
	}
}

func TestRequestsAreDecoded(t *testing.T) {
	version := func(v int64) *int64 { return &v }
	yes := true
	cases := []struct {
		name string
		rq   request
		want any
	}{
		{"modes in any spelling", request{path: "/v1/namespace/a/create", body: `{"mode":"exist_OK","properties":{"k":"v"},"unknown":[1]}`},
			&namespaceapi.CreateRequest{Mode: protocol.CreateModeExistOk, Properties: map[string]string{"k": "v"}}},
		{"nulls", request{path: "/v1/namespace/a/create", body: `{"mode":null,"properties":null,"identity":null,"context":null}`},
			&namespaceapi.CreateRequest{}},
		{"no body", request{path: "/v1/namespace/a/create"}, &namespaceapi.CreateRequest{}},
		{"integral float", request{path: "/v1/table/t/describe", body: `{"version":1.2e1}`}, &tableapi.DescribeRequest{Version: version(12)}},
		{"query wins", request{path: "/v1/table/t/describe?load_detailed_metadata=true&other=1", body: `{"load_detailed_metadata":false,"check_declared":true}`},
			&tableapi.DescribeRequest{LoadDetailedMetadata: true, CheckDeclared: true}},
		{"list by GET", request{method: "GET", path: "/v1/namespace/a/table/list?limit=10&page_token=x&include_declared=true"},
			&tableapi.ListRequest{Page: protocol.Page{Limit: version(10), PageToken: "x"}, IncludeDeclared: &yes}},
		{"list by POST", request{path: "/v1/namespace/a/table/list", body: `{"limit":3}`},
			&tableapi.ListRequest{Page: protocol.Page{Limit: version(3)}}},
		{"largest k", request{path: "/v1/table/t/explain_plan", body: `{"query":{"k":9223372036854775807,"vector":[],"id":["other"]}}`},
			&queryapi.ExplainPlanRequest{Query: &queryapi.Request{K: version(1<<63 - 1)}}},
		{"merge parameters", request{path: "/v1/table/t/merge_insert?on=a&on=b,c&when_matched_update_all=true&when_matched_update_all_filt=target.id%3E1&timeout=30s&use_index=true"},
			&dataapi.MergeInsertRequest{On: []string{"a", "b,c"}, WhenMatchedUpdateAll: true, WhenMatchedUpdateAllFilter: "target.id>1", Timeout: new(30 * time.Second), UseIndex: &yes}},
		{"create parameters", request{path: "/v1/table/t/create/?mode=exist_ok&properties=%7B%22a%22%3A%22b%22%7D"},
			&dataapi.CreateTableRequest{Mode: protocol.CreateModeExistOk, Properties: map[string]string{"a": "b"}}},
		{"content type of another kind", request{path: "/v1/table/t/delete", body: `{"predicate":"id > 1"}`, header: map[string]string{"Content-Type": "text/plain"}},
			&dataapi.DeleteRequest{Predicate: "id > 1"}},
		{"context of headers and body", request{path: "/v1/table/t/exists", body: `{"context":{"a":"1"}}`, header: map[string]string{"x-svc-ctx-Trace": "7"}},
			&tableapi.ExistsRequest{Common: protocol.Common{Context: map[string]string{"a": "1", "trace": "7"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &service{}
			w := c.rq.do(t, newTestHandler(s))
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			got := s.got.(protocol.Request).RequestCommon()
			want := c.want.(protocol.Request).RequestCommon()
			want.ID, want.Delimiter, want.Dialect = got.ID, got.Delimiter, got.Dialect
			if explain, ok := c.want.(*queryapi.ExplainPlanRequest); ok {
				explain.Query.Common = *want
			}
			if up, ok := s.got.(interface{ RequestUpload() *protocol.Upload }); ok {
				up.RequestUpload().Body = nil
			}
			if diff := cmp.Diff(c.want, s.got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersHaveTheirStatusAndBody(t *testing.T) {
	cases := []struct {
		name   string
		rq     request
		drop   *namespaceapi.DropResponse
		status int
		body   string
		header map[string]string
	}{
		{name: "object", rq: request{path: "/v1/namespace/a/create"}, status: 200, body: `{"properties":{}}`,
			header: map[string]string{"Content-Type": "application/json", "Phalanx-Version": "0.6.0", "X-Request-Id": "generated", "Content-Length": "17"}},
		{name: "empty list", rq: request{method: "GET", path: "/v1/namespace/$/list"}, status: 200, body: `{"namespaces":[]}`},
		{name: "no body", rq: request{path: "/v1/namespace/a/exists"}, status: 200},
		{name: "number", rq: request{path: "/v1/table/t/count_rows/"}, status: 200, body: `42`, header: map[string]string{"X-Lancedb-Version": "7"}},
		{name: "string, not escaped", rq: request{path: "/v1/table/t/explain_plan", body: `{"query":{}}`}, status: 200, body: `"scan <t>"`},
		{name: "dropped", rq: request{path: "/v1/namespace/a/drop"}, drop: &namespaceapi.DropResponse{}, status: 200, body: `{"properties":{}}`},
		{name: "nothing dropped", rq: request{path: "/v1/namespace/a/drop"}, status: 204},
		{name: "nothing dropped, native client", rq: request{path: "/v1/namespace/a/drop", header: map[string]string{"User-Agent": ""}}, status: 200, body: `{}`},
		{name: "request id echoed", rq: request{path: "/v1/namespace/a/exists", header: map[string]string{"X-Request-Id": "0b7c-1"}}, status: 200, header: map[string]string{"X-Request-Id": "0b7c-1"}},
		{name: "request id unfit", rq: request{path: "/v1/namespace/a/exists", header: map[string]string{"X-Request-Id": "a b<"}}, status: 200, header: map[string]string{"X-Request-Id": "generated"}},
		{name: "health", rq: request{method: "GET", path: "/healthz", header: map[string]string{"Authorization": ""}}, status: 200, body: `{"status":"ok"}`},
		{name: "version", rq: request{method: "GET", path: "/base/version", header: map[string]string{"Authorization": ""}}, status: 200, body: `{"version":"test","specification":"0.13","idempotency_keys":false}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := c.rq.do(t, newTestHandler(&service{drop: c.drop}))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			for name, want := range c.header {
				if got := w.Header().Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestCodesHaveTheirStatuses(t *testing.T) {
	want := map[protocol.Code]int{
		0: 501, 1: 404, 2: 409, 3: 409, 4: 404, 5: 409, 6: 404, 7: 409, 8: 404, 9: 409, 10: 404, 11: 404,
		12: 404, 13: 400, 14: 409, 15: 403, 16: 401, 17: 503, 18: 500, 19: 409, 20: 400, 21: 429, 22: 404, 23: 409,
	}
	if diff := cmp.Diff(want, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	for _, code := range slices.Sorted(maps.Keys(want)) {
		s := &service{err: &protocol.Error{Code: code, Object: "a$t", Message: "told", Detail: "more", Err: errors.New("secret")}}
		w := request{path: "/v1/table/a$t/exists"}.do(t, newTestHandler(s))
		p := decodeProblem(t, w)
		if p.Status != want[code] || p.Code != int(code) || p.Instance != "/v1/table/a$t/exists" || p.RequestID != "generated" {
			t.Errorf("code %v: got %+v, want status %d", code, p, want[code])
		}
		if code != protocol.Internal && (p.Error != "a$t: told" || p.Detail != "more") {
			t.Errorf("code %v: error %q, detail %q", code, p.Error, p.Detail)
		}
		if p.Title == "" || !strings.HasPrefix(p.Type, "/errors/") || strings.Contains(fmt.Sprint(p), "secret") {
			t.Errorf("code %v: got %+v", code, p)
		}
		if wait := w.Header().Get("Retry-After") != ""; wait != (p.Status == 503 || p.Status == 429) {
			t.Errorf("code %v: Retry-After is there: %v", code, wait)
		}
	}
}

func TestErrorsOfServices(t *testing.T) {
	exists := &protocol.Error{Code: protocol.TableAlreadyExists, Object: "t", Message: "is there"}
	cases := []struct {
		name   string
		path   string
		err    error
		status int
		code   protocol.Code
		typ    string
		text   string
	}{
		{"unknown error", "/v1/table/t/exists", errors.New("disk on fire"), 500, protocol.Internal, "/errors/internal", "internal error; operators find the cause in the log by the request id"},
		{"internal error", "/v1/table/t/exists", &protocol.Error{Code: protocol.Internal, Message: "disk on fire"}, 500, protocol.Internal, "/errors/internal", "internal error; operators find the cause in the log by the request id"},
		{"damaged table", "/v1/table/t/exists", &protocol.Error{Code: protocol.InvalidTableState, Damaged: true, Message: "table t is damaged", Err: errors.New("secret")}, 422, protocol.InvalidTableState, "/errors/damaged-table", "table t is damaged"},
		{"damaged table of LanceDB", "/v1/table/t/exists/", &protocol.Error{Code: protocol.InvalidTableState, Damaged: true, Message: "table t is damaged"}, 422, protocol.InvalidTableState, "/errors/damaged-table", "table t is damaged"},
		{"full disk", "/v1/table/t/exists", fmt.Errorf("put x: %w", &os.PathError{Op: "write", Path: "secret", Err: syscall.ENOSPC}), 507, protocol.ServiceUnavailable, "/errors/insufficient-storage", "the storage cannot take more data"},
		{"read-only disk", "/v1/table/t/exists", fmt.Errorf("put x: %w", syscall.EROFS), 507, protocol.ServiceUnavailable, "/errors/insufficient-storage", "the storage cannot take more data"},
		{"storage in trouble", "/v1/table/t/exists", fmt.Errorf("get x: %w", outage.Busy("S3", errors.New("secret"))), 503, protocol.ServiceUnavailable, "/errors/service-unavailable", "S3 is overloaded or out of reach"},
		{"storage in trouble, inside", "/v1/table/t/exists", &protocol.Error{Code: protocol.Internal, Err: outage.Busy("S3", errors.New("secret"))}, 503, protocol.ServiceUnavailable, "/errors/service-unavailable", "S3 is overloaded or out of reach"},
		{"no bucket", "/v1/table/t/exists", fmt.Errorf("get x: %w", outage.Missing("S3 bucket b", errors.New("secret"))), 503, protocol.ServiceUnavailable, "/errors/service-unavailable", "S3 bucket b does not exist"},
		{"answer of the storage lost", "/v1/table/t/exists", fmt.Errorf("put x: %w: %w", objectstore.ErrUnknownOutcome, outage.Busy("S3", errors.New("secret"))), 503, protocol.ServiceUnavailable, "/errors/service-unavailable", "the answer of the storage was lost, so the change may or may not have been made"},
		{"answer of the records lost", "/v1/table/t/exists", fmt.Errorf("put x: %w", record.ErrUnknownOutcome), 503, protocol.ServiceUnavailable, "/errors/service-unavailable", "the answer of the storage was lost, so the change may or may not have been made"},
		{"wrapped", "/v1/table/t/exists", fmt.Errorf("look up: %w", &protocol.Error{Code: protocol.TableNotFound}), 404, protocol.TableNotFound, "/errors/table-not-found", "TableNotFound"},
		{"drop of nothing", "/v1/namespace/a/drop", &protocol.Error{Code: protocol.NamespaceNotFound}, 400, protocol.NamespaceNotFound, "/errors/namespace-not-found", "NamespaceNotFound"},
		{"create again", "/v1/table/t/create", exists, 409, protocol.TableAlreadyExists, "/errors/table-already-exists", "t: is there"},
		{"create again in LanceDB", "/v1/table/t/create/", exists, 400, protocol.TableAlreadyExists, "/errors/table-already-exists", "t: is there: already exists"},
		{"deadline", "/v1/table/t/exists", fmt.Errorf("read: %w", context.DeadlineExceeded), 503, protocol.ServiceUnavailable, "/errors/service-unavailable", "the request took longer than its time limit"},
		{"cancelled inside", "/v1/table/t/exists", context.Canceled, 500, protocol.Internal, "/errors/internal", "internal error; operators find the cause in the log by the request id"},
		{"bad request", "/v1/table/t/exists", protocol.Errorf(protocol.InvalidInput, "no"), 400, protocol.InvalidInput, "/errors/bad-request", "no"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := request{path: c.path}.do(t, newTestHandler(&service{err: c.err}))
			p := decodeProblem(t, w)
			if lost := strings.Contains(c.name, "lost"); c.status == 503 && (p.Retryable == lost || w.Header().Get("Retry-After") == "") {
				t.Errorf("got %+v, Retry-After %q, want it to be repeated: %v", p, w.Header().Get("Retry-After"), !lost)
			}
			if p.Status != c.status || p.Code != int(c.code) || p.Type != c.typ || p.Error != c.text {
				t.Errorf("got %+v, want %d, code %d, %s, %q", p, c.status, c.code, c.typ, c.text)
			}
		})
	}
}

func TestPanicsAreContained(t *testing.T) {
	var logged bytes.Buffer
	s := &service{do: func(context.Context) error { panic("out of cheese") }}
	h := Handler(s.routes(), Options{Verifier: verifier{}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	w := request{path: "/v1/table/t/exists"}.do(t, h)
	if p := decodeProblem(t, w); p.Status != 500 || p.Code != int(protocol.Internal) || strings.Contains(p.Error, "cheese") {
		t.Errorf("got %+v, want a plain internal error", p)
	}
	if !strings.Contains(logged.String(), "out of cheese") || !strings.Contains(logged.String(), "stack=") {
		t.Errorf("the log does not tell of the panic: %s", &logged)
	}
}

func TestDeadlineOfClient(t *testing.T) {
	s := &service{do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	w := request{path: "/v1/table/t/exists", header: map[string]string{"X-Request-Timeout-Ms": "1"}}.do(t, newTestHandler(s))
	if p := decodeProblem(t, w); p.Status != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %+v, want 503 with Retry-After", p)
	}
}

func TestServicesSeeRequestIDAndPrincipal(t *testing.T) {
	s := &service{do: func(ctx context.Context) error {
		if id, p := RequestID(ctx), auth.FromContext(ctx); id != "generated" || p == nil || p.Subject != "ada" {
			t.Errorf("service sees request %q of %v", id, p)
		}
		return nil
	}}
	request{path: "/v1/table/t/exists"}.do(t, newTestHandler(s))
	if s.calls != 1 {
		t.Errorf("%d calls, want 1", s.calls)
	}
}

func TestAccessLogHoldsNoSecrets(t *testing.T) {
	var logged bytes.Buffer
	s := &service{}
	h := Handler(s.routes(), Options{Verifier: verifier{}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	request{path: "/v1/table/a$t/delete", body: `{"predicate":"name = 'private'"}`, header: map[string]string{"X-Request-Id": "r1"}}.do(t, h)
	request{path: "/v1/table/a$t/exists", header: map[string]string{"Authorization": "Bearer wrong-secret"}}.do(t, h)
	for _, want := range []string{"request_id=r1", "operation=DeleteFromTable", "object=a$t", "status=200", "principal=ada", "duration_ms=", "bytes_in=32 bytes_out=", "status=401"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &logged)
		}
	}
	for _, secret := range []string{testToken, "wrong-secret", "private"} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, &logged)
		}
	}
}

func TestHandlerRefusesWrongTables(t *testing.T) {
	s := &service{}
	for name, routes := range map[string][]Route{
		"unknown": {JSON("NoSuchThing", serve[tableapi.DropRequest](s, protocol.Empty{}))},
		"doubled": append(s.routes(), s.routes()[0]),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Handler accepts the routes, want a panic")
				}
			}()
			Handler(routes, Options{})
		})
	}
}
