package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tiltyard/shared/objectstore"
)

const (
	racers = 64
	rounds = 20
)

// race starts n goroutines together and waits for them.
func race(n int, run func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			run(i)
		})
	}
	start.Done()
	done.Wait()
}

func racingPutIfAbsent(t *testing.T, s objectstore.Store) {
	for round := range rounds {
		key := fmt.Sprintf("round/%d/k", round)
		var wins atomic.Int64
		var winner atomic.Value
		race(racers, func(i int) {
			value := strings.Repeat(strconv.Itoa(i)+",", 1000)
			_, err := s.Put(t.Context(), key, []byte(value), ifAbsent)
			switch {
			case err == nil:
				wins.Add(1)
				winner.Store(value)
			case !errors.Is(err, objectstore.ErrPrecondition):
				t.Errorf("losing Put: got %v, want ErrPrecondition", err)
			}
		})
		if wins.Load() != 1 {
			t.Fatalf("round %d: got %d winners, want 1", round, wins.Load())
		}
		mustGet(t, s, key, winner.Load().(string))
	}
}

func racingPutIfMatch(t *testing.T, s objectstore.Store) {
	const each = 2
	mustPut(t, s, "counter", "0")
	race(racers, func(int) {
		for range each {
			if err := increment(t.Context(), s, "counter"); err != nil {
				t.Errorf("increment: %v", err)
			}
		}
	})
	mustGet(t, s, "counter", strconv.Itoa(racers*each))
}

// increment adds one to the number in the object key, with as many tries as it needs.
func increment(ctx context.Context, s objectstore.Store, key string) error {
	for {
		data, info, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return err
		}
		_, err = s.Put(ctx, key, []byte(strconv.Itoa(n+1)), ifMatch(info.ETag))
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return err
		}
	}
}

// If one delete-if-match and many put-if-match race for the same ETag, exactly one wins.
func racingDeleteIfMatch(t *testing.T, s objectstore.Store) {
	for round := range rounds {
		etag := mustPut(t, s, "d/k", "start").ETag
		var wins, deletes atomic.Int64
		race(racers/4, func(i int) {
			var err error
			if i%2 == 0 {
				err = s.Delete(t.Context(), "d/k", ifMatch(etag))
			} else {
				_, err = s.Put(t.Context(), "d/k", []byte("won"), ifMatch(etag))
			}
			switch {
			case err == nil:
				wins.Add(1)
				deletes.Add(int64(1 - i%2))
			case !errors.Is(err, objectstore.ErrPrecondition):
				t.Errorf("losing call: got %v, want ErrPrecondition", err)
			}
		})
		if wins.Load() != 1 {
			t.Fatalf("round %d: got %d winners, want 1", round, wins.Load())
		}
		if deletes.Load() == 1 {
			wantAbsent(t, s, "d/k")
		} else {
			mustGet(t, s, "d/k", "won")
		}
	}
}

// A store with folders removes empty ones while other writers put objects into them.
func racingPutsAndDeletesOfSiblings(t *testing.T, s objectstore.Store) {
	race(16, func(i int) {
		key := fmt.Sprintf("a/b/c/%d", i)
		for round := range rounds {
			cond := always
			if round%2 == 0 {
				cond = ifAbsent
			}
			if _, err := s.Put(t.Context(), key, []byte(key), cond); err != nil {
				t.Errorf("Put(%q): got %v, want nil", key, err)
				return
			}
			if data, _, err := s.Get(t.Context(), key); err != nil || string(data) != key {
				t.Errorf("Get(%q): got %q, %v, want %q", key, data, err, key)
			}
			if err := s.Delete(t.Context(), key, always); err != nil {
				t.Errorf("Delete(%q): got %v, want nil", key, err)
			}
		}
	})
	if keys := keysOf(t, s, ""); len(keys) > 0 {
		t.Errorf("List: got %q, want nothing", keys)
	}
}

func readersSeeWholeObjects(t *testing.T, s objectstore.Store) {
	value := func(i int) string { return strings.Repeat(strconv.Itoa(i%10), 1000+100*(i%10)) }
	mustPut(t, s, "k", value(0))
	race(8, func(i int) {
		for n := range 100 {
			if i < 2 {
				if _, err := s.Put(t.Context(), "k", []byte(value(n)), always); err != nil {
					t.Errorf("Put: got %v, want nil", err)
				}
				continue
			}
			data, info, err := s.Get(t.Context(), "k")
			if err != nil || len(data) == 0 || string(data) != value(int(data[0]-'0')) || info.Size != int64(len(data)) {
				t.Errorf("Get: got %d bytes, %+v, %v, want one whole value", len(data), info, err)
			}
			parts, _, err := s.GetRanges(t.Context(), "k", objectstore.Range{Length: 1}, objectstore.Range{Offset: -1})
			if err != nil || parts[0][0] != parts[1][0] {
				t.Errorf("GetRanges: got %q, %v, want two bytes of one value", parts, err)
			}
		}
	})
}
