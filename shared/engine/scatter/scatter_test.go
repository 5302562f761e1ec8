package scatter_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine/scatter"
)

// errPassing and errFinal are errors of calls.
var (
	errPassing = errors.New("busy")
	errFinal   = errors.New("refused")
)

// An answer knows how often each was closed.
type answer struct {
	part   int
	closed *atomic.Int64
}

func (a answer) Close() { a.closed.Add(1) }

// A world makes calls and counts them.
type world struct {
	mu      sync.Mutex
	calls   map[int]int // by part
	running int
	most    int
	closed  atomic.Int64
	made    int64
}

// call makes a call of a scatter: do gets the number of the call of its part, from 1.
func (w *world) call(do func(ctx context.Context, part, call int) error) func(context.Context, int) (answer, error) {
	w.calls = map[int]int{}
	return func(ctx context.Context, part int) (answer, error) {
		w.mu.Lock()
		w.calls[part]++
		call := w.calls[part]
		w.running++
		w.most = max(w.most, w.running)
		w.mu.Unlock()
		err := do(ctx, part, call)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
		if err == nil {
			w.made++
		}
		return answer{part, &w.closed}, err
	}
}

// gather consumes a scatter, and checks the order.
func gather(t *testing.T, ctx context.Context, s *scatter.Scatter[answer]) (n int, err error) { //nolint:revive // the test comes first
	t.Helper()
	for a, err := range s.All(ctx) {
		if err != nil {
			return n, err
		}
		if a.part != n {
			t.Errorf("got the answer of part %d, want %d", a.part, n)
		}
		a.Close()
		n++
	}
	return n, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var options = scatter.Options{Together: 4, Passing: func(err error) bool { return errors.Is(err, errPassing) }}

func TestAnswersComeInOrderFromBoundedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 50, w.call(func(ctx context.Context, part, _ int) error {
			return sleep(ctx, time.Duration(50-part)*time.Millisecond)
		}))
		if n, err := gather(t, t.Context(), s); n != 50 || err != nil {
			t.Errorf("got %d answers, error %v", n, err)
		}
		if w.most != 4 || w.made != 50 || w.closed.Load() != 50 {
			t.Errorf("%d calls at once, %d answers made, %d closed; want 4, 50, 50", w.most, w.made, w.closed.Load())
		}
		if got := s.Stats(); got.Parts != 50 || got.Repeated != 0 || got.Doubled != 0 || got.Slowest != 50*time.Millisecond {
			t.Errorf("got %+v", got)
		}
	})
}

func TestScattersWithSharedOptionsAreBoundedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		call := w.call(func(ctx context.Context, part, _ int) error {
			return sleep(ctx, time.Duration(1+part%3)*time.Millisecond)
		})
		shared := scatter.Options{Together: 3}.Shared()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if n, err := gather(t, t.Context(), scatter.New(shared, 20, call)); n != 20 || err != nil {
					t.Errorf("got %d answers, %v", n, err)
				}
			})
		}
		all.Wait()
		if w.most != 3 {
			t.Errorf("%d calls were made at the same time, want 3", w.most)
		}
	})
}

func TestPassingErrorsAreRepeatedAndOthersEndTheScatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 10, w.call(func(_ context.Context, part, call int) error {
			if part == 3 && call < 3 {
				return errPassing
			}
			return nil
		}))
		if n, err := gather(t, t.Context(), s); n != 10 || err != nil || s.Stats().Repeated != 2 {
			t.Errorf("got %d answers, error %v, %d repeated; want 10 and 2 repeated", n, err, s.Stats().Repeated)
		}
		for name, c := range map[string]struct {
			err  error
			want int // calls of the part
		}{"passing": {errPassing, 3}, "final": {errFinal, 1}} {
			var w world
			s := scatter.New(options, 1000, w.call(func(ctx context.Context, part, _ int) error {
				if part == 2 {
					return c.err
				}
				return sleep(ctx, 20*time.Second)
			}))
			began := time.Now()
			if n, err := gather(t, t.Context(), s); n != 0 || !errors.Is(err, c.err) {
				t.Errorf("%s: got %d answers, error %v; want the error of the part at once", name, n, err)
			}
			if w.calls[2] != c.want || w.running != 0 || w.closed.Load() != w.made || time.Since(began) > time.Second {
				t.Errorf("%s: %d calls of the part, want %d; %d still run, %d of %d answers closed, after %v", name, w.calls[2], c.want, w.running, w.closed.Load(), w.made, time.Since(began))
			}
		}
	})
}

// A later part fails while an earlier one is called, which is then cancelled.
func TestTheErrorIsThatOfThePartThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 4, w.call(func(ctx context.Context, part, _ int) error {
			if part == 3 {
				return errFinal
			}
			return sleep(ctx, time.Hour)
		}))
		if n, err := gather(t, t.Context(), s); n != 0 || !errors.Is(err, errFinal) {
			t.Errorf("got %d answers, error %v; want the error of the last part", n, err)
		}
	})
}

func TestASlowCallIsMadeOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 10, w.call(func(ctx context.Context, part, call int) error {
			if part == 9 && call == 1 {
				return sleep(ctx, time.Hour)
			}
			return sleep(ctx, 300*time.Millisecond)
		}))
		began := time.Now()
		if n, err := gather(t, t.Context(), s); n != 10 || err != nil {
			t.Errorf("got %d answers, error %v", n, err)
		}
		// Three rounds of four calls; the last part is slow after twice the median, and takes its time then.
		if took := time.Since(began); took != 600*time.Millisecond+900*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if got := s.Stats(); got.Doubled != 1 || w.calls[9] != 2 || w.running != 0 {
			t.Errorf("%+v, %d calls of the slow part, %d still run; want 1 doubled, 2 calls", got, w.calls[9], w.running)
		}
	})
}

func TestAnErrorBesideASlowCallDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 4, w.call(func(ctx context.Context, part, call int) error {
			switch {
			case part == 3 && call == 2:
				return errFinal
			case part == 3:
				return sleep(ctx, 2*time.Second)
			}
			return sleep(ctx, 100*time.Millisecond)
		}))
		if n, err := gather(t, t.Context(), s); n != 4 || err != nil {
			t.Errorf("got %d answers, error %v: the first call was still running", n, err)
		}
	})
}

func TestTheConsumerMayStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 100, w.call(func(ctx context.Context, _, _ int) error { return sleep(ctx, time.Second) }))
		for a, err := range s.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			a.Close()
			break
		}
		if w.running != 0 || w.closed.Load() != w.made {
			t.Errorf("%d calls still run; %d of %d answers are closed", w.running, w.closed.Load(), w.made)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		s = scatter.New(options, 100, w.call(func(ctx context.Context, _, _ int) error { return sleep(ctx, time.Second) }))
		if n, err := gather(t, ctx, s); n != 4 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %d answers, error %v; want 4 and the deadline", n, err)
		}
	})
}

func TestAnswersWaitForAConsumerThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		s := scatter.New(options, 100, w.call(func(context.Context, int, int) error { return nil }))
		for a, err := range s.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			w.mu.Lock()
			if waiting := w.made - int64(a.part) - 1; waiting > 16 {
				t.Errorf("%d answers wait", waiting)
			}
			w.mu.Unlock()
			a.Close()
		}
		if w.made != 100 {
			t.Errorf("got %d answers", w.made)
		}
	})
}
