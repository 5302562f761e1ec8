package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/process/backoff"
)

func TestForWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("waited %v, error %v", time.Since(began), err)
		}
	})
}

func TestForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		began := time.Now()
		if err := backoff.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("waited %v, error %v", time.Since(began), err)
		}
	})
}

func TestSleepOfNoTimeReturnsTheErrorOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, d := range []time.Duration{0, -time.Second} {
		if err := backoff.Sleep(ctx, d); err != nil {
			t.Error(err)
		}
	}
	cancel()
	for range 100 {
		if err := backoff.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want that of the context", err)
		}
	}
}

func TestBackoffStaysBelowItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attempt := range 100 {
			limit := 100 * time.Millisecond
			if attempt < 4 {
				limit = 10 * time.Millisecond << attempt
			}
			began := time.Now()
			if err := backoff.Wait(t.Context(), 10*time.Millisecond, 100*time.Millisecond, attempt); err != nil || time.Since(began) >= limit {
				t.Errorf("attempt %d waited %v, error %v", attempt, time.Since(began), err)
			}
		}
	})
}
