package faultstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) objectstore.Store { return faultstore.New(memstore.New(), nil) })
}

func TestCountsAndLog(t *testing.T) {
	ctx := t.Context()
	s := faultstore.New(memstore.New(), nil)
	put := func(key, value string, cond objectstore.Condition) objectstore.Info {
		info, err := s.Put(ctx, key, []byte(value), cond)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	put("before", "not counted", objectstore.Condition{})
	s.Reset()

	info := put("a", "12345", objectstore.Condition{IfAbsent: true})
	put("a", "123456", objectstore.Condition{IfMatch: info.ETag})
	_, _, _ = s.Get(ctx, "a")
	_, _, _ = s.Get(ctx, "missing")
	_, _, _ = s.GetRanges(ctx, "a", objectstore.Range{Offset: -4}, objectstore.Range{Offset: 1, Length: 2})
	_, _, _ = s.GetRanges(ctx, "a")
	_, _ = s.List(ctx, objectstore.ListOptions{Prefix: "p/", StartAfter: "p/x", Delimiter: "/", Limit: 3})
	_ = s.Delete(ctx, "a", objectstore.Condition{})
	w, err := s.Create(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("streamed"))
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}

	want := faultstore.Counts{
		Requests: 10,
		Depth:    9,
		ByKind: map[faultstore.Kind]int{
			faultstore.PutIfAbsent: 1, faultstore.PutIfMatch: 1, faultstore.Get: 2, faultstore.Range: 2,
			faultstore.Head: 1, faultstore.List: 1, faultstore.Delete: 1, faultstore.Upload: 1,
		},
		ReadBytes:    6 + 4 + 2,
		WrittenBytes: 5 + 6 + 8,
		Log: []string{
			"PUT a if-absent", "PUT a if-match", "GET a", "GET missing", "RANGE a -4", "RANGE a 1+2", "HEAD a",
			"LIST p/ after p/x delimiter / limit 3", "DELETE a", "UPLOAD w",
		},
	}
	if diff := cmp.Diff(want, s.Snapshot()); diff != "" {
		t.Errorf("Snapshot (-want +got):\n%s", diff)
	}
	s.Reset()
	if got := s.Snapshot(); got.Requests != 0 || got.Depth != 0 || len(got.Log) != 0 {
		t.Errorf("Snapshot after Reset: got %+v, want nothing", got)
	}
}

func TestDepthIsExactInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := faultstore.New(memstore.New(), faultstore.Latency(time.Millisecond))
		for range 3 { // three round trips of ten requests each
			var group sync.WaitGroup
			for i := range 10 {
				group.Go(func() { _, _, _ = s.GetRanges(t.Context(), fmt.Sprint(i)) })
			}
			group.Wait()
		}
		if got := s.Snapshot(); got.Requests != 30 || got.Depth != 3 {
			t.Errorf("Snapshot: got %d requests, %d deep, want 30, 3 deep", got.Requests, got.Depth)
		}
	})
}

// on faults the n-th call.
func on(n int, f faultstore.Fault) func(faultstore.Call) faultstore.Fault {
	return func(c faultstore.Call) faultstore.Fault {
		if c.N == n {
			return f
		}
		return faultstore.Fault{}
	}
}

func TestFaultLeavesItsWriteDoneOrNotDone(t *testing.T) {
	broken := errors.New("broken")
	cases := []struct {
		name    string
		fault   faultstore.Fault
		want    error
		applied bool
		after   error // of the call that follows
	}{
		{"none", faultstore.Fault{}, nil, true, nil},
		{"error before", faultstore.Fault{Err: broken}, broken, false, nil},
		{"lost answer", faultstore.Fault{Lost: true}, objectstore.ErrUnknownOutcome, true, nil},
		{"crash before", faultstore.Fault{Crash: true}, faultstore.ErrCrashed, false, faultstore.ErrCrashed},
		{"crash after", faultstore.Fault{Lost: true, Crash: true}, faultstore.ErrCrashed, true, faultstore.ErrCrashed},
		{"wait", faultstore.Fault{Wait: func(context.Context) error { return nil }}, nil, true, nil},
		{"wait in vain", faultstore.Fault{Wait: func(context.Context) error { return broken }}, broken, false, nil},
	}
	writes := map[string]func(context.Context, objectstore.Store) error{
		"put": func(ctx context.Context, s objectstore.Store) error {
			_, err := s.Put(ctx, "k", []byte("new"), objectstore.Condition{})
			return err
		},
		"upload": func(ctx context.Context, s objectstore.Store) error {
			w, err := s.Create(ctx, "k")
			if err != nil {
				return err
			}
			if _, err := w.Write([]byte("new")); err != nil {
				return err
			}
			_, err = w.Commit()
			return err
		},
		"delete": func(ctx context.Context, s objectstore.Store) error {
			return s.Delete(ctx, "k", objectstore.Condition{})
		},
	}
	for _, c := range cases {
		for name, write := range writes {
			t.Run(name+" "+c.name, func(t *testing.T) {
				inner := memstore.New()
				s := faultstore.New(inner, nil)
				if _, err := s.Put(t.Context(), "k", []byte("old"), objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
				s.Reset()
				s.Inject(on(1, c.fault))
				if err := write(t.Context(), s); !errors.Is(err, c.want) {
					t.Errorf("the call: got %v, want %v", err, c.want)
				}
				data, _, _ := inner.Get(t.Context(), "k")
				if applied := string(data) != "old"; applied != c.applied {
					t.Errorf("the inner store holds %q: got applied %v, want %v", data, applied, c.applied)
				}
				if _, err := s.List(t.Context(), objectstore.ListOptions{}); !errors.Is(err, c.after) {
					t.Errorf("the next call: got %v, want %v", err, c.after)
				}
			})
		}
	}
}

func TestLostAnswerOfLostRaceIsUnknown(t *testing.T) {
	s := faultstore.New(memstore.New(), on(2, faultstore.Fault{Lost: true}))
	for i, want := range []error{nil, objectstore.ErrUnknownOutcome, objectstore.ErrPrecondition} {
		_, err := s.Put(t.Context(), "k", []byte("x"), objectstore.Condition{IfAbsent: true})
		if !errors.Is(err, want) {
			t.Errorf("put %d: got %v, want %v", i+1, err, want)
		}
	}
}

func TestLostReadIsAnError(t *testing.T) {
	s := faultstore.New(memstore.New(), func(c faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Lost: c.Kind == faultstore.Get && strings.HasPrefix(c.Key, "t/")}
	})
	if _, err := s.Put(t.Context(), "t/k", []byte("x"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if data, _, err := s.Get(t.Context(), "t/k"); err == nil || errors.Is(err, objectstore.ErrNotExist) || data != nil {
		t.Errorf("Get: got %q, %v, want a plain error", data, err)
	}
}
