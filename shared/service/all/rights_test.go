package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/boot"
	"tiltyard/shared/catalog/result"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// A usage is the set of what groups of operations, and the worker, ask of the stores and of the queue: lines
// such as "data objects put". The context of a request or of a job has its group.
type usage struct {
	mu    sync.Mutex
	lines map[string]bool
}

type groupKey struct{}

func inGroup(ctx context.Context, group string) context.Context {
	return context.WithValue(ctx, groupKey{}, group)
}

func (u *usage) note(ctx context.Context, verb string) {
	group, _ := ctx.Value(groupKey{}).(string)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lines[group+" "+verb] = true
}

// objectVerb returns the verb of a call. Writes of stored answers have verbs of their own, because a function
// that may write those need not be one that may write tables.
func objectVerb(call faultstore.Call) string {
	verb := "objects " + string(call.Kind)
	switch call.Kind {
	case faultstore.Range, faultstore.Head:
		verb = "objects get"
	case faultstore.PutIfAbsent, faultstore.PutIfMatch:
		verb = "objects put"
	}
	if changes(call) && strings.HasPrefix(call.Key, result.Folder) {
		verb += " result"
	}
	return verb
}

// changes reports whether a call changes the store.
func changes(call faultstore.Call) bool {
	switch call.Kind {
	case faultstore.Get, faultstore.Range, faultstore.Head, faultstore.List:
		return false
	}
	return true
}

// notedRecords notes what is asked of records.
type notedRecords struct {
	record.Store
	used *usage
}

func (r notedRecords) Get(ctx context.Context, key string) (record.Record, error) {
	r.used.note(ctx, "records get")
	return r.Store.Get(ctx, key)
}

func (r notedRecords) Put(ctx context.Context, one record.Record) (string, error) {
	r.used.note(ctx, "records put")
	return r.Store.Put(ctx, one)
}

func (r notedRecords) Delete(ctx context.Context, key, version string) error {
	r.used.note(ctx, "records delete")
	return r.Store.Delete(ctx, key, version)
}

func (r notedRecords) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	r.used.note(ctx, "records list")
	return r.Store.List(ctx, folder, after, limit)
}

// notedQueue notes that messages are sent.
type notedQueue struct {
	*undelayed
	used *usage
}

func (q notedQueue) Send(ctx context.Context, after time.Duration, messages ...jobs.Message) error {
	q.used.note(ctx, "queue send")
	return q.undelayed.Send(ctx, after, messages...)
}

// An account has what outlasts a process: the objects of the bucket and the records.
type account struct{ objects, records *memstore.Store }

