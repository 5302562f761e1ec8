package all_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/boot"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// probed is a server whose readiness is asked for, by a clock of its own.
type probed struct {
	*server
	now time.Time
}

// serveProbed serves a home root, and an allowed location, as a program does.
func serveProbed(t *testing.T, home, allowed objectstore.Store) *probed {
	t.Helper()
	roots, err := objectstore.NewRoots(
		objectstore.Root{URI: "memory://test", Store: objectstore.Counting(objectstore.WatchWrites(home))},
		objectstore.Root{URI: "memory://allowed", Store: objectstore.Counting(objectstore.WatchWrites(allowed))},
	)
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	p := &probed{now: time.Now()}
	clock := func() time.Time { return p.now }
	env := boot.Env{
		Objects: roots, Records: objectrecord.Open(roots.Home().Store, clock), Verifier: token, Now: clock,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	routes := all.Routes(tables.Stores{Objects: roots, Records: env.Records, Now: clock}, arrowipc.Limits{})
	p.server = &server{t: t, serve: env.Handler(routes...)}
	return p
}

// ready is the status of /readyz when no earlier answer is good any more.
func (p *probed) ready() int {
	p.now = p.now.Add(10 * time.Second)
	answer := httptest.NewRecorder()
	p.serve.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return answer.Code
}

func isWrite(call faultstore.Call) bool { return isPut(call) || call.Kind == faultstore.Upload }

// refuse fails all writes from the n-th on. reached reports whether there was one.
func refuse(store *faultstore.Store, n int, with error) (reached *bool) {
	reached = new(bool)
	writes := 0
	store.Inject(func(call faultstore.Call) faultstore.Fault {
		readOnly := errors.Is(with, syscall.EROFS) && call.Kind == faultstore.Delete
		if !isWrite(call) && !readOnly {
			return faultstore.Fault{}
		}
		if writes++; writes < n {
			return faultstore.Fault{}
		}
		*reached = true
		return faultstore.Fault{Err: with}
	})
	return reached
}

// tableOf is what the table of a write holds, nil while it is only declared.
func tableOf(t *testing.T, store objectstore.Store, w write) map[string]any {
	t.Helper()
	name := strings.Split(w.path, "/")[3]
	if status, _ := serveNoting(t, store).post("/v1/table/"+name+"/query", `{"k":100,"vector":[]}`); status == http.StatusNotFound {
		return nil
	}
	return outcome(t, store, w, []byte("{}"))
}

// A write is refused with 507 when the disk becomes full, or read-only, at any of its calls. The
// write then has not happened, or has happened completely. The service is not ready until the disk
// accepts writes again, after which the same write succeeds.
func TestDiskThatIsFullRefusesWritesAndHeals(t *testing.T) {
	for _, w := range writes(t) {
		plain := twoTables(t)
		status, answer := serveNoting(t, plain).send(t.Context(), w, "")
		if status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", w.name, status, answer)
		}
		want := outcome(t, plain, w, answer)
		before := tableOf(t, twoTables(t), w)
		for _, refusal := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
			reached := true
			for n := 1; reached; n++ {
				name := fmt.Sprintf("%s, %v from write %d on", w.name, refusal, n)
				inner := twoTables(t)
				disk := faultstore.New(inner, nil)
				s := serveProbed(t, disk, memstore.New())
				if status := s.ready(); status != http.StatusOK {
					t.Fatalf("%s: ready before: got %d", name, status)
				}
				was := refuse(disk, n, refusal)
				status, answer := s.send(t.Context(), w, "")
				reached = *was
				if !reached {
					break
				}
				if status := s.ready(); status != http.StatusServiceUnavailable {
					t.Errorf("%s: ready while writes fail: got %d, want 503", name, status)
				}
				done := status == http.StatusOK
				if !done && (status != http.StatusInsufficientStorage || !strings.Contains(string(answer), `"type":"/errors/insufficient-storage"`)) {
					t.Errorf("%s: got %d %s, want 507", name, status, answer)
				}
				disk.Inject(nil)
				if diff := cmp.Diff(before, tableOf(t, inner, w)); !done && diff != "" {
					t.Errorf("%s: refused, and yet (-before +now):\n%s", name, diff)
				}
				if status := s.ready(); status != http.StatusOK {
					t.Errorf("%s: ready after: got %d", name, status)
				}
				if !done {
					_, answer = s.send(t.Context(), w, "")
				}
				if diff := cmp.Diff(want, outcome(t, inner, w, answer)); diff != "" {
					t.Errorf("%s: in the end (-want +got):\n%s", name, diff)
				}
			}
		}
	}
}

