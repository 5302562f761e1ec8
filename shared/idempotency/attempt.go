package idempotency

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// An Attempt is a request as the changes that it makes know it: they are stored under its
// ID, so that who attempts the same again can look whether they were. It is safe for
// concurrent use.
type Attempt struct {
	mu      sync.Mutex
	id      string
	since   time.Time
	carried bool
}

func newAttempt() *Attempt { return &Attempt{id: uuid.NewString()} }

// Carry returns what tells the id under which the change is to be stored, and when it was
// first attempted; zero when this is the first attempt. Who calls it sees to it that a change
// which an earlier attempt made is not made again: from then on the request counts as one that
// can be attempted again whatever became of it.
func (a *Attempt) Carry() (current func() (id string, since time.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.carried = true
	return a.current
}

func (a *Attempt) current() (id string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id, a.since
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
