package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// An Attempt identifies the changes of one request. A change is stored under the ID of its attempt,
// so that a repeated request can find an earlier change. An Attempt is safe for concurrent use.
type Attempt struct {
	recall func(context.Context) error // for an upload without a key: see Recall

	// stream is the streamed body of a request with a key, else nil. Its checksum becomes a part of the
	// change's id, because the process that noted the key may have died before it had read the stream.
	// Other rows under the same key must then not pass for rows that were written.
	stream *Digest

	mu      sync.Mutex
	id      string
	since   time.Time
	carried bool
	sign    Sign
}

// attemptKey is the context key of an *Attempt.
type attemptKey struct{}

// WithAttempt returns a context that carries the attempt to the changes of one request.
func WithAttempt(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// AttemptOf returns the attempt of a context. It is nil if the server could not recognize a
// repetition of the request.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

func newAttempt() *Attempt { return &Attempt{id: uuid.NewString()} }

// A Sign makes other requests for the same object call [Attempt.Recall] during the time d.
type Sign func(ctx context.Context, d time.Duration) error

// Carry returns a function that returns the id under which the change is stored and the time of the
// first attempt, which is zero if this attempt is the first. The caller must not repeat a change
// that an earlier attempt made. From then on the request counts as repeatable, whatever its
// outcome. sign, which may be nil, is called when the attempt leaves a mark.
func (a *Attempt) Carry(sign Sign) (current func() (id string, since time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.carried, a.sign = true, sign
	return a.current
}

// Recall looks for a mark of an earlier upload that this request repeats. Callers use it when
// uploads to the same object may have left marks. A mark is taken once the body has been read.
// After an error the change must not begin.
func (a *Attempt) Recall(ctx context.Context) error {
	if a.recall == nil {
		return nil // a request with a key is recognized by its key
	}
	return a.recall(ctx)
}

// current returns the id of the change and the time of its first attempt; see [Attempt.Carry].
func (a *Attempt) current() (id string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream.name(a.id), a.since
}

// again reports whether there were earlier attempts.
func (a *Attempt) again() bool {
	_, since := a.current()
	return !since.IsZero()
}

// resumable reports whether a later attempt can find the change.
func (a *Attempt) resumable() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.carried
}

// resume makes this request a further attempt at an earlier change.
func (a *Attempt) resume(id string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.since = id, since
}

// leaveSign makes other requests look for marks.
func (a *Attempt) leaveSign(ctx context.Context) error {
	a.mu.Lock()
	sign := a.sign
	a.mu.Unlock()
	if sign == nil {
		return nil
	}
	return sign(ctx, 2*Window) // twice the window, because clocks differ
}
