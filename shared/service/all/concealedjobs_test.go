package all_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// A deployment is a server with a worker whose functions tell the secrets that they are given, as mode says.
type deployment struct {
	t        *testing.T
	services all.Services
	handler  http.Handler
	store    objectstore.Store
	mode     string       // of the functions; "" tells nothing
	told     atomic.Int32 // how often a function has told
	opened   atomic.Int32 // values of secrets

	mu   sync.Mutex
	seen bytes.Buffer // all that leaves the service
}

// counted counts the values that are opened.
type counted struct {
	secretbox.Keys
	opened *atomic.Int32
}

func (c counted) Open(ctx context.Context, id []string, sealed secretbox.Sealed) ([]byte, error) {
	c.opened.Add(1)
	return c.Keys.Open(ctx, id, sealed)
}

func (d *deployment) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.Write(p)
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, store: memstore.New()}
	keys, err := secretbox.OpenKeyFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: d.store})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewStatic("test", "token")
	if err != nil {
		t.Fatal(err)
	}
	executors, err := executor.Open([]executor.Config{{Name: "e", Address: "lambda:x", Concurrency: 1, Timeout: time.Minute, PayloadBytes: 4 << 20}},
		executor.Options{Lambda: func(string) (executor.Carrier, error) { return talkative{d}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(d, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	records := objectrecord.Open(d.store, time.Now)
	d.services = all.Open(tables.Stores{Objects: roots, Now: time.Now, Records: records, Queue: new(memqueue.Queue), Logger: log}, all.Options{
		Logger: log, Keys: counted{keys, &d.opened}, Runtimes: udf.Runtimes{"executor": executors, "telling": telling{d}},
	})
	d.handler = httpapi.Handler(d.services.Routes, httpapi.Options{
		Verifier: verifier, Logger: log, Audit: log, Ledger: idempotency.Open(records, time.Now),
		Observe: func(served *httpapi.Served) { fmt.Fprintf(d, "%+v\n", *served) },
	})
	return d
}

// send sends a request with a body, which is JSON unless it is bytes, and decodes the answer into answer.
func (d *deployment) send(path string, body, answer any) {
	d.t.Helper()
	data, isBytes := body.([]byte)
	if !isBytes {
		var err error
		if data, err = json.Marshal(body); err != nil {
			d.t.Fatal(err)
		}
	}
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(data))
	req.Header.Set("Authorization", "Bearer token")
	req.Header.Set("Idempotency-Key", rand.Text())
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, req)
	fmt.Fprintf(d, "%s %v %s\n", path, w.Header(), w.Body)
	if w.Code >= 300 {
		d.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if answer != nil {
		if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
			d.t.Fatal(err)
		}
	}
}

// work does what messages ask for until there are none for a long time.
func (d *deployment) work() {
	for {
		ctx, done := context.WithTimeout(d.t.Context(), time.Hour)
		delivery, err := d.services.Worker.Queue.Receive(ctx, time.Minute)
		if err == nil {
			err = d.services.Worker.Do(ctx, delivery.Message)
			_ = d.services.Worker.Queue.Done(ctx, delivery)
		}
		done()
		if err != nil {
			return
		}
	}
}

// run begins a job and returns its state in the end, of which it asks for all there is.
func (d *deployment) run(path string, body any) (state string) {
	d.t.Helper()
	var begun struct {
		ID string `json:"job_id"`
	}
	d.send(path, body, &begun)
	d.work()
	var described struct {
		State string `json:"job_state"`
	}
	d.send("/v1/jobs/describe", map[string]any{"job_id": begun.ID}, &described)
	d.send("/v1/transaction/"+begun.ID+"/describe", map[string]any{}, nil)
	d.send("/v1/jobs/query_events", map[string]any{"job_id": begun.ID}, nil)
	d.send("/v1/jobs/list", map[string]any{}, nil)
	return described.State
}

var numberField = map[string]any{"name": "n", "arrow_type": "int64", "nullable": true}

// keyed is a request to create a function of a number that is given the secret key.
func keyed(kind string) map[string]any {
	code := []byte("code")
	return map[string]any{
		"artifact": map[string]any{
			"kind": "python_callable", "digest": functionapi.DigestOf(code), "entrypoint": "f",
			"content": map[string]any{"encoding": "base64", "data": base64.StdEncoding.EncodeToString(code)}, "adapter": map[string]any{"kind": "scalar_to_arrow_batch", "version": 1},
		},
		"signature":       map[string]any{"inputs": []any{numberField}, "output": map[string]any{"kind": "scalar", "arrow_type": "int64", "nullable": false}},
		"runtime":         map[string]any{"kind": kind, "executor": "e"},
		"secret_bindings": []any{map[string]any{"kind": "env", "variable": "KEY", "secret_ref": map[string]any{"name": "key"}}},
	}
}

// column is a request to add a column that a function computes from n.
func column(name string, f functionapi.Version) map[string]any {
	schemaOf := func(name string) any {
		return map[string]any{"fields": []any{map[string]any{"name": name, "nullable": true, "type": map[string]any{"type": "int64"}}}}
	}
	return map[string]any{
		"new_columns": []any{map[string]any{"name": name, "all_null": true}},
		"function": map[string]any{
			"application": map[string]any{
				"function": map[string]any{"name": f.Name, "object_id": f.ObjectID, "location": f.Location, "version": f.Version, "manifest_digest": f.Image.ManifestDigest},
				"inputs":   []any{map[string]any{"parameter": "n", "kind": "column", "value": map[string]any{"path": "n"}}},
				"output":   map[string]any{"kind": "scalar", "arrow_type": "int64", "nullable": false},
			},
			"binding_metadata_version": 1,
			"input_bindings":           []any{map[string]any{"parameter": "n", "field_path": "n", "arrow_type": "int64", "nullable": true}},
			"input_schema":             schemaOf("n"), "output_schema": schemaOf(name),
			"outputs": []any{map[string]any{"result_field": "$value", "output_name": name, "output_ordinal": 0}},
		},
	}
}

// tell returns a text with the secret of a function.
func (d *deployment) tell(environment map[string]string) string {
	d.told.Add(1)
	return "sent " + environment["KEY"] + ", which is " + fmt.Sprintf("%q", environment["KEY"])
}

// telling is a runtime whose functions return n, or tell the secret.
type telling struct{ d *deployment }

func (r telling) Open(_ context.Context, s udf.Spec) (udf.Caller, error) {
	if s.Environment["KEY"] == "" {
		return nil, errors.New("there is no key")
	}
	if r.d.mode == "open" {
		return nil, errors.New(r.d.tell(s.Environment))
	}
	return teller{r.d, s}, nil
}

type teller struct {
	d *deployment
	s udf.Spec
}

func (c teller) Close() error {
	if c.d.mode == "close" {
		return errors.New(c.d.tell(c.s.Environment))
	}
	return nil
}

func (c teller) Call(_ context.Context, in arrow.RecordBatch) (udf.Result, error) {
	result := udf.Result{Outputs: array.NewRecordBatch(arrow.NewSchema(c.s.Outputs, nil), in.Columns(), in.NumRows())}
	switch c.d.mode {
	case "call":
		return result, errors.New(c.d.tell(c.s.Environment))
	case "cause":
		return result, &protocol.Error{Code: protocol.InvalidInput, Message: "it failed", Err: errors.New(c.d.tell(c.s.Environment))}
	case "detail":
		return result, &protocol.Error{Code: protocol.InvalidInput, Message: "it failed", Detail: c.d.tell(c.s.Environment)}
	case "rows":
		for row := range int(in.NumRows()) {
			text := c.d.tell(c.s.Environment)
			result.Failed = append(result.Failed, udf.Failure{Row: row, Type: text, Message: text})
		}
	}
	return result, nil
}

// talkative is the carrier to an executor that does the same.
type talkative struct{ d *deployment }

func (c talkative) Connect() executor.Line { return c }

func (c talkative) Close() error { return nil }

func (c talkative) Do(ctx context.Context, call *executor.Call, stream []byte, limit int64) (*executor.Bytes, error) {
	fault := executor.Fault{Type: "Error", Message: "it failed"}
	switch c.d.mode {
	case "fault", "open":
		fault.Type, fault.Message = c.d.tell(call.Environment), c.d.tell(call.Environment)
		return nil, &fault
	case "lost", "close":
		fault.Lost, fault.Message = true, c.d.tell(call.Environment)
		return nil, &fault
	case "cause", "detail":
		fault.Lost, fault.Err = true, errors.New(c.d.tell(call.Environment))
		return nil, &fault
	case "retryable":
		fault.Retryable, fault.Message = true, c.d.tell(call.Environment)
		return nil, &fault
	case "call":
		return nil, errors.New(c.d.tell(call.Environment))
	case "schema": // a reply with a column of another name
		return reply(ctx, stream, limit, c.d.tell(call.Environment), "")
	}
	outputs, err := ipc.NewReader(bytes.NewReader(call.Outputs))
	if err != nil {
		return nil, err
	}
	defer outputs.Release()
	failure := ""
	if c.d.mode == "rows" {
		failure = c.d.tell(call.Environment)
	}
	return reply(ctx, stream, limit, outputs.Schema().Field(0).Name, failure)
}

// reply returns the numbers of a call in a column with a name, or why each row has failed.
func reply(ctx context.Context, stream []byte, limit int64, name, failure string) (*executor.Bytes, error) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	r.Next()
	in := r.RecordBatch()
	fields, columns := []arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, in.Columns()
	if failure != "" {
		fields = append(fields, arrow.Field{Name: "__error", Type: arrow.BinaryTypes.String, Nullable: true})
		numbers, texts := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
		for range in.NumRows() {
			numbers.AppendNull()
			texts.Append(failure)
		}
		columns = []arrow.Array{numbers.NewArray(), texts.NewArray()}
	}
	var out bytes.Buffer
	schema := arrow.NewSchema(fields, nil)
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(array.NewRecordBatch(schema, columns, in.NumRows())), w.Close()); err != nil {
		return nil, err
	}
	return executor.KeepReply(ctx, out.Bytes(), limit)
}

