package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// An Attempt is one request as its changes see it. A change is stored under the ID of its attempt,
// so that a repeated request can find out whether the change was made. An Attempt is safe for
// concurrent use.
type Attempt struct {
	recall func(context.Context) error // for an upload without a key: see Recall

	// stream is the body of a request with a key, nil for other requests. Its checksum becomes a
	// part of the change's id. The process that noted the key may have died before it had read the
	// stream, and other rows under the same key must not be mistaken for those that it wrote.
	stream *Digest

	mu      sync.Mutex
	id      string
	since   time.Time
	carried bool
	sign    Sign
}

type attemptKey struct{}

// WithAttempt returns a context that carries the attempt to the changes of one request.
func WithAttempt(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// AttemptOf returns the attempt of a context. It is nil when a repetition of the request could not
// be recognized.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

func newAttempt() *Attempt { return &Attempt{id: uuid.NewString()} }

// A Sign makes other requests for the same object call [Attempt.Recall] for a while.
type Sign func(ctx context.Context, d time.Duration) error

// Carry returns a function that gives the id under which the change is stored, and the time of the
// first attempt, which is zero when this attempt is the first. A caller of Carry promises not to
// repeat a change that an earlier attempt made. From then on the request counts as one that can be
// attempted again, whatever became of it. sign, which may be nil, is called when such an attempt
// has left a mark.
func (a *Attempt) Carry(sign Sign) (current func() (id string, since time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.carried, a.sign = true, sign
	return a.current
}

// Recall is called when uploads to the same object may have left marks. If this request repeats one
// of them, it takes over the mark once its body has been read. After an error the change must not
// be begun.
func (a *Attempt) Recall(ctx context.Context) error {
	if a.recall == nil {
		return nil // a request with a key is recognized by its key
	}
	return a.recall(ctx)
}

func (a *Attempt) current() (id string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream.name(a.id), a.since
}

// again reports whether there were earlier attempts, and resumable whether later ones are possible.
func (a *Attempt) again() bool {
	_, since := a.current()
	return !since.IsZero()
}

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
