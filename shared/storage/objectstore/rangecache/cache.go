// Package rangecache keeps ranges of immutable objects nearer than the bucket that holds them: in a folder of
// this machine, in a bucket with faster answers, or in both. It is the tier between the cache in memory, which
// holds decoded parts of tables, and the store of the tables. What one instance of a function or one run of a
// server has read, the next ones find.
//
// [Cache.Store] wraps a store. Its GetRanges looks each range up in the folder, then in the bucket, and asks the
// wrapped store only for the rest, in one call. Ranges are kept as they were read, because the same query reads
// the same ranges. Only objects that the caller declares immutable are kept: their names are never used for other
// bytes. All else passes through: whole objects, listings, writes, requests without ranges, and reads in a
// context of [objectstore.Passing].
//
// An entry's name is a digest of everything that its bytes depend on: the place of the store, the key, and the
// range. The entry repeats the digest and has a checksum, and the size and the ETag of the object (entry.go). An
// entry that does not fit counts as absent, and so does one that is older than a week. If the entries of a call
// are from different objects, all of it is read from the store.
//
// No fault of a tier fails a read. A folder that takes no writes, and a bucket that does not answer in time, are
// left alone for a while (disk.go, bucket.go). Entries are written beside the answers, within a bound of bytes
// (keep.go).
package rangecache

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

const (
	// maxEntry bounds the bytes of a range that is kept. To transfer a longer one takes much longer than to
	// wait for its first byte, so that it would gain little.
	maxEntry = 8 << 20
	// maxAge is how long an entry is used. It bounds the time for which the bytes of deleted files remain.
	maxAge = 7 * 24 * time.Hour
)

// Options are the parts of a Cache. Immutable and Now are required, and one of Disk and Bucket.
type Options struct {
	Disk   *Disk             // nil: none
	Bucket objectstore.Store // needs only reads and puts; nil: none
	// Immutable reports whether the name of an object is never used for other bytes.
	Immutable func(key string) bool
	Memory    *memory.Budget // of the entries that wait to be written; nil: only the bound of the package applies
	Now       func() time.Time
	Logger    *slog.Logger // receives warnings about the tiers; nil disables them
}

// A Cache keeps ranges of the objects of several stores. It is safe for concurrent use.
type Cache struct {
	disk      *Disk
	bucket    *bucket
	immutable func(key string) bool
	now       func() time.Time
	keeper    keeper
	usage     usage
}

// New returns a cache. It sends no request.
func New(o Options) *Cache {
	c := &Cache{disk: o.Disk, immutable: o.Immutable, now: o.Now}
	logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Bucket != nil {
		c.bucket = newBucket(o.Bucket, o.Now, logger)
	}
	c.keeper = keeper{cache: c, share: o.Memory.Open(), most: maxWaiting, waiting: map[digest]bool{}}
	if o.Memory != nil {
		c.keeper.most = min(maxWaiting, o.Memory.Limit()/8)
	}
	return c
}

// Wait returns when all entries are written that were read before. No read may begin meanwhile.
func (c *Cache) Wait() { c.keeper.writing.Wait() }

// Close gives up the entries that wait to be written, and returns when those that are being written are. No read
// may begin after it. It does nothing for nil.
func (c *Cache) Close() {
	if c != nil {
		c.keeper.clear()
		c.Wait()
	}
}

// Usage is where ranges of immutable objects were found since the cache was made.
type Usage struct {
	Disk, Bucket int64 // found there
	Store        int64 // read from the store
	Kept         int64 // entries that were written, in either tier
}

type usage struct{ disk, bucket, store, kept atomic.Int64 }

// Usage returns the counts so far. That of nil is zero.
func (c *Cache) Usage() Usage {
	if c == nil {
		return Usage{}
	}
	return Usage{c.usage.disk.Load(), c.usage.bucket.Load(), c.usage.store.Load(), c.usage.kept.Load()}
}

// Store returns s with its ranges kept. place identifies the objects of s among all stores that use the same
// tiers, now and later: the address of the server, if it is not the usual one, and the URI of the root.
func (c *Cache) Store(s objectstore.Store, place string) objectstore.Store {
	return &store{Store: s, cache: c, place: place}
}

// A store looks up ranges before it reads them.
type store struct {
	objectstore.Store
	cache *Cache
	place string
}

// Unwrap implements [objectstore.Wrapper].
func (s *store) Unwrap() objectstore.Store { return s.Store }

// ReadGap implements [objectstore.Gapper] as the inner store does.
func (s *store) ReadGap() int64 { return objectstore.ReadGap(s.Store) }

// Writable implements [objectstore.Writable] as the inner store does.
func (s *store) Writable(ctx context.Context) error { return objectstore.Writable(ctx, s.Store) }

// CopyFrom implements [objectstore.Copier] with the inner store.
func (s *store) CopyFrom(ctx context.Context, from objectstore.Store, was objectstore.Info, key string) error {
	return objectstore.CopyWithin(ctx, from, was, s.Store, key)
}

// GetRanges implements [objectstore.Store].
func (s *store) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	if !s.isKept(ctx, key, ranges) {
		return s.Store.GetRanges(ctx, key, ranges...)
	}
	r := newReading(s, key, ranges)
	r.lookUp(ctx)
	return r.finish(ctx)
}

// isKept reports whether ranges are looked up and kept. Empty and invalid ranges are for the inner store.
func (s *store) isKept(ctx context.Context, key string, ranges []objectstore.Range) bool {
	if len(ranges) == 0 || objectstore.IsPassing(ctx) || !s.cache.immutable(key) {
		return false
	}
	for _, r := range ranges {
		if r.Offset >= 0 && r.Length <= 0 {
			return false
		}
	}
	return true
}