// manyNumbers encodes rows with a number n.
func manyNumbers(t *testing.T, rows int) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for n := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(n))
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// setUp makes a table t and a function of each runtime, each of which computes a column of its name.
func (d *deployment) setUp(value string, rows int) {
	d.t.Helper()
	d.send("/v1/secret/key/create", map[string]any{"value": value}, nil)
	d.send("/v1/table/t/create", manyNumbers(d.t, rows), nil)
	for _, kind := range []string{"telling", "executor"} {
		if state := d.run("/v1/function/"+kind+"/create", keyed(kind)); state != "DONE" {
			d.t.Fatalf("a function of %s: the job is %s", kind, state)
		}
		var made functionapi.Version
		d.send("/v1/function/"+kind+"/describe", map[string]any{"version": "1"}, &made)
		if made.Disabled {
			d.t.Fatalf("got %+v", made)
		}
		d.send("/v1/table/t/add_columns", column(kind, made), nil)
	}
}

// Functions and executors that tell the secret that they are given tell it to no one: its value appears in no
// job, event, failure of a row, stored object, log line or answer.
func TestValuesOfSecretsAppearInNoJob(t *testing.T) {
	for _, mode := range []string{"", "open", "close", "call", "cause", "detail", "rows", "fault", "lost", "retryable", "schema"} {
		t.Run("mode "+mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				canary := rand.Text()
				d := deploy(t)
				d.setUp(canary+strings.Repeat(".", 100)+"\"\n<"+canary+">\n", 50) // texts are cut within the first line
				d.mode = mode
				for _, kind := range []string{"telling", "executor"} {
					state := d.run("/v1/function/"+kind+"/create", keyed(kind))
					filled := d.run("/v1/table/t/backfill_column", map[string]any{"column": kind})
					d.send("/v1/table/t/errors", map[string]any{}, nil)
					t.Logf("%s: a function is %s, a backfill is %s", kind, state, filled)
				}
				if mode != "" && d.told.Load() == 0 {
					t.Fatal("no function has told")
				}
				d.look(canary)
			})
		})
	}
}

