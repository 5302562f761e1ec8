package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/http/quota"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

// named is a verifier for which a token is the name of its holder's key.
type named struct{}

func (named) Verify(_ context.Context, token string) (*auth.Principal, error) {
	return &auth.Principal{Subject: "key:" + token, Scopes: []string{auth.ScopeWrite}}, nil
}

// limitedBy returns a handler with quotas, whose clock stands still, and what its requests reported.
func limitedBy(s *service, quotas string) (http.Handler, *[]*Served) {
	now := func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }
	document := auth.OpenDocument("quotas", func(context.Context) ([]byte, error) { return []byte(`{"quotas": [` + quotas + `]}`), nil }, quota.Parse, now)
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) {
		return []byte(`permit (principal, action, resource in Namespace::"open"); permit (principal == User::"key:acme/a", action, resource);`), nil
	}, now)
	served := new([]*Served)
	return Handler(s.routes(), Options{
		Verifier: named{}, Policies: policies, Quotas: quota.Open(document, objectrecord.Open(memstore.New(), now), now, slog.New(slog.DiscardHandler)),
		Observe: func(s *Served) { *served = append(*served, s) },
	}), served
}

func requestAs(handler http.Handler, key, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))
	r.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestRequestsBeyondAQuotaAre429(t *testing.T) {
	s := &service{}
	handler, served := limitedBy(s, `{"name": "rate", "tenant": "*", "requests": 2, "per": "1m"}`)
	for i, key := range []string{"acme/a", "acme/a", "bolt"} {
		if w := requestAs(handler, key, "/v1/table/open$t/exists"); w.Code != http.StatusOK || w.Header().Get("RateLimit-Policy") != `"rate";q=2;w=60` {
			t.Errorf("request %d: %d %v", i, w.Code, w.Header())
		}
	}
	w := requestAs(handler, "acme/b", "/v1/table/open$t/exists")
	got := map[string]any{"retry": w.Header().Get("Retry-After"), "policy": w.Header().Get("RateLimit-Policy"), "limit": w.Header().Get("RateLimit")}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "request_id")
	want := map[string]any{
		"retry": "30", "policy": `"rate";q=2;w=60`, "limit": `"rate";r=0`,
		"error":  "the tenant acme has used up its quota rate: 2 requests in 1m0s",
		"detail": "send the request again after 30 seconds", "violated-policies": []any{"rate"},
		"code": float64(protocol.Throttling), "type": "/errors/quota-exceeded", "title": "Quota exceeded", "status": 429.0,
		"instance": "/v1/table/open$t/exists", "retryable": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.calls != 3 {
		t.Errorf("the service was called %d times, want 3", s.calls)
	}
	if last := (*served)[3]; last.Tenant != "acme" || last.Code != quota.Kind || last.Status != http.StatusTooManyRequests {
		t.Errorf("reported %+v", last)
	}
}

// What a request reads, writes and begins is charged to its sender, and reported.
func TestWorkIsCharged(t *testing.T) {
	reads := objectstore.Counting(memstore.New())
	if _, err := reads.Put(t.Context(), "k", bytes.Repeat([]byte("x"), 100), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	for measure, want := range map[string]int64{"read_bytes": 100, "written_bytes": 50, "written_rows": 7, "jobs": 1, "sent_bytes": 1} {
		s := &service{do: func(ctx context.Context) error {
			_, _, err := reads.Get(ctx, "k")
			if err == nil {
				_, err = reads.Put(ctx, "w", bytes.Repeat([]byte("y"), 50), objectstore.Condition{})
			}
			tally.AddRows(ctx, 7)
			tally.AddJob(ctx)
			return err
		}}
		handler, served := limitedBy(s, `{"name": "q", "principal": "*", "`+measure+`": 1, "per": "1h"}`)
		if w := requestAs(handler, "a", "/v1/namespace/open$n/describe"); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", measure, w.Code, w.Body)
		}
		if got := (*served)[0]; got.Storage.Bytes() != 100 || got.Storage.Written() != 50 || got.Wrote != 7 || got.Jobs != 1 {
			t.Errorf("reported %+v", got)
		}
		w := requestAs(handler, "a", "/v1/namespace/open$n/describe")
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), `the principal key:a has used up its quota q: 1 `) {
			t.Errorf("%s beyond %d: %d %s", measure, want, w.Code, w.Body)
		}
		if w := requestAs(handler, "b", "/v1/namespace/open$n/describe"); w.Code != http.StatusOK {
			t.Errorf("%s of another principal: %d %s", measure, w.Code, w.Body)
		}
	}
}

