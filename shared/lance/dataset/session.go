package dataset

import (
	"context"
	"sync"
	"time"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/storage/objectstore"
)

// A Session holds the state that the tables of one process share: the cache, the clock, and the
// commit queues. It is safe for concurrent use.
type Session struct {
	snapshot.Shared

	// Author returns the user behind a context, or "" if unknown. Transactions record it; see
	// [Authors]. It must be set before first use; nil records nobody.
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

// CacheUsage is what the cache of a session holds, and the results of its lookups.
type CacheUsage = cache.Usage

// CacheUsage returns the present usage of the cache.
func (s *Session) CacheUsage() CacheUsage { return s.Cache.Usage() }

// Table returns the table at a location, whether or not it exists. hint is a version that it is
// known to have had, or 0. The first lookup reads that version in parallel with the listing.
func (s *Session) Table(at objectstore.Location, hint uint64) *Table {
	return &Table{session: s, at: snapshot.NewPlace(&s.Shared, at), hint: hint}
}
