package forward_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/events/outbox"
	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

// announced writes events to the log of a store, one entry for each.
func announced(t *testing.T, objects objectstore.Store, from, to int) {
	t.Helper()
	box := &outbox.Outbox{Log: outbox.OpenLog(objects, time.Now), Records: objectrecord.Open(objects, time.Now), Now: time.Now, Source: "urn:test"}
	for n := from; n < to; n++ {
		_, err := box.Announce(t.Context(), fmt.Sprintf("event-mark/o%d", n), func(json.RawMessage) (outbox.News, error) {
			return outbox.News{Mark: n, Events: []eventapi.Event{{
				ID: fmt.Sprint(n), Type: eventapi.TableCommitted, Subject: "t", Data: eventapi.Data{ID: []string{"t"}, Version: int64(n)},
			}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// taking is a target that notes what it takes.
type taking struct {
	ids  []string
	fail func() error
}

func (k *taking) Send(_ context.Context, events []eventapi.Event) error {
	if k.fail != nil {
		if err := k.fail(); err != nil {
			return err
		}
	}
	for _, e := range events {
		k.ids = append(k.ids, e.ID)
	}
	return nil
}

func forwarder(objects objectstore.Store, now func() time.Time, target forward.Target) *forward.Forwarder {
	return &forward.Forwarder{
		Log: outbox.OpenLog(objects, now), Records: objectrecord.Open(objects, now), Now: now,
		Logger: slog.New(slog.DiscardHandler), Target: target, Address: "test",
	}
}

// until forwards until there is nothing more.
func until(t *testing.T, f *forward.Forwarder) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, _, err = f.Forward(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A process dies at each of its requests, before it or before the answer. The next one forwards what the target may
// not have: it gets each event, and none before an earlier one.
func TestForwarderSkipsNoEventAfterACrash(t *testing.T) {
	const events = 250 // three pages
	for n, crashed := 1, true; crashed; n++ {
		for _, after := range []bool{false, true} {
			inner, target := memstore.New(), new(taking)
			announced(t, inner, 0, events)
			f := forwarder(faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				switch {
				case call.N < n:
					return faultstore.Fault{}
				case call.N == n && after:
					return faultstore.Fault{Lost: true}
				}
				return faultstore.Fault{Err: errors.New("the process has crashed")}
			}), time.Now, target)
			crashed = false
			for more := true; more && !crashed; {
				var err error
				more, _, err = f.Forward(t.Context())
				crashed = err != nil
			}
			until(t, forwarder(inner, time.Now, target))
			seen := map[string]bool{}
			for _, id := range target.ids {
				if n := len(seen); !seen[id] && id != fmt.Sprint(n) {
					t.Fatalf("crash at %d: %s comes before %d", n, id, n)
				}
				seen[id] = true
			}
			if len(seen) != events || !crashed && len(target.ids) != events {
				t.Fatalf("crash at %d: the target has %d of %d events, in %d", n, len(seen), events, len(target.ids))
			}
		}
		if n > 20 {
			n += 40 // the reads of a page are alike
		}
	}
}

// A target that fails is asked again after pauses that grow, by the one who met the failure and by no other. What
// waited is sent first.
func TestForwarderSendsAllOnceTheTargetRecovers(t *testing.T) {
	objects, now := memstore.New(), time.Now()
	clock := func() time.Time { return now }
	announced(t, objects, 0, 3)
	target := &taking{fail: func() error { return errors.New("out of order") }}
	f := forwarder(objects, clock, target)
	for _, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		more, retry, err := f.Forward(t.Context())
		if err != nil || more || retry != want {
			t.Fatalf("got %v, %v, %v; want a pause of %v", more, retry, err, want)
		}
		if more, retry, err := forwarder(objects, clock, target).Forward(t.Context()); more || retry != 0 || err != nil {
			t.Fatalf("another process: got %v, %v, %v; want that it leaves it", more, retry, err)
		}
		now = now.Add(want)
	}
	target.fail = nil
	announced(t, objects, 3, 5)
	until(t, f)
	if want := []string{"0", "1", "2", "3", "4"}; !slices.Equal(target.ids, want) {
		t.Errorf("got %v, want %v", target.ids, want)
	}
}

// Events that were deleted before they could be sent are missing, and the others follow.
func TestDeletedEventsAreReported(t *testing.T) {
	objects, now := memstore.New(), time.Now()
	clock := func() time.Time { return now }
	announced(t, objects, 0, 2)
	target := new(taking)
	f := forwarder(objects, clock, target)
	var log strings.Builder
	f.Logger = slog.New(slog.NewTextHandler(&log, nil))
	until(t, f)
	announced(t, objects, 2, 5)
	now = now.Add(2 * outbox.MinRetention)
	box := &outbox.Outbox{Log: outbox.OpenLog(objects, clock), Records: objectrecord.Open(objects, clock), Now: clock, Source: "urn:test"}
	if _, err := box.Expire(t.Context(), 0, 3); err != nil {
		t.Fatal(err)
	}
	until(t, f)
	if want := []string{"0", "1", "3", "4"}; !slices.Equal(target.ids, want) || !strings.Contains(log.String(), "deleted before") {
		t.Errorf("got %v, want %v, and a line in the log: %s", target.ids, want, log.String())
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"arn:aws:sqs:eu-central-1:123456789012:events":               forward.SQS,
		"arn:aws-cn:sqs:cn-north-1:123456789012:events.fifo":         forward.SQS,
		"arn:aws:events:eu-central-1:123456789012:event-bus/default": forward.EventBridge,
		"https://example.com/hook":                                   forward.Webhook,
		"http://127.0.0.1:1/hook":                                    forward.Webhook,
		"http://localhost/hook":                                      forward.Webhook,
		"http://example.com/hook":                                    "",
		"http://169.254.169.254/latest":                              "",
		"https://user:secret@example.com/":                           "",
		"https://example.com/?token=1":                               "",
		"arn:aws:sqs:eu-central-1:123456789012:a/b":                  "",
		"arn:aws:lambda:eu-central-1:123456789012:function:f":        "",
		"": "", "ftp://example.com": "", "https://": "",
	} {
		got, err := forward.ParseAddress(text)
		if got.Kind != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %+v, %v; want %q", text, got, err, want)
		}
	}
}
