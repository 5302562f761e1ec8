package all_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

// isOfTables reports whether a call is about the data of tables, and not about records.
func isOfTables(call faultstore.Call) bool { return !strings.HasPrefix(call.Key, "_") }

// An upload without a key goes to a process that loses all answers of the storage that holds the
// tables, from one call on or for one call. The client that got the error sends the upload again to
// another process, and it has happened once. The second process may have served the table before,
// and have it in its cache.
func TestUploadsThatFailAreSettledByAnotherProcess(t *testing.T) {
	lost, unknown := faultstore.Fault{Lost: true}, faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
	down := func(call faultstore.Call) faultstore.Fault {
		if isPut(call) {
			return unknown
		}
		return faultstore.Fault{Err: errors.New("the storage is down")}
	}
	for name, fault := range map[string]func(call faultstore.Call, n int) faultstore.Fault{
		"lost": func(call faultstore.Call, n int) faultstore.Fault {
			if call.N == n {
				return lost
			}
			return faultstore.Fault{}
		},
		"down from there on": func(call faultstore.Call, n int) faultstore.Fault {
			if call.N >= n && isOfTables(call) {
				return down(call)
			}
			return faultstore.Fault{}
		},
		"lost, and then down": func(call faultstore.Call, n int) faultstore.Fault {
			switch {
			case call.N == n:
				return lost
			case call.N > n && isOfTables(call):
				return down(call)
			}
			return faultstore.Fault{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range writes(t)[:5] {
				synctest.Test(t, func(t *testing.T) { sendElsewhereAgain(t, w, fault) })
			}
		})
	}
}

// sendElsewhereAgain runs a write once for each of its calls, with a fault at that call.
func sendElsewhereAgain(t *testing.T, w write, fault func(call faultstore.Call, n int) faultstore.Fault) {
	plain := twoTables(t)
	_, answer := serveNoting(t, plain).send(t.Context(), w, "")
	want := outcome(t, plain, w, answer)
	reached := new(atomic.Bool)
	reached.Store(true)
	for n := 1; reached.Swap(false); n++ {
		store := twoTables(t)
		warm := serveNoting(t, store)
		warm.ok("/v1/table/"+strings.Split(w.path, "/")[3]+"/describe", `{}`)
		broken := faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
			if call.N >= n {
				reached.Store(true)
			}
			return fault(call, n)
		})
		status, answer := serveNoting(t, broken).send(t.Context(), w, "")
		if status != http.StatusOK {
			other := warm
			if n%2 == 0 {
				other = serveNoting(t, store)
			}
			status, answer = other.send(t.Context(), w, "")
		}
		if status != http.StatusOK {
			t.Errorf("%s, call %d: status %d: %s", w.name, n, status, answer)
			continue
		}
		if diff := cmp.Diff(want, outcome(t, store, w, answer)); diff != "" {
			t.Errorf("%s, call %d (-want +got):\n%s", w.name, n, diff)
		}
	}
}

// takeLong ignores the end of its context.
func takeLong(context.Context) error {
	time.Sleep(20 * time.Second)
	return nil
}

// A process is killed when its time is over, while the put that makes the version is under way. The
// put arrives before the upload is sent again, after it, or never.
func TestUploadsThatTakeTooLongAreSettledByAnotherProcess(t *testing.T) {
	for name, takes := range map[string]time.Duration{"before": 10 * time.Second, "after": time.Minute, "never": 0} {
		t.Run(name, func(t *testing.T) {
			for _, w := range writes(t)[:2] {
				synctest.Test(t, func(t *testing.T) {
					plain := twoTables(t)
					_, answer := serveNoting(t, plain).send(t.Context(), w, "")
					want := outcome(t, plain, w, answer)

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
					warm := serveNoting(t, store)
					warm.ok("/v1/table/t/describe", `{}`)
					ended := make(chan int)
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						defer cancel()
						status, _ := slow.send(ctx, w, "")
						ended <- status
					}()
					time.Sleep(25 * time.Second)
					status, answer := warm.send(t.Context(), w, "")
					if status != http.StatusOK {
						t.Fatalf("%s: status %d: %s", w.name, status, answer)
					}
					if status := <-ended; status == http.StatusOK {
						t.Errorf("%s: who took the change over was answered, and so was who began it", w.name)
					}
					time.Sleep(time.Minute)
					if diff := cmp.Diff(want, outcome(t, store, w, answer)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", w.name, diff)
					}
				})
			}
		})
	}
}

// An upload that is answered although its time was over has made its own change. If another upload
// has taken over the change in the meantime, the first gets no success, and its client sends it
// again.
func TestUploadsThatAreInTimeAfterAll(t *testing.T) {
	for name, meanwhile := range map[string]bool{"nobody came": false, "another came": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := writes(t)[0]
				store := twoTables(t)
				slow := serveNoting(t, faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
					if isPut(call) && strings.Contains(call.Key, "/_versions/") {
						return faultstore.Fault{Wait: takeLong}
					}
					return faultstore.Fault{}
				}))
				other := serveNoting(t, store)
				ended := make(chan int)
				go func() {
					req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, w.path, bytes.NewReader(w.body))
					req.Header.Set("Authorization", "Bearer secret-of-the-test")
					req.Header.Set("X-Request-Timeout-Ms", "5000")
					answer := httptest.NewRecorder()
					slow.serve.ServeHTTP(answer, req)
					ended <- answer.Code
				}()
				time.Sleep(10 * time.Second)
				uploads := 1
				if meanwhile {
					uploads++
					if status, answer := other.send(t.Context(), w, ""); status != http.StatusOK {
						t.Fatalf("status %d: %s", status, answer)
					}
				}
				switch status := <-ended; {
				case !meanwhile && status != http.StatusOK:
					t.Fatalf("it was in time, and is answered %d", status)
				case meanwhile && status != http.StatusServiceUnavailable:
					t.Fatalf("another was taken for it, and it is answered %d", status)
				case meanwhile:
					other.send(t.Context(), w, "")
				}
				other.send(t.Context(), w, "") // on purpose
				if got, want := len(other.query("t", `{"k":100}`)), 5+4*(uploads+1); got != want {
					t.Errorf("the table has %d rows, want %d", got, want)
				}
			})
		})
	}
}

// A client that disconnects while its rows are being committed adds them once, no matter to which
// process it sends them again. Equal rows of other clients count separately.
func TestUploadsOfThoseWhoWentAreKnownElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := writes(t)[0]
		store := twoTables(t)
		client, leave := context.WithCancel(t.Context())
		first := serveNoting(t, faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
			if isPut(call) && strings.Contains(call.Key, "/_versions/") {
				leave()
			}
			return faultstore.Fault{}
		}))
		others := []*server{serveNoting(t, store), serveNoting(t, store), first}
		first.send(client, w, "")
		for i, want := range []int{9, 13, 17} {
			if status, answer := others[i].send(t.Context(), w, ""); status != http.StatusOK {
				t.Fatalf("status %d: %s", status, answer)
			}
			if n := len(others[i].query("t", `{"k":100}`)); n != want {
				t.Errorf("the table has %d rows, want %d", n, want)
			}
		}
	})
}
