package dataset

import (
	"math"

	"github.com/maypok86/otter/v2"
)

// A Cache keeps what was read of tables (manifests, file footers, deletion vectors,
// decoded columns), within a budget of bytes, for all tables of a process. Everything in
// it is immutable where it came from, so nothing in it is ever wrong; which version of a
// table is the newest is asked anew each time (see Table.Read).
type Cache struct {
	entries *otter.Cache[cacheKey, cached]
	max     uint64
}

// cacheKey names a part of an object: the object's URI, and what of it.
type cacheKey struct {
	object string
	part   string
}

type cached struct {
	value any
	bytes uint32
}

// DefaultCacheBytes is the budget when none is configured.
const DefaultCacheBytes = 512 << 20

// NewCache returns a cache that holds at most about maxBytes.
func NewCache(maxBytes uint64) *Cache {
	if maxBytes == 0 {
		maxBytes = DefaultCacheBytes
	}
	return &Cache{
		max: maxBytes,
		entries: otter.Must(&otter.Options[cacheKey, cached]{
			MaximumWeight: maxBytes,
			Weigher:       func(_ cacheKey, c cached) uint32 { return c.bytes },
		}),
	}
}

// get returns what was put under the key.
func get[T any](c *Cache, object, part string) (T, bool) {
	entry, ok := c.entries.GetIfPresent(cacheKey{object, part})
	if !ok {
		var none T
		return none, false
	}
	value, ok := entry.value.(T)
	return value, ok
}

// entryOverhead is roughly what an entry costs beside its value.
const entryOverhead = 256

// put keeps a value of the given size, unless that alone is a large part of the budget.
func put(c *Cache, object, part string, value any, bytes int64) {
	bytes += entryOverhead
	if bytes > int64(min(c.max/4, math.MaxUint32)) {
		return
	}
	c.entries.Set(cacheKey{object, part}, cached{value: value, bytes: uint32(bytes)})
}

// drop forgets what was put under the key.
func (c *Cache) drop(object, part string) { c.entries.Invalidate(cacheKey{object, part}) }
