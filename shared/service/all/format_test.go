package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// older is a server over a store, and the worker of its jobs, which does not run by itself.
func older(t *testing.T, store objectstore.Store) (*server, *jobs.Worker, *memqueue.Queue) {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
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
	records, queue := objectrecord.Open(store, time.Now), new(memqueue.Queue)
	services := all.Open(
		tables.Stores{Objects: roots, Records: records, Now: time.Now, Queue: queue, DropRetention: time.Hour, EventSource: "urn:test"},
		all.Options{Keys: keys, Logger: slog.New(slog.DiscardHandler)},
	)
	handler := httpapi.Handler(services.Routes, httpapi.Options{Verifier: verifier, Ledger: idempotency.Open(records, time.Now)})
	return &server{t: t, serve: handler}, services.Worker, queue
}

// A kindOfRecord is one kind of what the service stores as its own, and the requests that read it.
type kindOfRecord struct {
	name     string
	key      string // pattern of the keys of its objects
	requests [][2]any
}

// named returns requests for each path.
func named(body string, paths ...string) (requests [][2]any) {
	for _, path := range paths {
		requests = append(requests, [2]any{path, body})
	}
	return requests
}

func kindsOfRecords(t *testing.T, ids map[string]string) []kindOfRecord {
	var table [][2]any
	for _, request := range afterDamage(t) {
		table = append(table, [2]any{"/v1/table/ns$t/" + request[0].(string), request[1]})
	}
	table = append(table, named(`{}`,
		"/v1/table/ns$t/exists", "/v1/table/ns$t/drop", "/v1/table/ns$t/deregister", "/v1/table/ns$t/declare", "/v1/table/ns$t/multipart_write/create",
		"/v1/table/ns$t/insert?upload_id="+ids["upload"]+"&upload_part_id=6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
	)...)
	table = append(table, [][2]any{
		{"/v1/table/ns$t/create", stream(t, 0, 3)},
		{"/v1/table/ns$t/create?mode=overwrite", stream(t, 0, 3)},
		{"/v1/table/ns$t/create?mode=exist_ok", stream(t, 0, 3)},
		{"/v1/table/ns$t/create_index", `{"column":"id","index_type":"BTREE"}`},
		{"/v1/table/ns$t/alter_columns", `{"alterations":[{"path":"id","rename":"key"}]}`},
		{"/v1/table/batch-commit", `{"operations":[{"deregister_table":{"id":["ns","t"]}}]}`},
	}...)
	job := `{"job_id":"` + ids["job"] + `"}`
	commit := "/v1/transaction/" + ids["commit"]
	return []kindOfRecord{
		{"table", `^_catalog/\$ns/t/t$`, table},
		{"materialized view", `^_catalog/\$ns/t/m$`, named(`{}`,
			"/v1/materialized_view/ns$m/describe", "/v1/materialized_view/ns$m/refresh", "/v1/materialized_view/ns$m/drop",
			"/v1/table/ns$m/query", "/v1/namespace/ns/table/list?", "/v1/namespace/ns/materialized_view/list?")},
		{"namespace", `^_catalog/\$/n/ns$`, append(named(`{}`,
			"/v1/namespace/ns/describe", "/v1/namespace/ns/exists", "/v1/namespace/ns/drop",
			"/v1/namespace/ns$inner/create", "/v1/table/ns$new/declare",
		), [2]any{"/v1/table/ns$new/create", stream(t, 0, 3)})},
		{"secret", `^_catalog/\$/s/key$`, [][2]any{
			{"/v1/secret/key/describe", `{}`}, {"/v1/secret/key/drop", `{}`}, {"/v1/secret/key/alter", `{"value":"another"}`},
		}},
		{"function", `^_catalog/\$/f/f$`, named(`{"version":"1"}`, "/v1/function/f/describe", "/v1/function/f/drop")},
		{"dropped table", `^_catalog/\$-24dropped/t/`, named(`{}`, "/v1/table/ns$gone/undrop", "/v1/table/ns$gone/purge", "/v1/namespace/ns/dropped/list?")},
		{"dropped namespace", `^_catalog/\$-24dropped/n/`, named(`{}`, "/v1/namespace/left/undrop", "/v1/namespace/$/dropped/list?")},
		{"claim", `^_places/.*=`, [][2]any{{"/v1/table/ns$r/drop", `{}`}, {"/v1/table/again/declare", `{"location":"placed.lance"}`}}},
		{"decision", `^_batches/`, named(`{}`, "/v1/table/batched/describe", "/v1/table/batched/drop")},
		{"job", `^_records/job/` + ids["job"], [][2]any{
			{"/v1/jobs/describe", job}, {"/v1/jobs/cancel", job}, {"/v1/jobs/pause", job}, {"/v1/jobs/resume", job}, {"/v1/jobs/query_events", job},
			{"/v1/jobs/list", `{}`}, {"/v1/transaction/" + ids["job"] + "/describe", `{}`},
			{"/v1/transaction/" + ids["job"] + "/alter", `{"actions":[{"setStatusAction":{"status":"CANCELED"}}]}`},
		}},
		{"commit", `^_records/commit/`, [][2]any{
			{commit + "/describe", `{}`}, {commit + "/alter", `{"actions":[{"setPropertyAction":{"key":"a","value":"b"}}]}`},
		}},
		{"upload", `^_records/upload/`, append(named(`{}`,
			"/v1/table/ns$t/multipart_write/complete?upload_id="+ids["upload"], "/v1/table/ns$t/multipart_write/abort?upload_id="+ids["upload"],
		), [2]any{"/v1/table/ns$t/insert?upload_id=" + ids["upload"] + "&upload_part_id=6f9619ff-8b86-4d01-b42d-00cf4fc964ff", stream(t, 0, 3)})},
		{"repeated request", `^_records/once/`, [][2]any{{"keyed", nil}}},
		{"event", `^_events/log/`, [][2]any{{"/v1/event/list", `{}`}}},
		{"start of the events", `^_events/start$`, [][2]any{{"/v1/event/list", `{}`}, {"/v1/table/ns$t/drop", `{}`}}},
		{"mark of events", `^_records/event-mark/` + ids["table"], named(`{}`, "/v1/table/ns$t/drop", "/v1/table/ns$t/deregister")},
		{"note of a change", `^_records/event-leaving/` + ids["gone"], named(`{}`, "/v1/table/ns$gone/undrop")},
	}
}

