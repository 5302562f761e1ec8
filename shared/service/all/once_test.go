package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// serveNoting is serve with requests noted in the store, too.
func serveNoting(t *testing.T, store objectstore.Store) *server {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	return &server{t: t, serve: httpapi.Handler(
		all.Routes(tables.Stores{Objects: roots, Now: time.Now}, arrowipc.Limits{}),
		httpapi.Options{Verifier: token, Ledger: idempotency.Open(objectrecord.Open(store, time.Now), time.Now)},
	)}
}

// A write is a request that may be sent twice.
type write struct {
	name, path string
	body       []byte
}

// writes returns one of each kind, none of which changes nothing the second time.
func writes(t *testing.T) []write {
	more := stream(t, 3, 4)
	return []write{
		{"insert", "/v1/table/t/insert", more},
		{"overwrite", "/v1/table/t/insert?mode=overwrite", more},
		{"insert that creates", "/v1/table/declared/insert", more},
		{"merge", "/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true&when_not_matched_by_source_delete=true", more},
		{"merge that inserts", "/v1/table/t/merge_insert?on=s&when_not_matched_insert_all=true", more},
		{"update", "/v1/table/t/update", []byte(`{"predicate":"id > 1","updates":[["x","x + 1"]]}`)},
		{"delete", "/v1/table/t/delete", []byte(`{"predicate":"id > 3"}`)},
		{"add columns", "/v1/table/t/add_columns", []byte(`{"new_columns":[{"name":"y","expression":"x * 2"}]}`)},
		{"drop columns", "/v1/table/t/drop_columns", []byte(`{"columns":["s"]}`)},
		{"restore", "/v1/table/t/restore", []byte(`{"version":1}`)},
	}
}

// send sends a write, with a key unless that is "", and returns status and answer.
func (s *server) send(ctx context.Context, w write, key string) (int, []byte) {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, w.path, bytes.NewReader(w.body))
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	answer := httptest.NewRecorder()
	defer func() { _ = recover() }() // the connection is cut when the client has gone
	s.serve.ServeHTTP(answer, req)
	return answer.Code, answer.Body.Bytes()
}

// twoTables makes a table of two versions and one that is only declared.
func twoTables(t *testing.T) objectstore.Store {
	store := memstore.New()
	s := serveNoting(t, store)
	s.ok("/v1/table/t/create", stream(t, 0, 5))
	s.ok("/v1/table/t/update", `{"predicate":"id = 0","updates":[["x","-1"]]}`)
	s.ok("/v1/table/declared/declare", `{}`)
	return store
}

// outcome is the state of the table after a write, and the answer without its ids.
func outcome(t *testing.T, store objectstore.Store, w write, answer []byte) map[string]any {
	t.Helper()
	told := map[string]any{}
	if err := json.Unmarshal(answer, &told); err != nil {
		t.Fatalf("answer %s: %v", answer, err)
	}
	delete(told, "transaction_id")
	name := strings.Split(w.path, "/")[3]
	s := serveNoting(t, store)
	told["rows"] = s.query(name, `{"k":100}`)
	told["versions"] = len(s.ok("/v1/table/"+name+"/version/list", "{}")["versions"].([]any))
	return told
}

func isPut(call faultstore.Call) bool {
	return call.Kind == faultstore.Put || call.Kind == faultstore.PutIfAbsent || call.Kind == faultstore.PutIfMatch
}

