package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// rounds is the number of repetitions of a race. Some servers let the losers of one wait for seconds.
func rounds() int {
	if testing.Short() {
		return 5
	}
	return 20
}

// A contest is a race of conditional writes to one object.
type contest struct {
	racers int
	// exact means that each loser gets ErrPrecondition. Otherwise some losers may get ErrUnknownOutcome,
	// and must read the object to learn the winner.
	exact bool
}

// lost reports whether err is a valid error for the loser of a contest.
func (c contest) lost(err error) bool {
	return errors.Is(err, objectstore.ErrPrecondition) || !c.exact && errors.Is(err, objectstore.ErrUnknownOutcome)
}

// A podium collects the results of a contest.
type podium struct {
	mu      sync.Mutex
	winners []int
	unsure  []int // racers with an unknown outcome
}

// add notes the result of a racer.
func (p *podium) add(t *testing.T, c contest, racer int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.winners = append(p.winners, racer)
	case !c.lost(err):
		t.Errorf("losing call: got %v, want ErrPrecondition", err)
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		p.unsure = append(p.unsure, racer)
	}
}

// check fails unless exactly one racer has won, possibly an unsure one, and the store's object is the
// winner's.
func (p *podium) check(t *testing.T, round, named int) {
	t.Helper()
	won := len(p.winners) == 1 && p.winners[0] == named
	if !won && (len(p.winners) > 0 || !slices.Contains(p.unsure, named)) {
		t.Fatalf("round %d: the store has the object of racer %d; winners are %d, unsure are %d; want one winner", round, named, p.winners, p.unsure)
	}
}

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

func (c contest) putIfAbsent(t *testing.T, s objectstore.Store) {
	for round := range rounds() {
		key := fmt.Sprintf("round/%d/k", round)
		var results podium
		race(c.racers, func(i int) {
			_, err := s.Put(t.Context(), key, []byte(strings.Repeat(strconv.Itoa(i)+",", 1000)), ifAbsent)
			results.add(t, c, i, err)
		})
		data, _, err := s.Get(t.Context(), key)
		if err != nil {
			t.Fatalf("Get: got %v, want nil", err)
		}
		value, _, _ := strings.Cut(string(data), ",")
		named, err := strconv.Atoi(value)
		if err != nil || string(data) != strings.Repeat(value+",", 1000) {
			t.Fatalf("Get: got %.40q, want the value of a racer", data)
		}
		results.check(t, round, named)
	}
}

// putIfMatch lets racers increment a counter: each acknowledged increment must count once.
func (c contest) putIfMatch(t *testing.T, s objectstore.Store) {
	const each = 2
	mustPut(t, s, "counter", "0")
	var results podium
	race(c.racers, func(i int) {
		for range each {
			results.add(t, c, i, increment(t.Context(), s, "counter"))
		}
	})
	data, _, err := s.Get(t.Context(), "counter")
	if err != nil {
		t.Fatalf("Get: got %v, want nil", err)
	}
	counted, err := strconv.Atoi(string(data))
	if counted < len(results.winners) || counted > len(results.winners)+len(results.unsure) || err != nil {
		t.Errorf("the counter is %q after %d acknowledged and %d unsure increments", data, len(results.winners), len(results.unsure))
	}
}

// increment adds one to the number in the object key, and retries as often as necessary.
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

// deleteIfMatch lets deletes and puts race for the same ETag. All deletes have the same effect, so an
// unsure delete may count as the winner.
func (c contest) deleteIfMatch(t *testing.T, s objectstore.Store) {
	const deleted = -1
	for round := range rounds() {
		etag := mustPut(t, s, "d/k", "start").ETag
		var results podium
		race(c.racers, func(i int) {
			if i%2 == 0 {
				results.add(t, c, deleted, s.Delete(t.Context(), "d/k", ifMatch(etag)))
				return
			}
			_, err := s.Put(t.Context(), "d/k", []byte(strconv.Itoa(i)), ifMatch(etag))
			results.add(t, c, i, err)
		})
		named := deleted
		data, _, err := s.Get(t.Context(), "d/k")
		if err == nil {
			named, err = strconv.Atoi(string(data))
		}
		if err != nil && !errors.Is(err, objectstore.ErrNotExist) {
			t.Fatalf("Get: got %q, %v, want what a racer put, or nothing", data, err)
		}
		results.check(t, round, named)
	}
}

// A store with folders removes empty ones while concurrent writers put objects into them.
func racingPutsAndDeletesOfSiblings(t *testing.T, s objectstore.Store) {
	race(16, func(i int) {
		key := fmt.Sprintf("a/b/c/%d", i)
		for round := range rounds() {
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
		}
	})
}

func rangesAreOfOneObject(t *testing.T, s objectstore.Store) {
	mustPut(t, s, "k", "0..0")
	race(8, func(i int) {
		for n := range 100 {
			if i < 2 {
				value := strconv.Itoa(n % 10)
				if _, err := s.Put(t.Context(), "k", []byte(value+".."+value), always); err != nil {
					t.Errorf("Put: got %v, want nil", err)
				}
				continue
			}
			parts, _, err := s.GetRanges(t.Context(), "k", objectstore.Range{Length: 1}, objectstore.Range{Offset: -1})
			if err != nil || parts[0][0] != parts[1][0] {
				t.Errorf("GetRanges: got %q, %v, want two bytes of one value", parts, err)
			}
		}
	})
}
