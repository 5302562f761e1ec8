package all_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/http/quota"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// openMeteredServer returns a server that meters usage, with a quota of 64 KiB for each first namespace. It has the tables
// big$t with far more, and small$t.
func openMeteredServer(t *testing.T) *staffedServer {
	t.Helper()
	w := &staffedServer{t: t}
	store := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	records := objectrecord.Open(store, time.Now)
	w.all = all.Open(tables.Stores{
		Objects: roots, Now: time.Now, Records: records, Queue: new(memqueue.Queue), Maintain: true, Metered: true, DropRetention: 48 * time.Hour,
	}, all.Options{Logger: slog.New(slog.DiscardHandler)})
	quotas := auth.OpenDocument("quotas", func(context.Context) ([]byte, error) {
		return []byte(`{"quotas": [{"name": "store", "namespace": "*", "stored_bytes": "64KiB"}]}`), nil
	}, quota.Parse, time.Now)
	w.handler = httpapi.Handler(w.all.Routes, httpapi.Options{Verifier: groups{}, Quotas: quota.Open(quotas, records, time.Now, slog.New(slog.DiscardHandler))})
	w.must("/v1/namespace/big/create", nil)
	w.must("/v1/namespace/small/create", nil)
	w.create("big$t", nil, many(0)...)
	w.create("small$t", nil, 1, 2, 3)
	return w
}

// many returns ids that no encoding makes shorter, which are 160 KB.
func many(from int64) []int64 {
	ids := make([]int64, 20_000)
	for i := range ids {
		ids[i] = (from + int64(i)) * 0x1E3779B97F4A7C15
	}
	return ids
}

// meter lets an hour pass, has the sizes of tables noted if visits is set, and runs the job that meters usage.
func (w *staffedServer) meter(visits bool) {
	w.t.Helper()
	time.Sleep(time.Hour)
	if visits {
		if err := w.all.Keeper.SuggestAll(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.work(time.Minute)
	}
	if err := w.all.FoldUsage(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.work(time.Minute)
}

// adds checks whether rows may be inserted into tables.
func (w *staffedServer) adds(want map[string]bool) {
	w.t.Helper()
	for table, admitted := range want {
		status, answer := w.send("admin", "/v1/table/"+table+"/insert", encodedIDs(w.t, nil, 1))
		if admitted && status != http.StatusOK || !admitted && (status != http.StatusTooManyRequests || answer["type"] != "/errors/quota-exceeded" || answer["retryable"] != false) {
			w.t.Errorf("insert into %s: %d %v, want it to be admitted: %t", table, status, answer, admitted)
		}
	}
}

// A namespace that stores more than its quota takes no data until tables are dropped, or rows are deleted and their files
// removed, and metering has seen that. Everything else goes through, and other namespaces are as before.
func TestStoredBytesBeyondAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openMeteredServer(t)
		w.adds(map[string]bool{"big$t": true, "small$t": true}) // nothing is metered
		w.meter(true)
		w.adds(map[string]bool{"big$t": false, "small$t": true})

		stream := encodedIDs(t, nil, 5)
		for _, r := range []struct {
			path     string
			body     []byte
			admitted bool
		}{
			{"/v1/table/big$u/create", stream, false},
			{"/v1/table/small$u/create", stream, true},
			{"/v1/table/big$below$u/create", stream, false},
			{"/v1/table/big$t/merge_insert?on=id&when_not_matched_insert_all=true", stream, false},
			{"/v1/table/big$t/update", []byte(`{"updates": [["id", "1"]], "predicate": "id = 5"}`), false},
			{"/v1/table/big$t/create_scalar_index", []byte(`{"column": "id", "index_type": "BTREE"}`), false},
			{"/v1/table/big$t/add_columns", []byte(`{"new_columns": [{"name": "x", "expression": "id + 1"}]}`), false},
			{"/v1/table/big$t/multipart_write/create", []byte(`{}`), false},
			{"/v1/sql", []byte(`{"query": "INSERT INTO big.t VALUES (1)"}`), false},
			{"/v1/sql", []byte(`{"query": "CREATE TABLE big.v AS SELECT 1 AS id"}`), false},
			{"/v1/sql", []byte(`{"query": "INSERT INTO small.t SELECT id FROM big.t LIMIT 1"}`), true},
			{"/v1/table/small$u/rename", []byte(`{"new_table_name": "u", "new_namespace_id": ["big"]}`), false},
			{"/v1/table/version/batch-create", []byte(`{"entries": [{"id": ["big", "t"], "version": 9, "manifest_path": "x"}]}`), false},
			{"/v1/table/batch-commit", []byte(`{"operations": [{"declare_table": {"id": ["small", "w"]}}, {"create_table_version": {"id": ["big", "t"], "version": 9, "manifest_path": "x"}}]}`), false},

			{"/v1/table/batch-commit", []byte(`{"operations": [{"declare_table": {"id": ["big", "w"]}}]}`), true},
			{"/v1/table/batch-commit", []byte(`{"operations": [{"deregister_table": {"id": ["big", "w"]}}]}`), true},
			{"/v1/table/big$t/rename", []byte(`{"new_table_name": "u", "new_namespace_id": ["big"]}`), true},
			{"/v1/table/big$u/rename", []byte(`{"new_table_name": "t", "new_namespace_id": ["big"]}`), true},
			{"/v1/table/big$t/query", []byte(`{"k": 1, "columns": ["id"]}`), true},
			{"/v1/sql", []byte(`{"query": "SELECT count(*) FROM big.t"}`), true},
			{"/v1/sql", []byte(`{"query": "DELETE FROM big.t WHERE id = 1"}`), true},
			{"/v1/table/big$t/delete", []byte(`{"predicate": "id = 2"}`), true},
			{"/v1/table/big$t/tags/create", []byte(`{"tag": "now", "version": 1}`), true},
			{"/v1/table/big$t/restore", []byte(`{"version": 2}`), true},
			{"/v1/table/big$t/maintain", []byte(`{"cleanup": true}`), true},
			{"/v1/namespace/big$n/create", []byte(`{}`), true},
			{"/v1/table/big$t/drop", []byte(`{}`), true},
		} {
			status, answer := w.send("admin", r.path, r.body)
			if r.admitted && status >= http.StatusMultipleChoices || !r.admitted && status != http.StatusTooManyRequests {
				t.Errorf("%s %.90q: %d %v, want it to be admitted: %t", r.path, r.body, status, answer, r.admitted)
			}
		}

		w.meter(false)
		w.create("big$new", nil, 1)
		w.must("/v1/table/big$t/undrop", nil)
		w.meter(true)
		w.adds(map[string]bool{"big$new": false, "small$t": true})

		w.must("/v1/table/big$t/delete", map[string]any{"predicate": "id <> 0"})
		w.meter(false)
		w.adds(map[string]bool{"big$new": false}) // the files are still there
		w.must("/v1/table/big$t/maintain", map[string]any{"compact": true})
		w.work(time.Minute)
		w.meter(false)
		w.adds(map[string]bool{"big$new": true, "big$t": true})
	})
}
