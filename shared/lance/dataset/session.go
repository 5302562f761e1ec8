package dataset

import (
	"sync"
	"sync/atomic"
	"time"

	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/objectstore"
)

// A Session is what the tables of one process share: the cache, the clock, and the
// queue in which commits to one table wait for each other instead of colliding. It is
// safe for concurrent use.
type Session struct {
	// Roots are where files of tables may lie that are not in the table's own place, as
	// with branches and shallow clones. Nil allows what is in the same store as the table.
	// It is set before the session is used.
	Roots *objectstore.Roots

	cache *cache.Cache
	now   func() time.Time

	buffers stage.Buffers // for small data files
	windows atomic.Int32  // in work, of all scans

	mu      sync.Mutex
	commits map[string]*commitQueue // by URI of the table
}

// NewSession returns a session with a cache of about maxCacheBytes (0: cache.cache.DefaultBytes).
func NewSession(maxCacheBytes uint64, now func() time.Time) *Session {
	return &Session{cache: cache.New(maxCacheBytes), now: now, commits: map[string]*commitQueue{}}
}

// Table returns the table at a location, which need not exist yet. hint is a version that
// it is known to have had, where the newest is looked for first, or 0.
func (s *Session) Table(at objectstore.Location, hint uint64) *Table {
	at.Store = objectstore.Counting(at.Store)
	return &Table{session: s, store: at.Store, prefix: at.Prefix, uri: at.URI, cached: at.URI, hint: hint, home: fragment.HomeAt(at)}
}