func (a account) copied(t *testing.T) account {
	t.Helper()
	twin := func(from *memstore.Store) *memstore.Store {
		to := memstore.New()
		for object, err := range objectstore.Objects(t.Context(), from, objectstore.ListOptions{Limit: 1000}) {
			if err == nil {
				err = to.CopyFrom(t.Context(), from, object, object.Key)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return to
	}
	return account{twin(a.objects), twin(a.records)}
}

// A noted server notes its usage, and that of its worker.
type noted struct {
	*server
	worker *jobs.Worker
	queue  *undelayed
}

// start serves all operations over an account. fault is decided for each call.
func (a account) start(t *testing.T, used *usage, fault func(faultstore.Call) faultstore.Fault) *noted {
	t.Helper()
	objects := faultstore.New(a.objects, func(call faultstore.Call) faultstore.Fault {
		decided := fault(call)
		decided.Wait = func(ctx context.Context) error { used.note(ctx, objectVerb(call)); return nil }
		return decided
	})
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := secretbox.OpenKeyFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	n := &noted{queue: new(undelayed)}
	env := boot.Env{
		Config: boot.Config{ResultBytes: 1 << 30}, Objects: roots, Now: time.Now, Verifier: verifier, Logger: slog.New(slog.DiscardHandler),
		Records: notedRecords{objectrecord.Open(faultstore.New(a.records, fault), time.Now), used},
	}
	services := all.Open(tables.Stores{
		Objects: roots, Records: env.Records, Now: time.Now, Queue: notedQueue{n.queue, used}, Maintain: true, EventSource: "urn:test",
		Auto: tables.AutoRefresh{After: time.Second, Rows: 1},
	}, all.Options{Keys: keys, Logger: env.Logger})
	n.server, n.worker = &server{t: t, serve: env.Handler(services.Routes...)}, services.Worker
	return n
}

// A deed is one request of an operation.
type deed struct {
	operation string
	where     string // the id and, after a ?, the query string
	body      any    // a text of JSON, or bytes
	key       string // by which the server knows a repetition
	result    string // id of a stored answer
}

func (n *noted) send(d deed) (int, []byte) {
	n.t.Helper()
	op, ok := operations.Lookup(d.operation)
	if !ok {
		n.t.Fatalf("no operation is called %s", d.operation)
	}
	id, query, _ := strings.Cut(d.where, "?")
	path := strings.NewReplacer("{id}", id, "{index_name}", "id_idx", "{column}", "blob", "{row_id}", "0", "{result_id}", d.result).Replace(op.Path)
	body, isBytes := d.body.([]byte)
	if !isBytes {
		body = []byte(d.body.(string))
	}
	req := httptest.NewRequestWithContext(inGroup(n.t.Context(), op.Function), op.Methods[0], path+"?"+query, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	if op.Access == protocol.Write {
		req.Header.Set("Idempotency-Key", d.key)
	}
	if op.Name == "QueryTable" {
		req.Header.Set(httpapi.ResultHeader, "link")
	}
	answer := httptest.NewRecorder()
	n.serve.ServeHTTP(answer, req)
	return answer.Code, answer.Body.Bytes()
}

// work does the messages in the queue, and those that they lead to.
func (n *noted) work() {
	for len(n.queue.waiting) > 0 {
		time.Sleep(2 * time.Minute) // until the lease of a dead worker has ended
		next := n.queue.waiting[0]
		n.queue.waiting = n.queue.waiting[1:]
		_ = n.worker.Do(inGroup(n.t.Context(), "worker"), next) // a job that fails has used the stores, too
	}
}

// A history is what is asked of an account, one deed after the other.
type history struct {
	*testing.T
	account
	used   *usage
	live   *noted
	done   map[string]bool // operations
	deeds  int
	result string // id of the latest stored answer
}

func none(faultstore.Call) faultstore.Fault { return faultstore.Fault{} }

func (h *history) restart() { h.live = h.start(h.T, h.used, none) }

// failures are the ways in which a write fails.
var failures = []faultstore.Fault{
	{Lost: true}, {Crash: true, Lost: true}, {Err: errors.New("refused")}, {Err: objectstore.ErrPrecondition},
}

// does sends a request that succeeds, and does the jobs that it begins. Before that, it sends the same request
// to processes in which one write after the other fails. What they do then, and what later requests do about
// it, functions must be allowed to do as well.
func (h *history) does(operation, where string, body any, later ...deed) map[string]any {
	h.Helper()
	h.deeds++
	d := deed{operation, where, body, fmt.Sprint("key ", h.deeds), h.result}
	for _, failure := range failures {
		for n := int32(1); h.fails(d, failure, n, later); n++ {
		}
	}
	status, answer := h.live.send(d)
	if status >= http.StatusMultipleChoices {
		h.Errorf("%s %s: %d %s", operation, where, status, answer)
	}
	h.live.work()
	h.done[operation] = true
	decoded := map[string]any{}
	_ = json.Unmarshal(answer, &decoded) // some answers are no objects
	if operation == "QueryTable" {
		h.result = decoded["id"].(string)
	}
	return decoded
}

// fails sends a request to a process whose n-th write fails, and then the same one, and each of the later
// ones, to another process. It reports whether there was such a write. The account stays as it is.
func (h *history) fails(d deed, failure faultstore.Fault, n int32, later []deed) bool {
	h.Helper()
	left := h.copied(h.T)
	var writes atomic.Int32
	broken := left.start(h.T, h.used, func(call faultstore.Call) faultstore.Fault {
		if changes(call) && writes.Add(1) == n {
			return failure
		}
		return faultstore.Fault{}
	})
	broken.send(d)
	if writes.Load() < n {
		return false
	}
	time.Sleep(time.Minute) // until no lease of the process counts any more
	for _, next := range slices.Concat(later, []deed{d}) {
		healthy := left.copied(h.T).start(h.T, h.used, none)
		healthy.queue.waiting = slices.Clone(broken.queue.waiting)
		healthy.send(next)
		healthy.work()
	}
	return true
}

// The golden file is what the roles of functions are held to, by a test of infra. It is renewed with -update and
// read in review: a group that asks for more than before is to be allowed more.
func TestGroupsUseTheStoresAsListed(t *testing.T) {
	used := &usage{lines: map[string]bool{}}
	synctest.Test(t, func(t *testing.T) {
		h := &history{T: t, account: account{memstore.New(), memstore.New()}, used: used, done: map[string]bool{}}
		h.restart()
		h.tell()
	})
	lines := slices.Sorted(maps.Keys(used.lines))
	if strings.HasPrefix(lines[0], " ") {
		t.Errorf("a context without a group: %q", lines[0])
	}
	golden := strings.Join(lines, "\n") + "\n"
	const file = "testdata/rights.golden"
	if *update {
		if err := os.WriteFile(file, []byte(golden), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), golden); diff != "" {
		t.Errorf("what groups ask of the stores differs from %s (-want +got):\n%s", file, diff)
	}
}
