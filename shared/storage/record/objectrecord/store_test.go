package objectrecord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/recordtest"
)

func TestStoreInMemory(t *testing.T) {
	recordtest.Run(t, func(_ *testing.T, now func() time.Time) record.Store { return Open(memstore.New(), now) })
}

func TestStoreInDirectory(t *testing.T) {
	recordtest.Run(t, func(t *testing.T, now func() time.Time) record.Store {
		objects, err := diskstore.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return Open(objects, now)
	})
}

func on(key string, n int) record.Record {
	return record.Record{Key: key, Value: json.RawMessage(fmt.Sprint(n))}
}

// An answer that is lost does not make a write happen twice, nor a winner a loser.
func TestLostAnswers(t *testing.T) {
	for lost := 1; lost <= maxAttempts-1; lost++ {
		for _, replace := range []bool{false, true} {
			objects := faultstore.New(memstore.New(), nil)
			s := Open(objects, time.Now)
			r := on("f/a", 1)
			if replace {
				var err error
				if r.Version, err = s.Put(t.Context(), on("f/a", 0)); err != nil {
					t.Fatal(err)
				}
			}
			objects.Reset()
			objects.Inject(func(c faultstore.Call) faultstore.Fault {
				return faultstore.Fault{Lost: c.Kind != faultstore.Get && c.N <= lost}
			})
			version, err := s.Put(t.Context(), r)
			if err != nil {
				t.Fatalf("%d answers lost, replace %v: got %v, want success", lost, replace, err)
			}
			got, err := s.Get(t.Context(), "f/a")
			if err != nil || string(got.Value) != "1" || got.Version != version {
				t.Errorf("%d answers lost, replace %v: got %s at %q, %v; want 1 at %q", lost, replace, got.Value, got.Version, err, version)
			}
		}
	}
}

func TestLostAnswersOfLosers(t *testing.T) {
	objects := faultstore.New(memstore.New(), nil)
	s := Open(objects, time.Now)
	first, err := s.Put(t.Context(), on("f/a", 0))
	if err != nil {
		t.Fatal(err)
	}
	other := on("f/a", 1)
	other.Version = first
	if _, err := s.Put(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	objects.Reset()
	objects.Inject(func(c faultstore.Call) faultstore.Fault { return faultstore.Fault{Lost: c.N == 1} })
	late := on("f/a", 2)
	late.Version = first
	if _, err := s.Put(t.Context(), late); !errors.Is(err, record.ErrConflict) {
		t.Errorf("a lost answer of a write that lost: got %v, want ErrConflict", err)
	}
}

// A write with a lost answer counts as successful even if another write has replaced it.
func TestLostAnswerOfAWriteThatWasFollowed(t *testing.T) {
	inner := memstore.New()
	objects := faultstore.New(inner, nil)
	s, others := Open(objects, time.Now), Open(inner, time.Now)
	objects.Inject(func(c faultstore.Call) faultstore.Fault {
		if c.N != 2 {
			return faultstore.Fault{Lost: c.N == 1}
		}
		return faultstore.Fault{Wait: func(ctx context.Context) error {
			next, err := others.Get(ctx, "f/a")
			if err == nil {
				_, err = others.Put(ctx, next)
			}
			return err
		}}
	})
	version, err := s.Put(t.Context(), on("f/a", 1))
	if err != nil {
		t.Fatalf("got %v, want success", err)
	}
	objects.Inject(nil)
	r := on("f/a", 2)
	r.Version = version
	if _, err := s.Put(t.Context(), r); !errors.Is(err, record.ErrConflict) {
		t.Errorf("replacing a version that was followed: got %v, want ErrConflict", err)
	}
}

func TestAnswersThatStayLost(t *testing.T) {
	objects := faultstore.New(memstore.New(), func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Lost: true} })
	if _, err := Open(objects, time.Now).Put(t.Context(), on("f/a", 1)); !errors.Is(err, record.ErrUnknownOutcome) {
		t.Errorf("got %v, want ErrUnknownOutcome", err)
	}
}

func TestSweepDeletesWhatHasExpired(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	objects := memstore.New()
	s := Open(objects, clock)
	for i := range 20 {
		r := on(fmt.Sprintf("once/%d/r", i), i)
		r.Expires = now.Add(time.Duration(i+1) * time.Minute)
		if _, err := s.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), on("job/stays", 1)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(10 * time.Minute)
	for _, want := range []int{10, 0} {
		deleted, err := record.Sweep(t.Context(), s, time.Minute)
		if err != nil || deleted != want {
			t.Errorf("Sweep: got %d, %v; want %d", deleted, err, want)
		}
	}
	left, err := objects.List(t.Context(), objectstore.ListOptions{})
	if err != nil || len(left.Objects) != 11 {
		t.Errorf("%d objects are left, %v; want 11", len(left.Objects), err)
	}
}
