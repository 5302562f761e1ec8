package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

// withLedger serves s with requests noted.
func withLedger(s *service) http.Handler {
	return Handler(s.routes(), Options{
		Verifier: verifier{},
		Ledger:   idempotency.Open(objectrecord.Open(memstore.New(), time.Now), time.Now),
	})
}

func keyed(key string) map[string]string { return map[string]string{"Idempotency-Key": key} }

func withID(id string) map[string]string { return map[string]string{"X-Request-Id": id} }

func TestRequestsAreTheSameByKeyAndBody(t *testing.T) {
	const drop, tag = "/v1/namespace/a/create", "/v1/table/t/delete/"
	insert := request{path: "/v1/table/t/insert", body: "x", header: keyed("k")}
	for _, test := range []struct {
		name          string
		first, second request
		calls         int
		status        int // of the second
	}{
		{"same key", request{path: drop, body: "{}", header: keyed("k")}, request{path: drop, body: "{}", header: keyed("k")}, 1, 200},
		{"no key", request{path: drop, body: "{}"}, request{path: drop, body: "{}"}, 2, 200},
		{"other key", request{path: drop, header: keyed("k")}, request{path: drop, header: keyed("l")}, 2, 200},
		{"other object", request{path: drop, header: keyed("k")}, request{path: "/v1/namespace/b/create", header: keyed("k")}, 2, 200},
		{"other body", request{path: drop, body: "{}", header: keyed("k")}, request{path: drop, body: `{"mode":"Overwrite"}`, header: keyed("k")}, 1, 422},
		{"other sender", request{path: drop, header: map[string]string{"Idempotency-Key": "k", "Authorization": "Bearer nobody"}}, request{path: drop, header: keyed("k")}, 1, 200},
		{"a reader", request{path: "/v1/namespace/a/describe", header: keyed("k")}, request{path: "/v1/namespace/a/describe", header: keyed("k")}, 2, 200},
		{"an upload by key", insert, insert, 1, 200},
		{"an upload of other rows", insert, request{path: insert.path, body: "y", header: keyed("k")}, 1, 422},
		{"an upload of more rows", insert, request{path: insert.path, body: "xx", header: keyed("k")}, 1, 422},
		{"an upload of no rows", insert, request{path: insert.path, header: keyed("k")}, 1, 422},
		{"an upload to another table", insert, request{path: "/v1/table/u/insert", body: "y", header: keyed("k")}, 2, 200},
		{"an upload for another operation", insert, request{path: "/v1/table/t/create", body: "y", header: keyed("k")}, 2, 200},
		{"an upload with other parameters", insert, request{path: "/v1/table/t/insert?mode=overwrite", body: "x", header: keyed("k")}, 1, 422},
		{"same request id", request{path: tag, body: `{"predicate":"a"}`, header: withID("i")}, request{path: tag, body: `{"predicate":"a"}`, header: withID("i")}, 1, 200},
		{"same request id, other body", request{path: tag, body: `{"predicate":"a"}`, header: withID("i")}, request{path: tag, body: `{"predicate":"b"}`, header: withID("i")}, 2, 200},
		{"request id of what is not sent again", request{path: drop, header: withID("i")}, request{path: drop, header: withID("i")}, 2, 200},
		{"request id of an upload", request{path: "/v1/table/t/insert", header: withID("i")}, request{path: "/v1/table/t/insert", header: withID("i")}, 2, 200},
		{"request id that is not taken", request{path: tag, body: `{"predicate":"a"}`, header: withID("i i")}, request{path: tag, body: `{"predicate":"a"}`, header: withID("i i")}, 2, 200},
		{"a key too long", request{path: drop, header: keyed("k")}, request{path: drop, header: keyed(strings.Repeat("k", maxKeyBytes+1))}, 1, 400},
		{"the longest key", request{path: drop, header: keyed(strings.Repeat("k", maxKeyBytes))}, request{path: drop, header: keyed(strings.Repeat("k", maxKeyBytes))}, 1, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := new(service)
			h := withLedger(s)
			test.first.do(t, h)
			w := test.second.do(t, h)
			if s.calls != test.calls || w.Code != test.status {
				t.Errorf("got %d calls and status %d, want %d and %d: %s", s.calls, w.Code, test.calls, test.status, w.Body)
			}
		})
	}
}

func TestRepeatsAreAnsweredAlike(t *testing.T) {
	for _, rq := range []request{
		{path: "/v1/namespace/a/create", body: "{}", header: keyed("k")},
		{path: "/v1/namespace/a/drop", header: keyed("k")},
		{path: "/v1/table/t/insert/", header: keyed("k")},
		{path: "/v1/table/t/update/", body: `{"updates":[["x","1"]]}`, header: keyed("k")},
	} {
		h := withLedger(new(service))
		first, second := rq.do(t, h), rq.do(t, h)
		if second.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: the second answer does not say that it is one of before", rq.path)
		}
		for _, name := range []string{"Idempotent-Replayed", "X-Request-Id"} {
			first.Header().Del(name)
			second.Header().Del(name)
		}
		if first.Code != second.Code || first.Body.String() != second.Body.String() || !sameHeader(first, second) {
			t.Errorf("%s: got %d %v %s, then %d %v %s", rq.path, first.Code, first.Header(), first.Body, second.Code, second.Header(), second.Body)
		}
	}
}

