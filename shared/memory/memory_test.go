package memory_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/memory"
)

func TestAShareIsBounded(t *testing.T) {
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
	if s.Held() != 0 || b.Held() != 0 || s.Peak() != 60 {
		t.Errorf("after a release the share holds %d and the budget %d, at most %d; want 0, 0, 60", s.Held(), b.Held(), s.Peak())
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
	if b.Held() != 0 {
		t.Errorf("the budget holds %d, want 0", b.Held())
	}
}

func TestWithoutAShareNothingIsBounded(t *testing.T) {
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
		if len(order) != 2 || b.Held() != 0 {
			t.Errorf("%v had memory, and %d bytes are held", order, b.Held())
		}
	})
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

// Whatever shares do at once, the budget is never exceeded, and all comes back.
func TestTheBudgetIsKept(t *testing.T) {
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
	if b.Held() != 0 {
		t.Errorf("%d bytes are held in the end", b.Held())
	}
}