// Each write is broken off at each of its storage calls: the process dies before or after the call,
// or the answer to the call is lost. The client then sends the write again under its key, to
// another process, at a time when the first process can no longer be at work. It gets the answer
// that the first request would have had, and the write has happened once.
func TestKeyedWritesSurviveACrashAnywhere(t *testing.T) {
	faults := map[string]faultstore.Fault{
		"crash before": {Crash: true}, "crash after": {Crash: true, Lost: true}, "lost answer": {Lost: true},
		"unknown": {Err: objectstore.ErrUnknownOutcome},
	}
	for _, w := range writes(t) {
		synctest.Test(t, func(t *testing.T) {
			plain := twoTables(t)
			status, answer := serveNoting(t, plain).send(t.Context(), w, "")
			if status != http.StatusOK {
				t.Fatalf("%s: status %d: %s", w.name, status, answer)
			}
			want := outcome(t, plain, w, answer)
			for kind, fault := range faults {
				var reached atomic.Bool
				reached.Store(true)
				for n := 1; reached.Swap(false); n++ {
					store := twoTables(t)
					broken := faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
						if call.N != n {
							return faultstore.Fault{}
						}
						reached.Store(true)
						if fault.Err != nil && !isPut(call) {
							return faultstore.Fault{}
						}
						return fault
					})
					serveNoting(t, broken).send(t.Context(), w, "k")
					time.Sleep(10 * time.Minute) // longer than any lease
					status, answer := serveNoting(t, store).send(t.Context(), w, "k")
					if status != http.StatusOK {
						t.Errorf("%s, %s of call %d: sent again: status %d: %s", w.name, kind, n, status, answer)
						continue
					}
					if diff := cmp.Diff(want, outcome(t, store, w, answer)); diff != "" {
						t.Errorf("%s, %s of call %d (-want +got):\n%s", w.name, kind, n, diff)
					}
				}
			}
		})
	}
}

// When the storage does not answer an upload without a key, the next upload of the same bytes
// settles it: in one case the rows were stored, in the other they were not.
func TestUnsettledUploadsAreSettledByTheNext(t *testing.T) {
	for _, w := range writes(t)[:2] {
		for _, made := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				plain := twoTables(t)
				_, answer := serveNoting(t, plain).send(t.Context(), w, "")
				want := outcome(t, plain, w, answer)

				store := twoTables(t)
				down := false
				faulty := faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
					put := isPut(call) && strings.Contains(call.Key, "/_versions/")
					switch {
					case down && !isPut(call):
						return faultstore.Fault{Err: errors.New("the storage is down")}
					case down:
						return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
					case put && made:
						down = true
						return faultstore.Fault{Lost: true}
					case put:
						down = true
						return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
					}
					return faultstore.Fault{}
				})
				s := serveNoting(t, faulty)
				if status, answer := s.send(t.Context(), w, ""); status != http.StatusServiceUnavailable {
					t.Fatalf("%s: status %d: %s, want 503", w.name, status, answer)
				}
				if status, answer := s.send(t.Context(), w, ""); status == http.StatusOK {
					t.Fatalf("%s while the storage is down: got %s, want a failure", w.name, answer)
				}
				faulty.Inject(nil)
				status, answer := s.send(t.Context(), w, "")
				if status != http.StatusOK {
					t.Fatalf("%s sent again: status %d: %s", w.name, status, answer)
				}
				if diff := cmp.Diff(want, outcome(t, store, w, answer)); diff != "" {
					t.Errorf("%s, made %v (-want +got):\n%s", w.name, made, diff)
				}
			})
		}
	}
}

// A client that disconnects while its rows are being committed, and sends them again, adds them
// once. A client that got its answer, and sends the same rows again, adds them twice.
func TestUploadsWithoutAnAnswerAreKnownAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := writes(t)[0]
		store := twoTables(t)
		client, leave := context.WithCancel(t.Context())
		s := serveNoting(t, faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
			if isPut(call) && strings.Contains(call.Key, "/_versions/") {
				leave()
			}
			return faultstore.Fault{}
		}))
		s.send(client, w, "")
		if n := len(s.query("t", `{"k":100}`)); n != 9 {
			t.Fatalf("the table has %d rows, want 9: the put was on its way", n)
		}
		for _, want := range []int{9, 13, 17} {
			if status, answer := s.send(t.Context(), w, ""); status != http.StatusOK {
				t.Fatalf("status %d: %s", status, answer)
			}
			if n := len(s.query("t", `{"k":100}`)); n != want {
				t.Errorf("the table has %d rows, want %d", n, want)
			}
		}
	})
}
