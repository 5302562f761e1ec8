package idempotency

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// An Attempt is a request as the changes that it makes know it: they are stored under its
// ID, so that who attempts the same again can look whether they were. It is safe for
// concurrent use.
type Attempt struct {
	recall func(context.Context) error // of an upload without a key: see Recall

	// stream is that of a request with a key, nil for others. What it holds is a part of the id
	// of the change: the process that noted the key may have died before it knew, and other rows
	// under the same key must not be taken for those that it wrote.
	stream *Digest

	mu      sync.Mutex
	id      string
	since   time.Time
	carried bool
	sign    Sign
}

type attemptKey struct{}

// WithAttempt returns a context for the changes of one request.
func WithAttempt(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// AttemptOf returns what the changes of the request are to be stored under, or nil when it
// is no request that could be recognised when it is sent again.
func AttemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

func newAttempt() *Attempt { return &Attempt{id: uuid.NewString()} }

// A Sign lets all who work for the same object call [Attempt.Recall], for a while.
type Sign func(ctx context.Context, d time.Duration) error

// Carry returns what tells the id under which the change is to be stored, and when it was
// first attempted; zero when this is the first attempt. Who calls it sees to it that a change
// which an earlier attempt made is not made again: from then on the request counts as one that
// can be attempted again whatever became of it. sign, which may be nil, is called when such a
// one has left a mark.
func (a *Attempt) Carry(sign Sign) (current func() (id string, since time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.carried, a.sign = true, sign
	return a.current
}

// Recall says that there may be marks of uploads to the same object, one of which the request
// may be: it takes that, as soon as all of it has been read. Its change is not to be begun
// when there is an error.
func (a *Attempt) Recall(ctx context.Context) error {
	if a.recall == nil {
		return nil // what has a key is known by that
	}
	return a.recall(ctx)
}

func (a *Attempt) current() (id string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream.name(a.id), a.since
}

// again says whether there were attempts before, resumable whether there may be more after it.
func (a *Attempt) again() bool {
	_, since := a.current()
	return !since.IsZero()
}

func (a *Attempt) resumable() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.carried
}

// resume makes it one more attempt at what was begun before.
func (a *Attempt) resume(id string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.since = id, since
}

// leaveSign tells the others to look for marks.
func (a *Attempt) leaveSign(ctx context.Context) error {
	a.mu.Lock()
	sign := a.sign
	a.mu.Unlock()
	if sign == nil {
		return nil
	}
	return sign(ctx, 2*Window) // clocks differ
}
