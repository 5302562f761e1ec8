package all_test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// errFull is the error of a store without space.
var errFull = fmt.Errorf("write: %w", syscall.ENOSPC)

// With the reserve of the store, a full disk can be freed: what is dropped is purged, tables and namespaces are
// dropped although they can be restored, and old versions are cleaned up. Nothing else uses the reserve.
func TestDiskThatIsFullCanBeFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openStaffedServer(t)
		w.must("/v1/namespace/more/create", nil)
		for _, name := range []string{"dropped", "table", "old", "more$t"} {
			w.create(name, nil, 1, 2)
		}
		w.must("/v1/materialized_view/view/create", map[string]any{"query": "SELECT id FROM src.a", "with_no_data": true})
		w.must("/v1/table/dropped/drop", nil)
		w.insert("old", 3)
		time.Sleep(30 * 24 * time.Hour)
		w.insert("old", 4)
		time.Sleep(30 * 24 * time.Hour)

		w.full.Store(true)
		for what, send := range map[string]func() (int, map[string]any){
			"insert":    func() (int, map[string]any) { return w.send("admin", "/v1/table/old/insert", encodedIDs(t, nil, 5)) },
			"declare":   func() (int, map[string]any) { return w.sent("/v1/table/new/declare", map[string]any{}) },
			"namespace": func() (int, map[string]any) { return w.sent("/v1/namespace/new/create", nil) },
			"refresh":   func() (int, map[string]any) { return w.sent("/v1/materialized_view/view/refresh", nil) },
		} {
			if status, answer := send(); status != http.StatusInsufficientStorage && status != http.StatusServiceUnavailable {
				t.Errorf("%s on a full disk: %d %v, want 507 or 503", what, status, answer)
			}
		}
		for _, path := range []string{
			"/v1/table/table/drop", "/v1/materialized_view/view/drop", "/v1/table/table/purge",
		} {
			if status, answer := w.sent(path, nil); status != http.StatusOK {
				t.Errorf("%s: %d %v", path, status, answer)
			}
		}
		for path, body := range map[string]map[string]any{
			"/v1/table/old/maintain":       {"cleanup": true},
			"/v1/namespace/more/drop":      {"behavior": "Cascade"},
			"/v1/table/old/version/delete": {"ranges": []map[string]any{{"start_version": 1, "end_version": 1}}},
		} {
			status, answer := w.sent(path, body)
			if status >= http.StatusMultipleChoices {
				t.Errorf("%s: %d %v", path, status, answer)
			}
			w.work(time.Hour) // a cleanup waits before it deletes files
			id, ok := answer["job_id"].(string)
			if !ok {
				continue
			}
			if _, told := w.sent("/v1/jobs/describe", map[string]string{"job_id": id}); told["job_state"] != "DONE" {
				t.Errorf("%s: the job is %v", path, told)
			}
		}
	})
}
