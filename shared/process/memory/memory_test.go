package memory_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/process/memory"
)

func TestShareIsBounded(t *testing.T) {
	b := memory.NewBudget(100, 60)
	s := b.Open()
	ctx := memory.WithShare(t.Context(), s)

	hold, err := memory.Take(ctx, 50)
	if err != nil {
		t.Fatal(err)
	}
	var refused *memory.Error
	if _, err := memory.Take(ctx, 11); !errors.As(err, &refused) || refused.Busy {
		t.Errorf("11 bytes beside 50 of 60: got %v, want a refusal for good", err)
	}
	if _, ok := memory.Try(ctx, 11); ok {
		t.Error("11 bytes beside 50 of 60 were given")
	}
	if err := hold.Resize(ctx, 60); err != nil {
		t.Errorf("all that a share may hold: %v", err)
	}
	hold.Release()
	hold.Release()
	if s.Held() != 0 || b.Usage().Held != 0 || s.Peak() != 60 {
		t.Errorf("after a release the share holds %d and the budget %d, at most %d; want 0, 0, 60", s.Held(), b.Usage().Held, s.Peak())
	}
}

func TestClosingAShareReturnsAll(t *testing.T) {
	b := memory.NewBudget(100, 100)
	s := b.Open()
	if err := s.Take(t.Context(), 70); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	s.Give(70)
	if b.Usage().Held != 0 {
		t.Errorf("the budget holds %d, want 0", b.Usage().Held)
	}
}

func TestTakeWithoutAShareIsUnbounded(t *testing.T) {
	hold, err := memory.Take(t.Context(), 1<<60)
	if err != nil {
		t.Fatal(err)
	}
	hold.Release()
}

func TestRequestsWaitTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(100, 100)
		first, second, third := b.Open(), b.Open(), b.Open()
		if err := first.Take(t.Context(), 80); err != nil {
			t.Fatal(err)
		}
		var order []string
		var mu sync.Mutex
		var all sync.WaitGroup
		take := func(name string, s *memory.Share, bytes int64) {
			all.Go(func() {
				if err := s.Take(t.Context(), bytes); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
				s.Close()
			})
			synctest.Wait()
		}
		take("second", second, 90)
		take("third", third, 10) // would fit, and waits behind the second
		if len(order) != 0 {
			t.Fatalf("%v came before there was memory", order)
		}
		first.Close()
		all.Wait()
		if len(order) != 2 || b.Usage().Held != 0 {
			t.Errorf("%v had memory, and %d bytes are held", order, b.Usage().Held)
		}
	})
}

func TestOlderSharesAreServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(100, 100)
		older, younger, holder := b.Open(), b.Open(), b.Open()
		if err := holder.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		var order []string
		var all sync.WaitGroup
		take := func(name string, s *memory.Share) {
			all.Go(func() {
				if err := s.Take(t.Context(), 60); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				order = append(order, name) // one has closed before the next is served
				s.Close()
			})
			synctest.Wait()
		}
		take("younger", younger)
		take("older", older)
		if younger.Try(1) {
			t.Error("a share got bytes while an older one waited")
		}
		holder.Close()
		all.Wait()
		if len(order) != 2 || order[0] != "older" {
			t.Errorf("served in the order %v", order)
		}
	})
}

// If shares wait for memory that the others hold, not all of them fail: the youngest gives up soon.
func TestSharesThatWaitForEachOtherGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(100, 80)
		start := time.Now()
		var all sync.WaitGroup
		var shares []*memory.Share
		for range 4 {
			s := b.Open()
			shares = append(shares, s)
			if err := s.Take(t.Context(), 25); err != nil {
				t.Fatal(err)
			}
		}
		failed := make([]bool, len(shares))
		for i, s := range shares {
			all.Go(func() {
				defer s.Close()
				failed[i] = s.Take(t.Context(), 50) != nil
			})
		}
		all.Wait()
		if failed[0] || failed[1] || !failed[2] || !failed[3] {
			t.Errorf("refused: %v; want the two youngest, who make room for the others", failed)
		}
		if waited := time.Since(start); waited > 30*time.Second {
			t.Errorf("that took %v", waited)
		}
		if use := b.Usage(); use.Held != 0 || use.Peak > 100 || use.Refused != 2 {
			t.Errorf("in the end: %+v", use)
		}
	})
}

func TestTryGivesLittleWithoutStandingInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(1<<20, 1<<20)
		holder, large, little := b.Open(), b.Open(), b.Open()
		if err := holder.Take(t.Context(), 1<<19); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { _ = large.Take(t.Context(), 1<<20) })
		synctest.Wait()
		if !little.Try(256) || little.Try(257) {
			t.Error("256 bytes should be given at once, and not more")
		}
		holder.Close()
		little.Close()
		all.Wait()
	})
}

func TestShareThatIsClosedTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(100, 100)
		holder, waiter := b.Open(), b.Open()
		if err := holder.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if waiter.Take(t.Context(), 50) == nil {
				t.Error("a share that was closed meanwhile got bytes")
			}
		})
		synctest.Wait()
		waiter.Close()
		holder.Close()
		all.Wait()
		if waiter.Take(t.Context(), 1) == nil || waiter.Try(1) || b.Usage().Held != 0 {
			t.Errorf("a closed share takes bytes: %+v", b.Usage())
		}
	})
}