// The ledger has no credentials, so the answer to a repeated request has none.
func TestCredentialsAreNotNoted(t *testing.T) {
	h := withLedger(new(service))
	rq := request{path: "/v1/table/t/declare", body: "{}", header: keyed("k")}
	first, second := rq.do(t, h).Body.String(), rq.do(t, h).Body.String()
	if !strings.Contains(first, `"aws_secret_access_key":"secret"`) {
		t.Errorf("the first answer has no credentials: %s", first)
	}
	if strings.Contains(second, "secret") || !strings.Contains(second, `"location":"s3://b/t"`) {
		t.Errorf("got %s to the repeated request, want the location without credentials", second)
	}
}

func sameHeader(a, b *httptest.ResponseRecorder) bool {
	if len(a.Header()) != len(b.Header()) {
		return false
	}
	for name := range a.Header() {
		if a.Header().Get(name) != b.Header().Get(name) {
			return false
		}
	}
	return true
}

// A request that has failed may be tried again under its key, unless its change may have been made.
func TestFailuresThatAreRepeated(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		calls int
	}{
		{"refused", protocol.Errorf(protocol.NamespaceAlreadyExists, "no"), 2},
		{"out of order", &protocol.Error{Code: protocol.ServiceUnavailable}, 2},
		{"internal", context.DeadlineExceeded, 2},
		{"may have happened", &protocol.Error{Code: protocol.ServiceUnavailable, Unsettled: true}, 1},
	} {
		s := &service{err: test.err}
		h := withLedger(s)
		rq := request{path: "/v1/namespace/a/create", header: keyed("k")}
		first, second := rq.do(t, h), rq.do(t, h)
		if s.calls != test.calls || first.Code != second.Code {
			t.Errorf("%s: got %d calls, statuses %d and %d; want %d calls and the same status", test.name, s.calls, first.Code, second.Code, test.calls)
		}
		if p := decodeProblem(t, second); test.calls == 1 && p.Retryable {
			t.Errorf("%s: the problem says that it may be retried", test.name)
		}
	}
}

func TestRequestsThatAreStillBeingAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(service)
		s.do = func(context.Context) error { time.Sleep(time.Minute); return nil }
		h := withLedger(s)
		rq := request{path: "/v1/namespace/a/create", header: keyed("k")}
		go rq.do(t, h)
		synctest.Wait()
		w := rq.do(t, h)
		if p := decodeProblem(t, w); w.Code != http.StatusConflict || !p.Retryable || w.Header().Get("Retry-After") == "" {
			t.Errorf("while it is being answered: got %+v, header %v; want 409 to be retried", p, w.Header())
		}
		time.Sleep(30 * time.Second)
		if w := rq.do(t, h); w.Code != http.StatusOK || s.calls != 1 {
			t.Errorf("when it was answered soon: got status %d after %d calls, want 200 after 1", w.Code, s.calls)
		}
	})
}

// This is a model of the ledger. A request with a used key gets the first answer if its bytes are
// the same, and 422 if they are not. Every change that was answered with 200 was made.
func TestKeysStandForOneRequest(t *testing.T) {
	paths := []string{"/v1/table/t/insert", "/v1/table/t/insert?mode=overwrite", "/v1/table/t/create", "/v1/table/u/insert", "/v1/table/t/delete", "/v1/namespace/n/create"}
	rapid.Check(t, func(rt *rapid.T) {
		s := new(service)
		s.ignore = rapid.Bool().Draw(rt, "the service ignores bodies")
		h := withLedger(s)
		type sent struct{ path, body string }
		first := map[string]sent{} // by key, operation and object
		for range rapid.IntRange(1, 20).Draw(rt, "requests") {
			path := rapid.SampledFrom(paths).Draw(rt, "path")
			key := rapid.SampledFrom([]string{"k", "l"}).Draw(rt, "key")
			body := rapid.SampledFrom([]string{`{"predicate":"a"}`, `{"predicate":"b"}`, `{"predicate":"a" }`, `{"predicate":"a"}` + strings.Repeat(" ", 2000)}).Draw(rt, "body")
			target, _, _ := strings.Cut(path, "?")
			known, again := first[key+target]
			calls := s.calls
			w := request{path: path, body: body, header: keyed(key)}.do(t, h)
			switch same := known == (sent{path, body}); {
			case !again:
				first[key+target] = sent{path, body}
				if w.Code != http.StatusOK || s.calls != calls+1 {
					rt.Fatalf("the first %s under %s: got status %d after %d calls: %s", path, key, w.Code, s.calls-calls, w.Body)
				}
			case s.calls != calls:
				rt.Fatalf("%s was served again under %s", path, key)
			case same && (w.Code != http.StatusOK || w.Header().Get(replayedHeader) == ""):
				rt.Fatalf("%s again under %s: got status %d, want the first answer: %s", path, key, w.Code, w.Body)
			case !same && w.Code != http.StatusUnprocessableEntity:
				rt.Fatalf("another %s under %s: got status %d, want 422: %s", path, key, w.Code, w.Body)
			}
		}
	})
}

// While an upload is served, others wait, and are then judged by their rows.
func TestUploadsUnderOneKeyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(service)
		s.do = func(context.Context) error { time.Sleep(time.Second); return nil }
		h := withLedger(s)
		status := map[string]int{}
		go request{path: "/v1/table/t/insert", body: "first", header: keyed("k")}.do(t, h)
		synctest.Wait()
		for _, body := range []string{"first", "other"} {
			w := request{path: "/v1/table/t/insert", body: body, header: keyed("k")}.do(t, h)
			status[body] = w.Code
		}
		if status["first"] != 200 || status["other"] != 422 || s.calls != 1 {
			t.Errorf("got statuses %v after %d calls, want 200 and 422 after one", status, s.calls)
		}
	})
}
