package dataset

import (
	"context"
	"sync"
	"time"

	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/objectstore"
)

// A Session is what the tables of one process share: the cache, the clock, and the
// queue in which commits to one table wait for each other instead of colliding. It is
// safe for concurrent use.
type Session struct {
	snapshot.Shared

	// Author says who asks for the commits of a context, "" if that is not known; the transactions
	// that are written note it: see [Authors]. It is set before the first use; nil: nobody is noted.
	Author func(context.Context) string

	now func() time.Time

	buffers stage.Buffers // for small data files

	mu      sync.Mutex
	commits map[string]*commitQueue // by URI of the table
}

// NewSession returns a session with a cache of about maxCacheBytes (0: cache.DefaultBytes).
func NewSession(maxCacheBytes uint64, now func() time.Time) *Session {
	return &Session{Shared: snapshot.Shared{Cache: cache.New(maxCacheBytes)}, now: now, commits: map[string]*commitQueue{}}
}

// Table returns the table at a location, which need not exist yet. hint is a version that
// it is known to have had, where the newest is looked for first, or 0.
func (s *Session) Table(at objectstore.Location, hint uint64) *Table {
	return &Table{session: s, at: snapshot.NewPlace(&s.Shared, at), hint: hint}
}
