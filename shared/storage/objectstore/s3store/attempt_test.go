package s3store

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
)

func answerOf(status int, code string) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code},
	}}
}

// Requests to a failing store are retried until shortly before the deadline, so that the client receives an
// error, and for half a minute without a deadline.
func TestAttemptsEndBeforeTheDeadline(t *testing.T) {
	refused := func(context.Context) error {
		return &smithyhttp.RequestSendError{Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	}
	slow := func(context.Context) error { return answerOf(503, "SlowDown") }
	silent := func(ctx context.Context) error {
		<-ctx.Done()
		return &smithyhttp.RequestSendError{Err: ctx.Err()}
	}
	for _, c := range []struct {
		name        string
		answer      func(context.Context) error
		kind        kind
		bytes       int64
		deadline    time.Duration
		least, most int // requests
		want        string
	}{
		{"slow down, read", slow, reads, 0, 28 * time.Second, 12, 40, "outage"},
		{"slow down, write", slow, writes, 0, 28 * time.Second, 12, 40, "unknown, outage"},
		{"slow down, no deadline", slow, reads, 0, 0, 12, 40, "outage"},
		{"refused, read", refused, reads, 0, 28 * time.Second, 12, 40, "outage"},
		{"refused, write", refused, writes, 0, 28 * time.Second, 12, 40, "outage"},
		{"silent, small read", silent, reads, smallBytes - 1, 40 * time.Second, 8, 10, "outage"}, // limits of 2, 4, 8 and 10 seconds, two each
		{"silent, large read", silent, reads, smallBytes, 35 * time.Second, 3, 3, "outage"},
		{"silent, work", silent, works, 0, 35 * time.Second, 3, 3, "unknown, outage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Store{pace: usualPace, log: slog.New(slog.DiscardHandler), server: new(server)}
				ctx, cancel := context.WithCancel(t.Context())
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.deadline)
				}
				defer cancel()
				began, sent := time.Now(), atomic.Int64{}
				_, err := write(ctx, s, request{"r", "k", c.bytes, c.kind}, always, func(ctx context.Context) (any, error) {
					sent.Add(1)
					return nil, c.answer(ctx)
				})
				if c.kind == reads && outage.Of(err) != nil {
					err = outage.Of(err) // the error of a read
				}
				if got := sentinels(err); got != c.want || ctx.Err() != nil {
					t.Errorf("got %v (%s), deadline passed: %v; want %s before the deadline", err, got, ctx.Err(), c.want)
				}
				if n := int(sent.Load()); n < c.least || n > c.most || time.Since(began) > 45*time.Second {
					t.Errorf("%d requests in %v, want %d to %d", n, time.Since(began), c.least, c.most)
				}
			})
		})
	}
}

// A small request is sent once more after a second, and a large one is not: its answer may be on its way.
func TestSlowRequestsAreSentOnceMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int64 // of the request
		large bool  // the answer turns out to be
		took  time.Duration
	}{
		{"small", 0, false, time.Second},
		{"large", smallBytes, false, 9 * time.Second},
		{"large answer", 0, true, 9 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Store{pace: usualPace, log: slog.New(slog.DiscardHandler), server: new(server)}
				began, sent := time.Now(), atomic.Int64{}
				got, err := read(t.Context(), s, "r", "k", c.bytes, func(ctx context.Context, a *attempt) (int64, error) {
					n := sent.Add(1)
					if n > 1 {
						return n, nil
					}
					if c.large {
						a.expect(smallBytes)
					}
					select {
					case <-time.After(9 * time.Second):
						return n, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				if want := map[bool]int64{true: 2, false: 1}[c.took == time.Second]; err != nil || got != want || time.Since(began) != c.took {
					t.Errorf("got the answer of request %d, %v after %v; want %d after %v", got, err, time.Since(began), want, c.took)
				}
			})
		})
	}
}

// A write whose outcome might not be known at the deadline is not begun.
func TestWritesAreNotBegunAtTheLastMoment(t *testing.T) {
	server, store, _ := newServer(t)
	server.objects["k"] = "old"
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	for name, do := range map[string]func() error{
		"put":    func() error { _, err := store.Put(ctx, "k", nil, ifOld); return err },
		"delete": func() error { return store.Delete(ctx, "k", always) },
	} {
		if err := do(); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, objectstore.ErrUnknownOutcome) {
			t.Errorf("%s: got %v, want an error of the deadline", name, err)
		}
	}
	if requests, _, _, _ := server.state(); len(requests) > 0 {
		t.Errorf("got requests %q", requests)
	}
}

// Some servers answer 500 to names that they cannot hold. A client learns it soon.
func TestNamesThatAreTooLongAreNotSentManyTimes(t *testing.T) {
	for name, want := range map[string]int{strings.Repeat("n", longName): 40, strings.Repeat("n", longName+1): longNameAttempts} {
		server, store, _ := newServer(t)
		store.server.isS3, store.pace.attempts, store.pace.longest = false, 40, time.Millisecond
		server.always = &fault{status: 500, code: "InternalError"}
		if _, err := store.Put(t.Context(), "t/"+name, nil, objectstore.Condition{}); err == nil {
			t.Error("a put succeeded")
		}
		if requests, _, _, _ := server.state(); len(requests) != want {
			t.Errorf("%d attempts at a name of %d bytes, want %d", len(requests), len(name), want)
		}
	}
}
