package jobs

import (
	"sync"
	"time"
)

// Recent caches the times of the last suggestions of a process, to suppress one while an earlier one is still pending. It
// is safe for concurrent use.
type Recent struct {
	now func() time.Time

	mu    sync.Mutex
	times map[string]time.Time
}

// NewRecent returns the suggestions of a process that has made none.
func NewRecent(now func() time.Time) *Recent {
	return &Recent{now: now, times: map[string]time.Time{}}
}

// IsDue reports whether a look that comes after a delay has to be suggested: not when one of that name was that is
// still to come. That one sees a change that was committed before this call.
func (r *Recent) IsDue(name string, delay time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if last, ok := r.times[name]; ok && !now.Before(last) && now.Sub(last) < delay {
		return false
	}
	if len(r.times) >= maxRecent {
		clear(r.times)
	}
	r.times[name] = now
	return true
}

// maxRecent bounds the memory of suggestions. A forgotten one is made again.
const maxRecent = 10_000