// A share may be closed between the grant of its request and the moment it notices.
func TestClosingAShareThatWaitsReturnsAllOnce(t *testing.T) {
	b := memory.NewBudget(100, 100)
	for range 2000 {
		holder, waiter := b.Open(), b.Open()
		if err := holder.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for _, bytes := range []int64{30, 50} {
			all.Go(func() { _ = waiter.Take(ctx, bytes) })
		}
		all.Go(holder.Close)
		all.Go(waiter.Close)
		all.Go(cancel)
		all.Wait()
		if held := b.Usage().Held; held != 0 {
			t.Fatalf("the budget holds %d after all shares were closed, want 0", held)
		}
	}
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(100, 100)
		holder, waiter := b.Open(), b.Open()
		if err := holder.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var refused *memory.Error
		if err := waiter.Take(t.Context(), 1); !errors.As(err, &refused) || !refused.Busy {
			t.Errorf("got %v, want that others hold the memory", err)
		}
		if waited := time.Since(start); waited > time.Minute {
			t.Errorf("waited for %v", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := waiter.Take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		holder.Close()
		if err := waiter.Take(t.Context(), 100); err != nil {
			t.Errorf("after the holder has gone: %v", err)
		}
	})
}

// The budget is never exceeded, whatever shares do concurrently, and all bytes return to it.
func TestBudgetIsKept(t *testing.T) {
	b := memory.NewBudget(1000, 700)
	var held int64
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				s := b.Open()
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(500))*time.Microsecond)
				if n := rand.Int64N(700) + 1; s.Take(ctx, n) == nil {
					mu.Lock()
					if held += n; held > 1000 {
						t.Errorf("%d bytes are held at once", held)
					}
					mu.Unlock()
					mu.Lock()
					held -= n
					mu.Unlock()
				}
				cancel()
				s.Close()
			}
		})
	}
	all.Wait()
	if b.Usage().Held != 0 {
		t.Errorf("%d bytes are held in the end", b.Usage().Held)
	}
}

func TestPartPaysBeforeAndSettlesAfter(t *testing.T) {
	b := memory.NewBudget(100, 80)
	s := b.Open()
	part, err := s.Part(t.Context(), 30)
	if err != nil {
		t.Fatal(err)
	}
	if s.Held() != 30 {
		t.Errorf("the share holds %d for a part of 30", s.Held())
	}
	ctx := memory.WithShare(t.Context(), part)
	first, err := memory.Take(ctx, 20)
	if err != nil || s.Held() != 30 {
		t.Errorf("20 of 30: %v, and the share holds %d", err, s.Held())
	}
	if _, err := memory.Take(ctx, 25); err != nil || s.Held() != 45 {
		t.Errorf("45 of 30: %v, and the share holds %d, want 45", err, s.Held())
	}
	var refused *memory.Error
	if _, err := memory.Take(ctx, 36); !errors.As(err, &refused) || refused.Busy {
		t.Errorf("81 of a share of 80: got %v, want a refusal for good", err)
	}
	first.Release()
	if s.Held() != 45 || part.Held() != 25 {
		t.Errorf("after a release the part holds %d and the share %d", part.Held(), s.Held())
	}
	if part.Settle(10); s.Held() != 10 {
		t.Errorf("settled on 10: the share holds %d", s.Held())
	}
	if err := part.Take(t.Context(), 40); err != nil || s.Held() != 50 {
		t.Errorf("50 after a settlement on 10: %v, and the share holds %d", err, s.Held())
	}
	if _, ok := s.TryPart(1); ok {
		t.Error("a part of the second half was given to who can wait")
	}
	part.Close()
	part.Close()
	if s.Held() != 0 || b.Usage().Held != 0 {
		t.Errorf("in the end the share holds %d and the budget %d", s.Held(), b.Usage().Held)
	}
}

func TestPartThatOutlivesItsShareTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget(100, 100)
		holder, waiter := b.Open(), b.Open()
		if err := holder.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		part, _ := waiter.Part(t.Context(), 0)
		late := make(chan error)
		go func() { late <- part.Take(t.Context(), 50) }()
		synctest.Wait()
		waiter.Close()
		holder.Close()
		if err := <-late; err == nil {
			t.Error("a part of a closed share took memory")
		}
		if err := part.Take(t.Context(), 1); err == nil || part.Try(1) {
			t.Error("a part of a closed share took memory")
		}
		if b.Usage().Held != 0 {
			t.Errorf("the budget holds %d", b.Usage().Held)
		}
	})
}

// A nested part leaves half of the limit too, because the whole request counts.
func TestTryPartLeavesHalfOfTheRequest(t *testing.T) {
	b := memory.NewBudget(100, 100)
	s := b.Open()
	defer s.Close()
	if !s.Try(30) {
		t.Fatal("30 of 100 were not given")
	}
	inner, err := s.Part(t.Context(), 15)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	if _, ok := inner.TryPart(21); ok {
		t.Error("21 beside 30 were given, which is more than half")
	}
	if part, ok := inner.TryPart(20); !ok { // 15 of them have been paid for
		t.Error("20 beside 30 were not given")
	} else {
		part.Close()
	}
}
