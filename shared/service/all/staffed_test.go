package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

const minutes = time.Minute

// A staffedServer is a server with policies that change, and workers that work when a test says so. It runs in a
// bubble of package synctest. The tables src$a and src$b are there.
type staffedServer struct {
	t        *testing.T
	all      all.Services
	handler  http.Handler
	policies string
	full     atomic.Bool // the store takes no writes but those that free space
}

func openStaffedServer(t *testing.T) *staffedServer {
	t.Helper()
	w := &staffedServer{t: t, policies: `permit (principal in Group::"admin", action, resource);`}
	store := faultstore.New(memstore.New(), func(call faultstore.Call) faultstore.Fault {
		switch call.Kind {
		case faultstore.Put, faultstore.PutIfAbsent, faultstore.PutIfMatch, faultstore.Upload:
			return faultstore.Fault{Wait: func(ctx context.Context) error {
				if w.full.Load() && !objectstore.IsFreeing(ctx) {
					return errFull
				}
				return nil
			}}
		}
		return faultstore.Fault{}
	})
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := secretbox.OpenKeyFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	rights := auth.Rights{Verifier: groups{}, Policies: auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(w.policies), nil }, time.Now)}
	w.all = all.Open(tables.Stores{
		Objects: roots, Now: time.Now, Records: objectrecord.Open(store, time.Now), Queue: new(memqueue.Queue), StableRowIDs: true,
		Auto: tables.AutoRefresh{After: 10 * time.Minute, Rows: 3, Cooldown: 5 * time.Minute}, Rights: rights, DropRetention: 24 * time.Hour,
	}, all.Options{Logger: slog.New(slog.DiscardHandler), Keys: keys})
	w.handler = httpapi.Handler(w.all.Routes, httpapi.Options{Verifier: groups{}, Policies: rights.Policies})
	w.must("/v1/namespace/src/create", nil)
	w.create("src$a", nil, 1, 2)
	w.create("src$b", nil, 3)
	return w
}

// send sends a request as a member of a group.
func (w *staffedServer) send(group, path string, body []byte) (status int, answer map[string]any) {
	w.t.Helper()
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+group)
	if len(body) > 0 && body[0] != '{' && string(body) != "null" {
		req.Header.Set("Content-Type", "application/vnd.apache.arrow.stream")
	}
	return w.serve(req)
}

func (w *staffedServer) get(path string) (status int, answer map[string]any) {
	w.t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Authorization", "Bearer admin")
	return w.serve(req)
}

func (w *staffedServer) serve(req *http.Request) (status int, answer map[string]any) {
	w.t.Helper()
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, req)
	if text := recorder.Body.Bytes(); len(text) > 0 && text[0] == '{' {
		if err := json.Unmarshal(text, &answer); err != nil {
			w.t.Fatalf("%s: %s", req.URL, text)
		}
	} else {
		answer = map[string]any{"body": string(text)}
	}
	return recorder.Code, answer
}

// must sends a request of the administrator that succeeds.
func (w *staffedServer) must(path string, body any) map[string]any {
	w.t.Helper()
	status, answer := w.sent(path, body)
	if status >= http.StatusMultipleChoices {
		w.t.Fatalf("%s: %d %v", path, status, answer)
	}
	return answer
}

func encodedIDs(t *testing.T, metadata map[string]string, ids ...int64) []byte {
	t.Helper()
	return encodedNumbers(t, "id", metadata, ids...)
}

// encodedNumbers encodes rows whose only column has the given values. With metadata they are those of a view.
func encodedNumbers(t *testing.T, column string, metadata map[string]string, ids ...int64) []byte {
	t.Helper()
	fields := []arrow.Field{{Name: column, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	var kept arrow.Metadata
	if metadata != nil {
		fields = append(fields, arrow.Field{Name: "__source_row_id", Type: arrow.PrimitiveTypes.Uint64})
		kept = arrow.MetadataFrom(metadata)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, &kept))
	b.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	for range ids {
		if metadata != nil {
			b.Field(1).(*array.Uint64Builder).Append(0)
		}
	}
	var out bytes.Buffer
	writer := ipc.NewWriter(&out, ipc.WithSchema(b.Schema()))
	if err := errors.Join(writer.Write(b.NewRecordBatch()), writer.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (w *staffedServer) create(table string, metadata map[string]string, ids ...int64) {
	w.t.Helper()
	if status, answer := w.send("admin", "/v1/table/"+table+"/create", encodedIDs(w.t, metadata, ids...)); status != http.StatusOK {
		w.t.Fatalf("create %s: %d %v", table, status, answer)
	}
}

func (w *staffedServer) insert(table string, ids ...int64) {
	w.t.Helper()
	if status, answer := w.send("admin", "/v1/table/"+table+"/insert", encodedIDs(w.t, nil, ids...)); status != http.StatusOK {
		w.t.Fatalf("insert into %s: %d %v", table, status, answer)
	}
}

// count returns how many rows a filter finds.
func (w *staffedServer) count(table, filter string) int {
	w.t.Helper()
	answer := w.must("/v1/table/"+table+"/count_rows", map[string]any{"predicate": filter})
	var n int
	if _, err := fmt.Sscan(strings.TrimSpace(fmt.Sprint(answer["body"])), &n); err != nil {
		w.t.Fatalf("count the rows of %s: %v", table, answer)
	}
	return n
}

// work runs jobs and looks for a time, and at least those that are due.
func (w *staffedServer) work(d time.Duration) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), d+time.Minute)
	defer stop()
	w.all.Worker.Serve(ctx, 2)
}
