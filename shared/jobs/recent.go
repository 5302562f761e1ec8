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

// NewRecent returns an empty cache.
func NewRecent(now func() time.Time) *Recent {
	return &Recent{now: now, times: map[string]time.Time{}}
}

// IsDue reports whether a poll after the delay must be suggested. It need not be while an earlier one of the same name is
// pending, because that poll sees all changes committed before this call.
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

// maxRecent bounds the cached suggestions. Forgetting one only costs a further poll.
const maxRecent = 10_000
