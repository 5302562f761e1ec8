package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/protocol"
)

func intBatch(values ...int64) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return array.NewRecordBatch(intSchema, []arrow.Array{b.NewArray()}, int64(len(values)))
}

var intSchema = arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)

// rowsOf yields batches and then the error, if there is one.
func rowsOf(err error, batches ...arrow.RecordBatch) func() *protocol.Rows {
	return func() *protocol.Rows {
		return &protocol.Rows{Schema: intSchema, Version: 9, Batches: func(yield func(arrow.RecordBatch, error) bool) {
			for _, b := range batches {
				if !yield(b, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		}}
	}
}

func TestArrowAnswers(t *testing.T) {
	for _, batches := range [][]arrow.RecordBatch{nil, {intBatch(1, 2)}, {intBatch(1, 2), intBatch(3)}} {
		s := &service{rows: rowsOf(nil, batches...)}
		w := request{path: "/v1/table/t/query", body: `{"k":1}`}.do(t, newTestHandler(s))
		if got := w.Header().Get("Content-Type"); w.Code != 200 || got != "application/vnd.apache.arrow.file" {
			t.Fatalf("status %d, content type %q: %s", w.Code, got, w.Body)
		}
		if got := w.Header().Get("X-Lancedb-Version"); got != "9" {
			t.Errorf("x-lancedb-version is %q, want 9", got)
		}
		file, err := ipc.NewFileReader(bytes.NewReader(w.Body.Bytes()))
		if err != nil {
			t.Fatalf("read the file of %d batches: %v", len(batches), err)
		}
		if file.NumRecords() != len(batches) {
			t.Errorf("%d batches, want %d", file.NumRecords(), len(batches))
		}
	}
}

func TestRowsAsJSON(t *testing.T) {
	const lines, document, file = "application/x-ndjson", "application/json", "application/vnd.apache.arrow.file"
	for _, test := range []struct {
		accept, agent, contentType, body string
		batches                          []arrow.RecordBatch
	}{
		{accept: lines, contentType: lines, batches: []arrow.RecordBatch{intBatch(1, 1<<53+1), intBatch(3)}, body: "{\"x\":1}\n{\"x\":9007199254740993}\n{\"x\":3}\n"},
		{accept: lines, contentType: lines},
		{accept: document, contentType: document, batches: []arrow.RecordBatch{intBatch(1, 2), intBatch(3)}, body: "[\n{\"x\":1},\n{\"x\":2},\n{\"x\":3}\n]\n"},
		{accept: document + ";q=0.9", agent: "curl/8", contentType: document, body: "[]\n"},
		{accept: "text/html, " + lines + ", " + file, contentType: lines},
		{accept: document, agent: "OpenAPI-Generator/0.13.0/python", contentType: file},
		{accept: lines, agent: "OpenAPI-Generator/0.13.0/python", contentType: lines},
		{accept: file + ", " + document, contentType: file},
	} {
		s := &service{rows: rowsOf(nil, test.batches...)}
		header := map[string]string{"Accept": test.accept, "User-Agent": test.agent}
		w := request{path: "/v1/table/t/query", body: `{"k":1}`, header: header}.do(t, newTestHandler(s))
		if got := w.Header().Get("Content-Type"); w.Code != 200 || got != test.contentType || got != file && w.Body.String() != test.body {
			t.Errorf("%s from %q: got %d, %s, %q, want %q", test.accept, test.agent, w.Code, got, w.Body, test.body)
		}
		if w.Header().Get("X-Lancedb-Version") != "9" {
			t.Errorf("%s: the answer has no version", test.accept)
		}
	}
}

// An error after the first rows were sent ends the connection, so that the document has no end.
func TestRowsAsJSONBreakOff(t *testing.T) {
	for _, accept := range []string{"application/x-ndjson", "application/json"} {
		s := &service{rows: rowsOf(errors.New("lost"), intBatch(make([]int64, 100_000)...))}
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Errorf("%s: the answer did not break off", accept)
				}
			}()
			request{path: "/v1/table/t/query", body: `{"k":1}`, header: map[string]string{"Accept": accept}}.do(t, newTestHandler(s))
		}()
	}
}