// withKey sends the request whose key the root has noted.
func withKey(t *testing.T, s *server) (int, []byte) {
	return s.send(t.Context(), write{path: "/v1/table/ns$t/insert", body: stream(t, 40, 2)}, "key-of-the-test")
}

// full returns the objects of a root that has a record of each kind, and their ids.
func full(t *testing.T) (files map[string][]byte, ids map[string]string) {
	t.Helper()
	store := memstore.New()
	s, worker, _ := older(t, store)
	s.does("/v1/namespace/ns/create", `{}`)
	created := s.does("/v1/table/ns$t/create", stream(t, 0, 20))
	s.does("/v1/table/ns$t/tags/create", `{"tag":"first","version":1}`)
	s.does("/v1/table/ns$t/branches/create", `{"name":"side"}`)
	s.does("/v1/materialized_view/ns$m/create", `{"query":"SELECT id, x FROM ns.t"}`)
	s.does("/v1/secret/key/create", `{"value":"sealed"}`)
	s.does("/v1/table/ns$gone/create", stream(t, 0, 2))
	s.does("/v1/table/ns$gone/drop", `{}`)
	s.does("/v1/namespace/left/create", `{}`)
	s.does("/v1/namespace/left/drop", `{}`)
	s.does("/v1/table/ns$r/declare", `{"location":"placed.lance"}`)
	s.does("/v1/table/batched/create", stream(t, 0, 2))
	ids = map[string]string{"commit": created["transaction_id"].(string)}
	s.does("/v1/transaction/"+ids["commit"]+"/alter", `{"actions":[{"setPropertyAction":{"key":"owner","value":"me"}}]}`)
	ids["job"] = s.does("/v1/table/ns$t/maintain", `{"compact":true}`)["transaction_id"].(string)
	ids["upload"] = s.does("/v1/table/ns$t/multipart_write/create", ``)["upload_id"].(string)
	if status, answer := withKey(t, s); status != http.StatusOK {
		t.Fatalf("a request with a key: %d %s", status, answer)
	}
	if err := worker.Do(t.Context(), jobs.Message{Kind: changefeed.TableKind, Object: []string{"ns", "t"}}); err != nil {
		t.Fatal(err)
	}
	files = filesOf(t, store)
	ids["table"] = uidOf(t, files["_catalog/$ns/t/t"])
	for key := range files {
		if name, ok := strings.CutPrefix(key, "_records/event-leaving/"); ok && strings.Contains(string(files[key]), `"gone"`) {
			ids["gone"], _, _ = strings.Cut(name, "-")
		}
	}
	files["_catalog/$/f/f"] = []byte(`{"id":["f"],"uid":"1","created_at":"2026-01-02T03:04:05Z","versions":[]}`)
	batched := bytes.TrimSpace(files["_catalog/$/t/batched"])
	files["_catalog/$/t/batched"] = append(batched[:len(batched)-1], `,"pending":{"batch":"b-1","until":"2126-01-02T03:04:05Z"}}`...)
	files["_batches/b-1"] = []byte(`{"outcome":"committed"}`)
	return files, ids
}