// A table that could not be made because the disk was full does not exist, and no listing shows it.
func TestDiskThatIsFullGetsNothingNew(t *testing.T) {
	requests := []struct {
		path, list, exists string
		body               any
	}{
		{"/v1/table/made/create", "/v1/namespace/$/table/list", "/v1/table/made/exists", stream(t, 0, 3)},
		{"/v1/table/made/declare", "/v1/namespace/$/table/list", "/v1/table/made/exists", `{}`},
		{"/v1/namespace/made/create", "/v1/namespace/$/list", "/v1/namespace/made/exists", `{}`},
	}
	for _, r := range requests {
		for _, refusal := range []error{syscall.ENOSPC, syscall.EROFS} {
			reached := true
			for n := 1; reached; n++ {
				disk := faultstore.New(memstore.New(), nil)
				s := serveProbed(t, disk, memstore.New())
				was := refuse(disk, n, refusal)
				status, answer := s.post(r.path, r.body)
				if reached = *was; !reached {
					break
				}
				if ready := s.ready(); ready != http.StatusServiceUnavailable {
					t.Errorf("%s, %v from write %d on: ready while writes fail: got %d, want 503", r.path, refusal, n, ready)
				}
				disk.Inject(nil)
				if status == http.StatusOK {
					continue
				}
				if status != http.StatusInsufficientStorage {
					t.Errorf("%s, %v from write %d on: got %d %s, want 507", r.path, refusal, n, status, answer)
				}
				if status, answer := s.post(r.exists, `{}`); status != http.StatusNotFound {
					t.Errorf("%s, %v from write %d on: exists: got %d %s, want 404", r.path, refusal, n, status, answer)
				}
				if status := s.ready(); status != http.StatusOK {
					t.Errorf("%s, %v from write %d on: ready after: got %d", r.path, refusal, n, status)
				}
				s.ok(r.path, r.body)
			}
		}
	}
}

// A probe writes nothing while no write is refused, and writes once after a refused one. A program
// that starts on a full disk notices that before the first request.
func TestReadinessTriesToWriteOnlyInDoubt(t *testing.T) {
	tries := 0
	full := error(syscall.ENOSPC)
	disk := faultstore.New(memstore.New(), func(call faultstore.Call) faultstore.Fault {
		if !isWrite(call) {
			return faultstore.Fault{}
		}
		tries++
		return faultstore.Fault{Err: full}
	})
	s := serveProbed(t, disk, memstore.New())
	for i, want := range []int{503, 503, 200, 200, 200} {
		if i == 2 {
			full = nil
		}
		if status := s.ready(); status != want {
			t.Errorf("probe %d: got %d, want %d", i, status, want)
		}
	}
	if tries != 3 {
		t.Errorf("tried to write %d times, want 3", tries)
	}
	if files := filesOf(t, disk); len(files) != 0 {
		t.Errorf("the probes left %v", files)
	}
}

// An allowed location may be mounted to be read. A full one loses writes.
func TestAllowedLocationMayBeReadOnly(t *testing.T) {
	for _, c := range []struct {
		refusal error
		want    int
	}{{syscall.EROFS, 200}, {syscall.EACCES, 200}, {syscall.ENOSPC, 503}, {syscall.EDQUOT, 503}} {
		allowed := faultstore.New(memstore.New(), nil)
		refuse(allowed, 1, c.refusal)
		s := serveProbed(t, memstore.New(), allowed)
		if status := s.ready(); status != c.want {
			t.Errorf("%v: got %d, want %d", c.refusal, status, c.want)
		}
	}
}