// Quotas bound the parts of a query that run at once, the least of those that apply. They refuse nothing.
func TestPartsAreBounded(t *testing.T) {
	got := int64(-1)
	s := &service{do: func(ctx context.Context) error { got = tally.MostParts(ctx); return nil }}
	handler, _ := limitedBy(s, `{"name": "a", "tenant": "*", "parts": 5}, {"name": "b", "tenant": "acme", "parts": 7}, {"name": "c", "namespace": "open", "parts": 3}`)
	for key, of := range map[string]map[string]int64{"bolt": {"open$n": 3}, "acme/a": {"open$n": 3, "other": 7}} {
		for id, want := range of {
			for range 9 {
				w := requestAs(handler, key, "/v1/namespace/"+id+"/describe")
				if w.Code != http.StatusOK || got != want || w.Header().Get("RateLimit") != "" {
					t.Errorf("%s of %s: %d, header %v, %d parts, want %d", id, key, w.Code, w.Header(), got, want)
				}
			}
		}
	}
	handler, _ = limitedBy(s, ``)
	if w := requestAs(handler, "bolt", "/v1/namespace/open$n/describe"); w.Code != http.StatusOK || got != 0 {
		t.Errorf("without quotas: %d, %d parts", w.Code, got)
	}
}

// Beyond a quota of stored bytes, requests that add data are refused, also those that add it to their other tables. A
// repetition does not help. Other requests go through, and have no fields about it.
func TestStoredBytesRefuseWhatAddsData(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	document := auth.OpenDocument("quotas", func(context.Context) ([]byte, error) {
		return []byte(`{"quotas": [{"name": "store", "namespace": "*", "stored_bytes": 100}]}`), nil
	}, quota.Parse, now)
	records := objectrecord.Open(memstore.New(), now)
	s := &service{}
	routes := append(s.routes(), JSON("RenameTable", serve[tableapi.RenameRequest](s, tableapi.RenameResponse{})), JSON("BatchCommitTables", serve[versionapi.BatchCommitRequest](s, versionapi.BatchCommitResponse{})))
	handler := Handler(routes, Options{Verifier: named{}, Quotas: quota.Open(document, records, now, slog.New(slog.DiscardHandler))})
	send := func(path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("X-Api-Key", "ada")
		if body == "" {
			r.Header.Set("Content-Type", "application/vnd.apache.arrow.stream")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	if err := usage.NoteStored(t.Context(), records, at, "memory://t", "full", 100); err != nil {
		t.Fatal(err)
	}
	if w := send("/v1/table/full$t/insert", ""); w.Code != http.StatusOK || w.Header().Get("RateLimit-Policy") != `"store";q=100;qu="stored-bytes"` || w.Header().Get("RateLimit") != `"store";r=100` {
		t.Fatalf("before metering: %d %v", w.Code, w.Header())
	}
	if err := usage.SumStored(t.Context(), records, at); err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Minute)
	w := send("/v1/table/full$below$t/insert", "")
	got := map[string]any{"retry": w.Header().Get("Retry-After"), "policy": w.Header().Get("RateLimit-Policy"), "limit": w.Header().Get("RateLimit")}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "request_id")
	want := map[string]any{
		"retry": "", "policy": `"store";q=100;qu="stored-bytes"`, "limit": `"store";r=0`,
		"error":             "the namespace full stores 100 bytes, and its quota store allows 100",
		"detail":            "drop tables, or delete rows and have their files removed (tiltyard maintain, or MaintainTable); what is stored is measured after maintenance, at least once a day, and added up about once an hour",
		"violated-policies": []any{"store"},
		"code":              float64(protocol.Throttling), "type": "/errors/quota-exceeded", "title": "Quota exceeded", "status": 429.0,
		"instance": "/v1/table/full$below$t/insert", "retryable": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		path, body string
		refused    bool
	}{
		{"/v1/table/full$t/create", "", true},
		{"/v1/table/full$t/update", `{"updates": [["a", "1"]]}`, true},
		{"/v1/table/full$t/register", `{"location": "s3://b/t"}`, true},
		{"/v1/table/calm$t/rename", `{"new_table_name": "t", "new_namespace_id": ["full"]}`, true},
		{"/v1/table/batch-commit", `{"operations": [{"declare_table": {"id": ["full", "t"]}}, {"create_table_version": {"id": ["full", "t"], "version": 1, "manifest_path": "m"}}]}`, true},
		{"/v1/table/calm$t/insert", "", false},
		{"/v1/table/t/insert", "", false},
		{"/v1/table/full$t/rename", `{"new_table_name": "t", "new_namespace_id": ["calm"]}`, false},
		{"/v1/table/full$t/rename", `{"new_table_name": "u", "new_namespace_id": ["full", "below"]}`, false},
		{"/v1/table/batch-commit", `{"operations": [{"declare_table": {"id": ["full", "t"]}}, {"deregister_table": {"id": ["full", "u"]}}]}`, false},
		{"/v1/table/full$t/count_rows", `{}`, false},
		{"/v1/table/full$t/delete", `{"predicate": "true"}`, false},
		{"/v1/table/full$t/drop", `{}`, false},
		{"/v1/table/full$t/restore", `{"version": 1}`, false},
		{"/v1/namespace/full$n/create", `{}`, false},
	} {
		w := send(c.path, c.body)
		if (w.Code == http.StatusTooManyRequests) != c.refused || !c.refused && w.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if w := send("/v1/table/full$t/delete", `{"predicate": "true"}`); w.Header().Get("RateLimit") != "" {
		t.Errorf("got %v", w.Header())
	}
}

// Who may not use an object neither learns of the quota of its namespace nor uses it up.
func TestQuotasOfNamespacesAreForThoseWhoMayUseThem(t *testing.T) {
	handler, _ := limitedBy(&service{}, `{"name": "q", "namespace": "closed", "requests": 1, "per": "1h"}`)
	for range 3 {
		if w := requestAs(handler, "bolt", "/v1/table/closed$t/count_rows"); w.Code == http.StatusTooManyRequests || w.Header().Get("RateLimit") != "" {
			t.Fatalf("got %d %v", w.Code, w.Header())
		}
	}
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if w := requestAs(handler, "acme/a", "/v1/table/closed$t/count_rows"); w.Code != want || w.Header().Get("RateLimit") == "" {
			t.Errorf("request %d of the one who may: %d %v", i, w.Code, w.Header())
		}
	}
	if w := requestAs(handler, "acme/a", "/v1/table/open$t/count_rows"); w.Code != http.StatusOK || w.Header().Get("RateLimit") != "" {
		t.Errorf("elsewhere: %d %v", w.Code, w.Header())
	}
}

// A statement counts for the namespaces of the tables that it reads, once for each.
func TestStatementsCountForTheirNamespaces(t *testing.T) {
	served, _ := limitedBy(&service{}, `{"name": "q", "namespace": "open", "requests": 2, "per": "1h"}`)
	statement := Arrow("ExecuteStatement", func(ctx context.Context, _ *queryapi.StatementRequest) (*protocol.Rows, error) {
		for _, name := range []string{"t", "u", "t"} {
			if err := Reads(ctx, "QueryTable", []string{"open", name}); err != nil {
				return nil, err
			}
		}
		return nil, &protocol.Error{Code: protocol.TableNotFound}
	})
	limited := Handler([]Route{statement}, served.(*handler).Options)
	for i, want := range []int{http.StatusNotFound, http.StatusNotFound, http.StatusTooManyRequests} {
		r := httptest.NewRequest(http.MethodPost, "/v1/sql", strings.NewReader(`{"query": "SELECT 1"}`))
		r.Header.Set("X-Api-Key", "bolt")
		w := httptest.NewRecorder()
		limited.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("statement %d: %d %s", i, w.Code, w.Body)
		}
	}
}
