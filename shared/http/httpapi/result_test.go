package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/catalog/result"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// keeping returns a handler that stores answers, and the store.
func keeping(t *testing.T, s *service, most int64) (http.Handler, objectstore.Store) {
	t.Helper()
	store := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://lake", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return Handler(append(s.routes(), Result("ReadTableResult")), Options{
		Verifier: verifier{}, Results: result.Open(roots, time.Now, most),
	}), store
}

func objects(t *testing.T, store objectstore.Store) int {
	t.Helper()
	page, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Objects)
}

// follow asks for what an answer leads to, relative to the path of its request.
func follow(t *testing.T, path, reference string) string {
	t.Helper()
	base, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	target, err := base.Parse(reference)
	if err != nil {
		t.Fatal(err)
	}
	return target.RequestURI()
}

func rowsIn(t *testing.T, file []byte) (rows int64) {
	t.Helper()
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.NumRecords() {
		batch, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		rows += batch.NumRows()
	}
	return rows
}

func TestStoredAnswersAreReadByTheirCallers(t *testing.T) {
	for _, path := range []string{"/v1/table/a$t/query", "/v1/table/a$t/query/", "/v1/table/a.t/query?delimiter=."} {
		s := &service{rows: rowsOf(nil, intBatch(1, 2), intBatch(3))}
		handler, _ := keeping(t, s, 1<<20)
		w := request{path: path, body: `{"k":1}`, header: map[string]string{ResultHeader: "link"}}.do(t, handler)
		var made queryapi.StoredResult
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 200 {
			t.Fatalf("%s: status %d, %v: %s", path, w.Code, err, w.Body)
		}
		if made.Rows != 3 || made.Version != 9 || made.ContentType != "application/vnd.apache.arrow.file" || w.Header().Get("X-Lancedb-Version") != "9" ||
			!strings.HasPrefix(made.Location, "memory://lake/_results/") || made.URLExpiresAtMillis != 0 || time.Until(time.UnixMilli(made.ExpiresAtMillis)) < 23*time.Hour {
			t.Errorf("%s: %+v", path, made)
		}
		at := follow(t, path, made.URL)
		got := request{method: "GET", path: at}.do(t, handler)
		if got.Code != 200 || got.Header().Get("Content-Type") != made.ContentType || int64(got.Body.Len()) != made.Bytes || rowsIn(t, got.Body.Bytes()) != 3 {
			t.Errorf("%s: status %d for %s, %d bytes", path, got.Code, at, got.Body.Len())
		}
		part := request{method: "GET", path: at, header: map[string]string{"Range": "bytes=0-5"}}.do(t, handler)
		if part.Code != http.StatusPartialContent || part.Body.String() != "ARROW1" {
			t.Errorf("%s: a part is %d, %q", path, part.Code, part.Body)
		}
		for name, other := range map[string]request{
			"another caller": {method: "GET", path: at, header: map[string]string{"Authorization": "Bearer reader"}},
			"another table":  {method: "GET", path: strings.Replace(at, "t/result", "u/result", 1)},
			"another result": {method: "GET", path: strings.Replace(at, made.ID, strings.Repeat("0", 32)+".arrow", 1)},
			"no id":          {method: "GET", path: strings.Replace(at, made.ID, "x", 1)},
		} {
			if got := other.do(t, handler); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "no-such-result") {
				t.Errorf("%s, %s: status %d: %s", path, name, got.Code, got.Body)
			}
		}
	}
}

