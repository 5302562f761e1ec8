package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/protocol/tableapi"
)

// A script answers requests one after the other, without a connection.
type script struct {
	answers []answer
	version string // the answer to GET /version; empty: 404

	mu     sync.Mutex // guards what follows: parts are sent side by side
	seen   []*http.Request
	bodies []string
}

// An answer is one of a script: an error of the transport, or a response.
type answer struct {
	err        error
	status     int
	body       string
	retryAfter string
}

// RoundTrip gives the next answer.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	if r.URL.Path == "/version" {
		if s.version == "" {
			return respond(r, answer{status: 404}), nil
		}
		return respond(r, answer{status: 200, body: s.version}), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.bodies = append(s.seen, r), append(s.bodies, body)
	next := s.answers[min(len(s.seen), len(s.answers))-1]
	if next.err != nil {
		return nil, next.err
	}
	return respond(r, next), nil
}

func respond(r *http.Request, a answer) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	if a.retryAfter != "" {
		header.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status, Request: r,
		Header: header, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
}

func scripted(t *testing.T, s *script) *client.Client {
	t.Helper()
	c, err := client.New("http://server", client.Options{Token: "t", Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	noConnection = answer{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	brokeOff     = answer{err: &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}}
	fine         = answer{status: 200, body: `{"version":2}`}
	conflict     = answer{status: 409, body: `{"error":"x","code":14,"retryable":true}`}
	unsure       = answer{status: 503, body: `{"error":"x","code":17,"retryable":false}`}
	plain503     = answer{status: 503, body: `busy`}
	throttled    = answer{status: 429, body: `{"error":"x","code":21}`}
	overfull     = answer{status: 429, body: `{"error":"x","code":21,"retryable":false}`}
	taken        = answer{status: 409, body: `{"error":"x","code":5,"retryable":false}`}
	internal     = answer{status: 500, body: `{"error":"x","code":18,"retryable":false}`}
	garbled      = answer{status: 200, body: `{"version":`}
)

func TestRetryRepeatsRequestsThatMayBeRepeated(t *testing.T) {
	const keyed, foreign = `{"version":"1","specification":"0.13","idempotency_keys":true}`, ""
	read := func(ctx context.Context, c *client.Client) error {
		_, err := c.DescribeTable(ctx, &tableapi.DescribeRequest{Common: client.ID("t")})
		return err
	}
	write := func(ctx context.Context, c *client.Client) error {
		_, err := c.DropTable(ctx, &tableapi.DropRequest{Common: client.ID("t")})
		return err
	}
	upload := func(ctx context.Context, c *client.Client) error {
		_, err := c.InsertIntoTable(ctx, &dataapi.InsertRequest{Common: client.ID("t")}, client.Batches(pointSchema, points(1)))
		return err
	}
	once := func(ctx context.Context, c *client.Client) error {
		reader, err := array.NewRecordReader(pointSchema, []arrow.RecordBatch{points(1)})
		if err != nil {
			return err
		}
		_, err = c.InsertIntoTable(ctx, &dataapi.InsertRequest{Common: client.ID("t")}, client.FromReader(reader))
		return err
	}
	secret := func(ctx context.Context, c *client.Client) error {
		return c.CreateSecret(ctx, &secretapi.WriteRequest{Request: secretapi.Request{Common: client.ID("s")}, Value: "v"})
	}
	cases := []struct {
		name    string
		do      func(context.Context, *client.Client) error
		version string
		first   answer
		want    bool // it is sent again
	}{
		{"read, no connection", read, foreign, noConnection, true},
		{"read, broken off", read, foreign, brokeOff, true},
		{"read, 503", read, foreign, plain503, true},
		{"read, conflict", read, foreign, conflict, true},
		{"read, internal", read, foreign, internal, false},
		{"read, garbled", read, foreign, garbled, false},
		{"read, taken", read, foreign, taken, false},
		{"write, no connection", write, foreign, noConnection, true},
		{"write, throttled", write, foreign, throttled, true},
		{"write, beyond a quota that does not refill", write, keyed, overfull, false},
		{"write, conflict", write, foreign, conflict, true},
		{"write, taken", write, keyed, taken, false},
		{"write, internal", write, keyed, internal, false},
		{"write to a stranger, broken off", write, foreign, brokeOff, false},
		{"write to a stranger, 503", write, foreign, plain503, false},
		{"write, broken off", write, keyed, brokeOff, true},
		{"write, 503 of a proxy", write, keyed, plain503, true},
		{"write, unsure", write, keyed, unsure, true},
		{"write to a stranger, unsure", write, foreign, unsure, false},
		{"upload, broken off", upload, keyed, brokeOff, true},
		{"upload, conflict", upload, foreign, conflict, true},
		{"upload to a stranger, broken off", upload, foreign, brokeOff, false},
		{"rows that can be read once, conflict", once, keyed, conflict, false},
		{"secret, broken off", secret, keyed, brokeOff, false},
		{"secret, no connection", secret, keyed, noConnection, true},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{test.first, fine}, version: test.version}
				err := test.do(t.Context(), scripted(t, s))
				if got := len(s.seen) == 2; got != test.want || (err == nil) != test.want {
					t.Fatalf("sent %d times, error %v; want a repetition: %v", len(s.seen), err, test.want)
				}
				if !test.want {
					return
				}
				keys := []string{s.seen[0].Header.Get("Idempotency-Key"), s.seen[1].Header.Get("Idempotency-Key")}
				if keys[0] != keys[1] || s.bodies[0] != s.bodies[1] {
					t.Errorf("keys %q and bodies of %d and %d bytes, want the same twice", keys, len(s.bodies[0]), len(s.bodies[1]))
				}
				if isWrite := !strings.HasPrefix(test.name, "read"); (keys[0] != "") != isWrite {
					t.Errorf("the key is %q; only writes have one", keys[0])
				}
			})
		})
	}
}

func TestRepetitionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{conflict}}
		began := time.Now()
		_, err := scripted(t, s).DropTable(t.Context(), &tableapi.DropRequest{Common: client.ID("t")})
		if !errors.Is(err, protocol.ConcurrentModification) || len(s.seen) != 5 {
			t.Errorf("%v after %d tries, want the conflict after 5", err, len(s.seen))
		}
		if took := time.Since(began); took < 3750*time.Millisecond || took > 6*time.Second {
			t.Errorf("it took %v, want 3.75 s and up to half of it more", took)
		}
	})
}

func TestRetryWaitsAsLongAsTheServerSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{{status: 429, body: throttled.body, retryAfter: "7"}, fine}}
		began := time.Now()
		if _, err := scripted(t, s).DropTable(t.Context(), &tableapi.DropRequest{Common: client.ID("t")}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 7*time.Second {
			t.Errorf("it came back after %v, want 7 s", took)
		}
	})
}

func TestRetriesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &script{answers: []answer{brokeOff}}
		_, err := scripted(t, s).DescribeTable(ctx, &tableapi.DescribeRequest{Common: client.ID("t")})
		if err == nil || len(s.seen) == 0 || len(s.seen) > 3 {
			t.Errorf("%v after %d tries, want an error after at most 3", err, len(s.seen))
		}
		if text := s.seen[0].Header.Get("X-Request-Timeout-Ms"); text != "1000" {
			t.Errorf("the server is told %q ms, want 1000", text)
		}
	})
}

func TestWriteWhoseAnswerIsLostHappensOnce(t *testing.T) {
	var lose atomic.Int32
	c := openBehind(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if lose.Load() > 0 && r.URL.Path != "/version" {
				lose.Add(-1)
				next.ServeHTTP(&discard{}, r)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	createPoints(t, c, "t", 1)
	lose.Store(1)
	_, err := c.InsertIntoTable(t.Context(), &dataapi.InsertRequest{Common: client.ID("t")}, client.Batches(pointSchema, points(2, 3)))
	if err != nil {
		t.Fatal(err)
	}
	lose.Store(1)
	if _, err := c.UpdateTable(t.Context(), &dataapi.UpdateRequest{Common: client.ID("t"), Updates: [][]string{{"id", "id + 10"}}}); err != nil {
		t.Fatal(err)
	}
	rows := ok[*client.Rows](t)(c.QueryTable(t.Context(), &queryapi.Request{Common: client.ID("t")}))
	ids := strings.Fields(idsOf(t, rows))
	slices.Sort(ids)
	if got := strings.Join(ids, " "); got != "11 12 13" || lose.Load() != 0 {
		t.Errorf("ids are %s, want each change once: 11 12 13", got)
	}
}

// discard is an answer that nobody gets.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func TestTokensGoToOneServer(t *testing.T) {
	s := &script{answers: []answer{{status: 307, body: ""}}}
	_, err := scripted(t, s).DescribeTable(t.Context(), &tableapi.DescribeRequest{Common: client.ID("t")})
	if err == nil || len(s.seen) != 1 || s.seen[0].Header.Get("Authorization") != "Bearer t" {
		t.Errorf("%v after %d requests, want an error after one", err, len(s.seen))
	}
}

// The public specification requires vector and k of each query.
func TestQueriesAreComplete(t *testing.T) {
	vector := queryapi.Vector{Vectors: [][]float64{{1}}}
	for _, test := range []struct {
		req  queryapi.Request
		want string
	}{
		{queryapi.Request{}, `{"id":["t"],"k":0,"vector":{}}`},
		{queryapi.Request{K: new(int64(3))}, `{"id":["t"],"k":3,"vector":{}}`},
		{queryapi.Request{Vector: vector}, `{"id":["t"],"k":10,"vector":{"single_vector":[1]}}`},
	} {
		s := &script{answers: []answer{taken}}
		test.req.ID = []string{"t"}
		_, err := scripted(t, s).QueryTable(t.Context(), &test.req)
		if err == nil || len(s.bodies) != 1 || s.bodies[0] != test.want {
			t.Errorf("%+v is sent as %q, %v; want %s", test.req, s.bodies, err, test.want)
		}
	}
}
