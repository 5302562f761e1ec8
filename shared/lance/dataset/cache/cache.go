// Package cache keeps decoded parts of tables in memory, within one budget for a process.
package cache

import (
	"math"

	"github.com/maypok86/otter/v2"
)

// A Cache keeps what was read of tables: manifests, file footers, deletion vectors, decoded
// columns. It has a budget of bytes for all tables of a process. All values are immutable, so an
// entry is never wrong: its key holds all that it depends on. The number of the newest version of
// a table is asked for each time.
type Cache struct {
	entries *otter.Cache[key, cached]
	max     uint64
}

// A key is the URI of an object and the part of it that the entry holds.
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

// New returns a cache that holds at most about maxBytes, or DefaultBytes if that is 0.
func New(maxBytes uint64) *Cache {
	if maxBytes == 0 {
		maxBytes = DefaultBytes
	}
	return &Cache{
		max: maxBytes,
		entries: otter.Must(&otter.Options[key, cached]{
			MaximumWeight: maxBytes,
			Weigher:       func(_ key, c cached) uint32 { return c.bytes },
			// Entries leave in the goroutine that puts others: one of their own would come late on a busy machine.
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

// entryOverhead is roughly the size of an entry without its value.
const entryOverhead = 256

// Put keeps a value of the given size, unless that is a large part of the budget.
func Put(c *Cache, object, part string, value any, bytes int64) {
	bytes += entryOverhead
	if bytes > c.MaxEntry() {
		return
	}
	c.entries.Set(key{object, part}, cached{value: value, bytes: uint32(bytes)})
}

// PutGrowing is [Put] for a value that takes more memory later, which counts as far as an entry may.
func PutGrowing(c *Cache, object, part string, value any, bytes, later int64) {
	Put(c, object, part, value, max(bytes, min(bytes+later, c.MaxEntry()-entryOverhead)))
}

// RecountBytes is by how much a kept value may grow before it is put again.
const RecountBytes = 64 << 10

// MaxBytes returns about how many bytes the cache holds at most.
func (c *Cache) MaxBytes() uint64 { return c.max }

// MaxEntry returns about how many bytes an entry has at most.
func (c *Cache) MaxEntry() int64 { return int64(min(c.max/4, math.MaxUint32)) }

// Drop removes the value under the key.
func (c *Cache) Drop(object, part string) { c.entries.Invalidate(key{object, part}) }