func TestRedirectsAreForLongAnswers(t *testing.T) {
	header := map[string]string{ResultHeader: "redirect"}
	short := &service{rows: rowsOf(nil, intBatch(1, 2))}
	handler, store := keeping(t, short, 1<<30)
	w := request{path: "/v1/table/t/query", body: `{"k":1}`, header: header}.do(t, handler)
	if w.Code != 200 || rowsIn(t, w.Body.Bytes()) != 2 || objects(t, store) != 0 || w.Header().Get("X-Lancedb-Version") != "9" {
		t.Errorf("a short answer: status %d, %d objects", w.Code, objects(t, store))
	}
	long := make([]arrow.RecordBatch, 7)
	for i := range long {
		long[i] = intBatch(make([]int64, 100_000)...)
	}
	handler, store = keeping(t, &service{rows: rowsOf(nil, long...)}, 1<<30)
	w = request{path: "/v1/table/t/query", body: `{"k":1}`, header: header}.do(t, handler)
	if w.Code != http.StatusSeeOther || objects(t, store) != 1 {
		t.Fatalf("a long answer: status %d, %d objects", w.Code, objects(t, store))
	}
	got := request{method: "GET", path: follow(t, "/v1/table/t/query", w.Header().Get("Location"))}.do(t, handler)
	if got.Code != 200 || rowsIn(t, got.Body.Bytes()) != 700_000 {
		t.Errorf("where it leads: status %d", got.Code)
	}
}

func TestFailedAnswersAreNotStored(t *testing.T) {
	for name, c := range map[string]struct {
		rows   func() *protocol.Rows
		asked  string
		most   int64
		status int
	}{
		"an error before the rows":  {rowsOf(protocol.Errorf(protocol.TableNotFound, "gone")), "link", 1 << 20, 404},
		"an error between rows":     {rowsOf(errors.New("broken"), intBatch(1)), "link", 1 << 20, 500},
		"the same without storage":  {rowsOf(errors.New("broken"), intBatch(1)), "redirect", 1 << 20, 500},
		"more than the caller has":  {rowsOf(nil, intBatch(1, 2, 3)), "link", 100, 413},
		"another way of deliveries": {rowsOf(nil, intBatch(1)), "by mail", 1 << 20, 400},
	} {
		handler, store := keeping(t, &service{rows: c.rows}, c.most)
		w := request{path: "/v1/table/t/query", body: `{"k":1}`, header: map[string]string{ResultHeader: c.asked}}.do(t, handler)
		if w.Code != c.status || objects(t, store) != 0 {
			t.Errorf("%s: status %d, want %d, %d objects: %s", name, w.Code, c.status, objects(t, store), w.Body)
		}
	}
	w := request{path: "/v1/table/t/query", body: `{"k":1}`, header: map[string]string{ResultHeader: "link"}}.do(t, newTestHandler(&service{rows: rowsOf(nil)}))
	if w.Code != http.StatusBadRequest {
		t.Errorf("a server that stores none: status %d", w.Code)
	}
}

// A client sees that an answer broke off, and the line of the request says how far it came.
func TestAnswersThatBreakOffAreLogged(t *testing.T) {
	var lines bytes.Buffer
	var served *Served
	handler := Handler((&service{rows: rowsOf(errors.New("the disk is broken"), intBatch(make([]int64, 20_000)...), intBatch(3))}).routes(), Options{
		Verifier: verifier{}, Logger: slog.New(slog.NewJSONHandler(&lines, nil)), Observe: func(s *Served) { served = s },
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/table/t/query", strings.NewReader(`{"k":1}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer reader")
	if answer, err := http.DefaultClient.Do(r); err == nil {
		var text bytes.Buffer
		if _, err := text.ReadFrom(answer.Body); err == nil {
			t.Errorf("the client read %d bytes and saw no error", text.Len())
		}
		_ = answer.Body.Close()
	}
	server.Close() // which waits for the handler
	var line struct {
		Level, Msg, Error string
		Rows              int64 `json:"rows_out"`
		Bytes             int64 `json:"bytes_out"`
		Cut               bool
	}
	if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &lines)
	}
	if line.Msg != "request" || line.Level != "ERROR" || !line.Cut || line.Rows != 20_001 || line.Bytes < 160_000 || line.Error == "" || !served.Failed() {
		t.Errorf("the line is %s", &lines)
	}
}
