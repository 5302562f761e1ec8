// Package cache keeps decoded parts of tables in memory, within one budget per process. A key is
// the URI of an object and a part of it. For example, the rows 0 to 65535 of column 3 in a data
// file are cached under the table's URI and the part
//
//	t.lance/data/0100….lance?52714#0-65536 …@3
//
// which names the file, its size, the rows, the form of the field and its column. See package
// fragment for the keys.
package cache

import (
	"math"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"
)

// A Cache holds decoded parts of tables: manifests, file footers, deletion vectors, columns. One
// budget in bytes covers all tables of a process. Values are immutable and keys name all inputs, so
// entries never become stale. The newest version of a table is not such a value; storage is asked
// each time.
type Cache struct {
	entries *otter.Cache[key, cached]
	max     uint64
}

// A key is an object's URI and the cached part of it.
type key struct {
	object string
	part   string
}

type cached struct {
	value any
	bytes uint32
}

// DefaultBytes is the budget when none is configured.
const DefaultBytes = 512 << 20

// New returns a cache of about maxBytes, or DefaultBytes if that is 0.
func New(maxBytes uint64) *Cache {
	if maxBytes == 0 {
		maxBytes = DefaultBytes
	}
	return &Cache{
		max: maxBytes,
		entries: otter.Must(&otter.Options[key, cached]{
			MaximumWeight: maxBytes,
			Weigher:       func(_ key, c cached) uint32 { return c.bytes },
			StatsRecorder: stats.NewCounter(), // striped, so that lookups do not contend for one counter
			// Evict in the calling goroutine: on a busy machine a separate one would be late.
			Executor: func(leave func()) { leave() },
		}),
	}
}

// Get returns the value that was put under the key, if it is of type T.
func Get[T any](c *Cache, object, part string) (T, bool) {
	entry, ok := c.entries.GetIfPresent(key{object, part})
	if !ok {
		var none T
		return none, false
	}
	value, ok := entry.value.(T)
	return value, ok
}

// entryOverhead is the approximate size of an entry without its value.
const entryOverhead = 256

// Put caches a value of the given size, unless it exceeds MaxEntry.
func Put(c *Cache, object, part string, value any, bytes int64) {
	bytes += entryOverhead
	if bytes > c.MaxEntry() {
		return
	}
	c.entries.Set(key{object, part}, cached{value: value, bytes: uint32(bytes)})
}

// PutGrowing caches a value that may grow by later bytes. The growth is charged in advance, up to
// MaxEntry.
func PutGrowing(c *Cache, object, part string, value any, bytes, later int64) {
	Put(c, object, part, value, max(bytes, min(bytes+later, c.MaxEntry()-entryOverhead)))
}

// RecountBytes is the growth after which a cached value is put again with its new size.
const RecountBytes = 64 << 10

// Usage is what a cache holds, and the results of its lookups since it was made.
type Usage struct {
	Hits, Misses int64
	HeldBytes    int64
	LimitBytes   int64
}

// Usage returns the present usage. It may evict entries that are due.
func (c *Cache) Usage() Usage {
	counted := c.entries.Stats()
	return Usage{
		Hits: int64(counted.Hits), Misses: int64(counted.Misses), HeldBytes: int64(c.entries.WeightedSize()),
		LimitBytes: int64(min(c.max, math.MaxInt64)),
	}
}

// MaxBytes returns the approximate capacity in bytes.
func (c *Cache) MaxBytes() uint64 { return c.max }

// MaxEntry returns the approximate size limit of one entry: a quarter of the capacity.
func (c *Cache) MaxEntry() int64 { return int64(min(c.max/4, math.MaxUint32)) }

// Drop removes the value under the key.
func (c *Cache) Drop(object, part string) { c.entries.Invalidate(key{object, part}) }