// uidOf returns the UID of a record of the catalog.
func uidOf(t *testing.T, object []byte) string {
	t.Helper()
	var record struct{ UID string }
	if err := json.Unmarshal(object, &record); err != nil || record.UID == "" {
		t.Fatalf("%s has no uid, %v", object, err)
	}
	return record.UID
}

// newerThan returns the ways in which a newer release may have written an object.
func newerThan(t *testing.T, object []byte) map[string][]byte {
	t.Helper()
	with := func(text []byte, member string) []byte {
		text = bytes.TrimSpace(text)
		made := append(bytes.Clone(text[:len(text)-1]), ","+member+"}"...)
		if !json.Valid(made) {
			t.Fatalf("%s is not JSON", made)
		}
		return made
	}
	made := map[string][]byte{}
	for name, member := range map[string]string{"format": `"format":2`, "member": `"unheard_of":{"x":[1]}`} {
		made[name] = with(object, member)
		var envelope struct{ Value json.RawMessage }
		if json.Unmarshal(object, &envelope) == nil && envelope.Value != nil {
			made[name+" of the value"] = bytes.Replace(object, envelope.Value, with(envelope.Value, member), 1)
		}
	}
	for name, newer := range made {
		if (len(newer)-len(object))%2 != 0 { // whether a record is marked shows in the parity of its size
			made[name] = append(newer, '\n')
		}
	}
	return made
}

// Whatever a newer release has written is refused by name, by every request that reads it, and stays as
// it is.
func TestRecordsOfNewerReleasesAreRefused(t *testing.T) {
	files, ids := full(t)
	kinds := kindsOfRecords(t, ids)
	for key := range files {
		if strings.HasPrefix(key, "_") && bytes.HasPrefix(files[key], []byte("{")) {
			found := 0
			for _, kind := range kinds {
				if regexp.MustCompile(kind.key).MatchString(key) {
					found++
				}
			}
			if found != 1 && !beside(key, ids) {
				t.Errorf("%d kinds are tested whose records are like %s", found, key)
			}
		}
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			pattern, planted := regexp.MustCompile(kind.key), 0
			for key, object := range files {
				if !pattern.MatchString(key) {
					continue
				}
				for how, newer := range newerThan(t, object) {
					planted++
					for _, request := range kind.requests {
						store := memstore.New()
						fill(t, store, files)
						if _, err := store.Put(t.Context(), key, newer, objectstore.Condition{}); err != nil {
							t.Fatal(err)
						}
						s, _, _ := older(t, store)
						status, answer := ask(t, s, request)
						if status != http.StatusServiceUnavailable || !strings.Contains(string(answer), "was written by a newer Tiltyard") {
							t.Errorf("%s of %s: %s: %d %s", how, key, request[0], status, answer)
						}
						same(t, store, key, newer)
					}
				}
			}
			if planted == 0 {
				t.Errorf("no record of the root is like %s", kind.key)
			}
		})
	}
}

