package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/uuid"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

// together returns one stream with the batches of several.
func together(t *testing.T, streams ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w *ipc.Writer
	for _, one := range streams {
		r, err := ipc.NewReader(bytes.NewReader(one))
		if err != nil {
			t.Fatal(err)
		}
		if w == nil {
			w = ipc.NewWriter(&out, ipc.WithSchema(r.Schema()))
		}
		for r.Next() {
			if err := w.Write(r.RecordBatch()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// post sends a request and returns status and answer. A process that dies gives no answer: 0.
func post(ctx context.Context, s *server, path string, body []byte) (status int, answer []byte) {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			status = 0
		}
	}()
	s.serve.ServeHTTP(w, req)
	return w.Code, w.Body.Bytes()
}

// begin begins an upload and returns its id, "" when there is no answer.
func begin(ctx context.Context, s *server) string {
	status, answer := post(ctx, s, "/v1/table/t/multipart_write/create", nil)
	var made struct {
		UploadID string `json:"upload_id"`
	}
	if status != http.StatusOK || json.Unmarshal(answer, &made) != nil {
		return ""
	}
	return made.UploadID
}

// sendPart sends a part and returns the status.
func sendPart(ctx context.Context, s *server, upload, id, mode string, rows []byte) int {
	status, _ := post(ctx, s, fmt.Sprintf("/v1/table/t/insert/?upload_id=%s&upload_part_id=%s%s", upload, id, mode), rows)
	return status
}

func end(ctx context.Context, s *server, what, upload string) (int, []byte) {
	return post(ctx, s, "/v1/table/t/multipart_write/"+what+"?upload_id="+upload, nil)
}

// A sender adds rows as the LanceDB client does: after a failure it aborts the upload and begins a
// new one with all rows, divided into other parts.
type sender struct {
	processes []*server // request after request of one kind goes to the next, and then to the last
	completes int       // how often a complete is sent before the upload is given up
	mode      string
}

func (c *sender) at(n int) *server { return c.processes[min(n, len(c.processes)-1)] }

// send returns the version that the client sees.
func (c *sender) send(t *testing.T, cuts ...[][]byte) float64 {
	for n, parts := range cuts {
		if version := c.try(t.Context(), n, parts); version > 0 {
			return version
		}
	}
	return 0
}

func (c *sender) try(ctx context.Context, n int, parts [][]byte) float64 {
	var upload string
	for i := 0; upload == "" && i < 3; i++ {
		upload = begin(ctx, c.at(n+i))
	}
	complete := true
	for _, rows := range parts {
		complete = sendPart(ctx, c.at(n), upload, uuid.NewString(), c.mode, rows) == http.StatusOK && complete
	}
	for i := 0; complete && i < c.completes; i++ {
		status, answer := end(ctx, c.at(n+i), "complete", upload)
		var done struct {
			Version float64 `json:"version"`
		}
		if status == http.StatusOK && json.Unmarshal(answer, &done) == nil {
			return done.Version
		}
	}
	for i := range 3 {
		if status, _ := end(ctx, c.at(n+i), "abort", upload); status == http.StatusOK || status == http.StatusConflict {
			break
		}
	}
	return 0
}

// A process dies, or the storage loses an answer, at each of the storage calls that an upload
// makes. The client goes on with another process: it sends its complete again, or it aborts the
// upload and sends all rows again as another one. The rows are there once.
func TestUploadsInPartsHappenOnceWhateverFails(t *testing.T) {
	faults := map[string]faultstore.Fault{
		"crash before": {Crash: true}, "crash after": {Crash: true, Lost: true}, "lost answer": {Lost: true},
		"unknown": {Err: objectstore.ErrUnknownOutcome},
	}
	first, second := stream(t, 3, 4), stream(t, 7, 2)
	cuts := [][][]byte{{first, second}, {together(t, second, first)}, {first, second}}
	modes := []string{"", "&mode=overwrite"}
	if testing.Short() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		for _, completes := range []int{1, 2} {
			for kind, fault := range faults {
				name := fmt.Sprintf("%s completes %d %s", kind, completes, mode)
				synctest.Test(t, func(t *testing.T) {
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
						c := &sender{processes: []*server{serveNoting(t, broken), serveNoting(t, store)}, completes: completes, mode: mode}
						version := c.send(t, cuts...)
						want := 11
						if mode != "" {
							want = 6
						}
						s := serveNoting(t, store)
						rows := len(s.query("t", `{"k":100}`))
						versions := len(s.ok("/v1/table/t/version/list", "{}")["versions"].([]any))
						if version != 3 || rows != want || versions != 3 {
							t.Errorf("%s, call %d: the client sees version %v; the table has %d versions and %d rows, want 3 and %d",
								name, n, version, versions, rows, want)
						}
					}
				})
			}
		}
	}
}

// The put that commits an upload is under way when the client gives the upload up, and it arrives
// before the retry of the upload is completed, after that, or never.
func TestCommitThatIsLateCountsOnce(t *testing.T) {
	rows := stream(t, 3, 4)
	for name, takes := range map[string]time.Duration{"before": 10 * time.Second, "after": time.Minute, "never": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := twoTables(t)
				slow := serveNoting(t, faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
					if !isPut(call) || !strings.Contains(call.Key, "/_versions/") {
						return faultstore.Fault{}
					}
					if takes > 0 {
						time.AfterFunc(takes, func() {
							_, _ = store.Put(context.Background(), call.Key, call.Data, objectstore.Condition{IfAbsent: true})
						})
					}
					return faultstore.Fault{Wait: takeLong, Crash: true}
				}))
				other := serveNoting(t, store)
				c := &sender{processes: []*server{slow, other}, completes: 1}
				if version := c.send(t, [][]byte{rows}, [][]byte{rows}); version != 3 {
					t.Errorf("the client sees version %v, want 3", version)
				}
				time.Sleep(2 * time.Minute)
				if got := len(serveNoting(t, store).query("t", `{"k":100}`)); got != 9 {
					t.Errorf("the table has %d rows, want 9", got)
				}
			})
		})
	}
}

// The rows of an upload that is never completed go with its table.
func TestDroppedTablesLeaveNoUploads(t *testing.T) {
	store := twoTables(t)
	s := serveNoting(t, store)
	if status := sendPart(t.Context(), s, begin(t.Context(), s), uuid.NewString(), "", stream(t, 3, 4)); status != http.StatusOK {
		t.Fatalf("got status %d", status)
	}
	s.ok("/v1/table/t/drop", "{}")
	page, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range page.Objects {
		if strings.Contains(object.Key, "/_uploads/") {
			t.Errorf("%s is left", object.Key)
		}
	}
}