// look looks for a value in all that was seen or is stored.
func (d *deployment) look(canary string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	jobs := false
	for object, err := range objectstore.Objects(d.t.Context(), d.store, objectstore.ListOptions{}) {
		if err != nil {
			d.t.Fatal(err)
		}
		data, _, err := d.store.Get(d.t.Context(), object.Key)
		if err != nil {
			d.t.Fatal(err)
		}
		jobs = jobs || strings.Contains(object.Key, "job")
		fmt.Fprintf(&d.seen, "\nobject %s: %s", object.Key, data)
	}
	if !jobs || !strings.Contains(d.seen.String(), "refresh_column") {
		d.t.Error("no job was seen")
	}
	for _, text := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))[:32]} {
		if at := strings.Index(d.seen.String(), text); at >= 0 {
			d.t.Errorf("a value is told: %.400q", strings.ReplaceAll(d.seen.String()[max(0, at-200):], canary, "CANARY"))
		}
	}
}

// A process opens a secret once for a job, however many parts and batches this has, and a value that was
// altered again.
func TestSecretsAreOpenedOnceForAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t)
		d.setUp("value", 30_000)
		for altered, kind := range []string{"telling", "executor"} {
			d.send("/v1/secret/key/alter", map[string]any{"value": fmt.Sprint("value", altered)}, nil)
			d.opened.Store(0)
			if state := d.run("/v1/table/t/backfill_column", map[string]any{"column": kind}); state != "DONE" {
				t.Errorf("%s: the job is %s", kind, state)
			}
			if got := d.opened.Load(); got != 1 {
				t.Errorf("%s: the secret was opened %d times, want once", kind, got)
			}
		}
	})
}
