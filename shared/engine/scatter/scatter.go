// Package scatter calls the parts of one piece of work and gathers their answers in order. A call that fails for a
// passing reason is repeated. A call that takes much longer than those of most parts is made once more beside the
// first, and the answer that comes first counts. As soon as one part has failed, or the consumer stops, the other calls
// are cancelled.
//
// The package knows nothing about the work: a part is a number, and the caller says how to call it.
package scatter

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// An Answer is what a call returns. Close frees what it holds. Answers that are not needed are closed; the consumer
// closes those that it gets.
type Answer interface{ Close() }

// Options bound the calls. A zero value means the default.
type Options struct {
	Together int           // calls at the same time; default 16
	Attempts int           // at one part, one after the other; default 3
	Pause    time.Duration // the longest pause before the second attempt, which doubles; default 100 ms
	// Passing reports whether an error may not come again. Nil: no call is repeated.
	Passing func(error) bool

	slots chan struct{} // of scatters that make Together calls among them; nil: each has its own
}

// Shared returns options whose scatters make Together calls at the same time among all of them.
func (o Options) Shared() Options {
	o = o.withDefaults()
	o.slots = make(chan struct{}, o.Together)
	return o
}

func (o Options) withDefaults() Options {
	if o.Together <= 0 {
		o.Together = 16
	}
	if o.Attempts <= 0 {
		o.Attempts = 3
	}
	if o.Pause <= 0 {
		o.Pause = 100 * time.Millisecond
	}
	if o.Passing == nil {
		o.Passing = func(error) bool { return false }
	}
	return o
}

const (
	// ahead is the number of answers, as a multiple of Together, that may wait for the consumer.
	ahead = 4
	// slow is the time, as a multiple of the median of the finished half of the parts, after which a call is slow.
	slow = 2
	// least is the time before which no call is slow.
	least = 200 * time.Millisecond
)

// Stats are the measurements of a scatter. They are complete when all answers were consumed.
type Stats struct {
	Parts, Repeated, Doubled int           // parts answered; calls made again after an error, or beside a slow call
	Slowest                  time.Duration // from the first call of a part to its answer
}

// A Scatter calls parts. It is used once.
type Scatter[T Answer] struct {
	options Options
	parts   int
	call    func(ctx context.Context, part int) (T, error)

	mu    sync.Mutex
	stats Stats
	took  []time.Duration // of the answered parts, until the median is known
	limit time.Duration   // of a call that is not slow
	known chan struct{}   // closed when limit is known
}

// New returns a scatter over parts. call is called with the numbers below parts, from several goroutines.
func New[T Answer](options Options, parts int, call func(ctx context.Context, part int) (T, error)) *Scatter[T] {
	return &Scatter[T]{options: options.withDefaults(), parts: parts, call: call, known: make(chan struct{})}
}

// Stats returns the measurements so far.
func (s *Scatter[T]) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// An outcome is the end of a part.
type outcome[T Answer] struct {
	answer T
	err    error
}

// All calls all parts, and yields their answers in the order of the parts. It ends with the first error in that order,
// or with an error of the context. All calls have ended when it returns.
func (s *Scatter[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		ends := make([]chan outcome[T], s.parts)
		for i := range ends {
			ends[i] = make(chan outcome[T], 1)
		}
		room := make(chan struct{}, s.options.Together*ahead)
		var calls sync.WaitGroup
		calls.Go(func() { s.start(ctx, cancel, room, ends, &calls) })
		next := 0
		defer func() {
			cancel(context.Canceled)
			calls.Wait()
			for _, end := range ends[next:] {
				select {
				case out := <-end:
					if out.err == nil {
						out.answer.Close()
					}
				default:
				}
			}
		}()
		for ; next < s.parts; next++ {
			var out outcome[T]
			select {
			case out = <-ends[next]:
			case <-ctx.Done():
				// The cause is the error of the part that has failed, if one has.
				out.err = context.Cause(ctx)
			}
			if <-room; !yield(out.answer, out.err) || out.err != nil {
				next++
				return
			}
		}
	}
}

// start begins the calls of all parts, as many as there is room for.
func (s *Scatter[T]) start(ctx context.Context, cancel context.CancelCauseFunc, room chan struct{}, ends []chan outcome[T], calls *sync.WaitGroup) {
	slots := s.options.slots
	if slots == nil {
		slots = make(chan struct{}, s.options.Together)
	}
	for part := range s.parts {
		for _, free := range []chan struct{}{room, slots} {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				close(room) // wakes the consumer
				return
			}
		}
		calls.Go(func() {
			answer, err := s.repeated(ctx, part)
			<-slots
			if err != nil {
				// The error of the part that failed first counts. Those of the others say that they were cancelled.
				cancel(err)
				err = context.Cause(ctx)
			}
			ends[part] <- outcome[T]{answer, err}
		})
	}
}

// repeated calls a part until it is answered, or fails for good.
func (s *Scatter[T]) repeated(ctx context.Context, part int) (T, error) {
	began := time.Now()
	pause := s.options.Pause
	for attempt := 1; ; attempt++ {
		answer, err := s.doubled(ctx, part)
		switch {
		case err == nil:
			s.answered(time.Since(began))
			return answer, nil
		case ctx.Err() != nil || attempt == s.options.Attempts || !s.options.Passing(err):
			return answer, err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return answer, err
		}
		pause *= 2
		s.count(func(stats *Stats) { stats.Repeated++ })
	}
}

// doubled calls a part, and a second time if the first call is slow. The first answer counts; an error only if the other
// call has failed, too. The context of the call whose answer counts lives on, because the answer may still read.
func (s *Scatter[T]) doubled(ctx context.Context, part int) (T, error) {
	type end struct {
		outcome[T]
		call int
	}
	ends := make(chan end, 2)
	var cancels []context.CancelFunc
	call := func() {
		ctx, cancel := context.WithCancel(ctx)
		number := len(cancels)
		cancels = append(cancels, cancel)
		go func() {
			answer, err := s.call(ctx, part)
			ends <- end{outcome[T]{answer, err}, number}
		}()
	}
	call()
	running, began := 1, time.Now()
	known, late := s.known, (<-chan time.Time)(nil)
	var failed error
	for {
		select {
		case first := <-ends:
			running--
			switch {
			case first.err != nil && running > 0:
				failed = first.err
				continue
			case first.err != nil && failed != nil:
				first.err = failed
			}
			for number, cancel := range cancels {
				if number != first.call || first.err != nil {
					cancel()
				}
			}
			for range running {
				if other := <-ends; other.err == nil {
					other.answer.Close()
				}
			}
			return first.answer, first.err
		case <-known:
			known = nil
			timer := time.NewTimer(s.limit - time.Since(began))
			defer timer.Stop()
			late = timer.C
		case <-late:
			late = nil
			running++
			s.count(func(stats *Stats) { stats.Doubled++ })
			call()
		}
	}
}

// answered counts an answered part. Once half of the parts are answered, it knows when a call is slow.
func (s *Scatter[T]) answered(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Parts++
	s.stats.Slowest = max(s.stats.Slowest, took)
	if s.limit > 0 {
		return
	}
	if s.took = append(s.took, took); 2*len(s.took) < s.parts || s.parts < 2 {
		return
	}
	slices.Sort(s.took)
	s.limit = max(least, slow*s.took[len(s.took)/2])
	s.took = nil
	close(s.known)
}

func (s *Scatter[T]) count(add func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.stats)
}