// beside reports whether a record is another one of a kind that is tested.
func beside(key string, ids map[string]string) bool {
	return key == "_catalog/$/t/batched" || strings.HasPrefix(key, "_records/event-mark/") && !strings.HasSuffix(key, ids["table"]) ||
		strings.HasPrefix(key, "_records/event-leaving/") && !strings.Contains(key, ids["gone"]) || key == "_catalog/$ns/t/r" || strings.HasPrefix(key, "_records/job/") && !strings.HasSuffix(key, ids["job"])
}

func ask(t *testing.T, s *server, request [2]any) (int, []byte) {
	t.Helper()
	path := request[0].(string)
	switch {
	case path == "keyed":
		return withKey(t, s)
	case strings.HasSuffix(path, "list?"):
		return s.get(path)
	}
	return s.post(path, request[1])
}

// same reports a record that has changed.
func same(t *testing.T, store objectstore.Store, key string, want []byte) {
	t.Helper()
	if got, _, err := store.Get(context.Background(), key); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is %s, %v; want %s", key, got, err, want)
	}
}

// A worker leaves a job of a newer release as it is, and its message is delivered again. The same is so
// for a job whose table is of a newer release, and for the clock, which goes on with other jobs.
func TestWorkersLeaveJobsOfNewerReleases(t *testing.T) {
	files, ids := full(t)
	record := "_records/job/" + ids["job"]
	for how, newer := range newerThan(t, files[record]) {
		store := memstore.New()
		fill(t, store, files)
		if _, err := store.Put(t.Context(), record, newer, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		_, worker, _ := older(t, store)
		if err := worker.Do(t.Context(), jobs.Message{Job: ids["job"]}); !format.Newer(err) {
			t.Errorf("%s: the worker says %v", how, err)
		}
		if _, err := worker.ReviveAll(t.Context()); err != nil {
			t.Errorf("%s: the clock says %v", how, err)
		}
		same(t, store, record, newer)
	}
	store := memstore.New()
	fill(t, store, files)
	const table = "_catalog/$ns/t/t"
	newer := newerThan(t, files[table])["format"]
	if _, err := store.Put(t.Context(), table, newer, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	s, worker, _ := older(t, store)
	if err := worker.Do(t.Context(), jobs.Message{Job: ids["job"]}); !format.Newer(err) {
		t.Errorf("a table of a newer release: the worker says %v", err)
	}
	if state := s.ok("/v1/jobs/describe", `{"job_id":"`+ids["job"]+`"}`)["job_state"]; state != "IN_PROGRESS" {
		t.Errorf("the job is %v", state)
	}
	same(t, store, table, newer)
}

// A record that cannot be read may name any folder, so none is called an orphan, whose files would be
// deleted.
func TestFoldersAreNoOrphansBesideUnreadableRecords(t *testing.T) {
	for how, object := range map[string][]byte{"newer": []byte(`{"format":2}`), "damaged": []byte(`{"id":`)} {
		store := memstore.New()
		older := serve(t, "memory://test", store)
		older.ok("/v1/table/t/create", stream(t, 0, 2))
		if _, err := store.Put(t.Context(), "_catalog/$/t/t", object, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
		if err != nil {
			t.Fatal(err)
		}
		faults, _, err := catalog.Open(roots, func() time.Time { return time.Now().Add(48 * time.Hour) }).Sweeper.Examine(t.Context())
		if err != nil || len(faults) != 1 || string(faults[0].Kind) != how+"-record" {
			t.Errorf("a record that is %s: %+v, %v", how, faults, err)
		}
	}
}

// get is post for a GET.
func (s *server) get(path string) (int, []byte) {
	s.t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	answer := httptest.NewRecorder()
	s.serve.ServeHTTP(answer, req)
	return answer.Code, answer.Body.Bytes()
}

// does is ok for requests that may also begin something.
func (s *server) does(path string, body any) map[string]any {
	s.t.Helper()
	status, answer := s.post(path, body)
	decoded := map[string]any{}
	if err := json.Unmarshal(answer, &decoded); err != nil && len(answer) > 0 || status >= http.StatusMultipleChoices {
		s.t.Fatalf("%s: status %d: %s", path, status, answer)
	}
	return decoded
}