func TestArrowAnswersInTheFormThatIsAskedFor(t *testing.T) {
	const file, stream = "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"
	values := make([]int64, 10_000)
	plain := len(values) * 8
	for accept, want := range map[string]struct {
		contentType string
		compressed  bool
	}{
		"":                                    {file, false},
		"*/*":                                 {file, false},
		stream:                                {stream, false},
		"text/html, " + stream + ", " + file:  {stream, false},
		stream + "; compression=zstd":         {stream, true},
		stream + ";compression=LZ4;q=0.9":     {stream, true},
		file + "; compression=\"lz4\"":        {file, true},
		file + "; compression=brotli":         {file, false},
		"; ;, " + file + "; compression=zstd": {file, true},
	} {
		t.Run(accept, func(t *testing.T) {
			s := &service{rows: rowsOf(nil, intBatch(values...))}
			w := request{path: "/v1/table/t/query", body: `{"k":1}`, header: map[string]string{"Accept": accept}}.do(t, newTestHandler(s))
			if got := w.Header().Get("Content-Type"); w.Code != 200 || got != want.contentType {
				t.Fatalf("status %d, content type %q, want %q: %s", w.Code, got, want.contentType, w.Body)
			}
			if compressed := w.Body.Len() < plain; compressed != want.compressed {
				t.Errorf("%d bytes of %d: compressed %v, want %v", w.Body.Len(), plain, compressed, want.compressed)
			}
			rows := 0
			if want.contentType == stream {
				r, err := ipc.NewReader(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				for r.Next() {
					rows += int(r.RecordBatch().NumRows())
				}
			} else {
				r, err := ipc.NewFileReader(bytes.NewReader(w.Body.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				batch, err := r.RecordBatchAt(0)
				if err != nil {
					t.Fatal(err)
				}
				rows = int(batch.NumRows())
			}
			if rows != len(values) {
				t.Errorf("got %d rows, want %d", rows, len(values))
			}
		})
	}
}

func TestArrowErrorBeforeTheFirstBatch(t *testing.T) {
	s := &service{rows: rowsOf(protocol.Errorf(protocol.TableColumnNotFound, "no column y"))}
	if p := decodeProblem(t, request{path: "/v1/table/t/query"}.do(t, newTestHandler(s))); p.Status != 404 {
		t.Errorf("got %+v, want 404", p)
	}
}

// Rows that have not left yet are no reason to break off.
func TestArrowErrorBeforeTheFirstBytesLeave(t *testing.T) {
	s := &service{rows: rowsOf(protocol.Errorf(protocol.InvalidInput, "division by zero"), intBatch(1, 2))}
	w := request{path: "/v1/table/t/query"}.do(t, newTestHandler(s))
	if p := decodeProblem(t, w); p.Status != 400 || !strings.Contains(p.Error, "division by zero") {
		t.Errorf("got %+v, want 400", p)
	}
	if version := w.Header().Get(versionHeader); version != "" {
		t.Errorf("the error tells version %s", version)
	}
}

func TestArrowErrorAfterTheFirstBytesLeftBreaksTheConnection(t *testing.T) {
	s := &service{rows: rowsOf(errors.New("disk on fire"), intBatch(make([]int64, 100_000)...))}
	server := httptest.NewServer(newTestHandler(s))
	defer server.Close()
	r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/table/t/query", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", testToken)
	resp, err := server.Client().Do(r)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		_, err = io.ReadAll(resp.Body)
	}
	if err == nil {
		t.Error("the client sees a whole response, want a broken connection")
	}
}

func TestClientThatHasGoneIsNotAnswered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &service{do: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }}
	r := httptest.NewRequest(http.MethodPost, "/v1/table/t/exists", nil).WithContext(ctx)
	r.Header.Set("X-Api-Key", testToken)
	w := httptest.NewRecorder()
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("handler ends with %v, want ErrAbortHandler", cause)
		}
		if w.Body.Len() > 0 {
			t.Errorf("body %q, want none", w.Body)
		}
	}()
	newTestHandler(s).ServeHTTP(w, r)
}
