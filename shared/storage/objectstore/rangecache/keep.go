package rangecache

import (
	"sync"

	"tiltyard/shared/process/memory"
)

const (
	// maxWaiting bounds the bytes of entries that wait to be written, and so does an eighth of the memory of
	// requests. Further ones are not kept.
	maxWaiting = 32 << 20
	// maxWriters bounds the entries that are written at the same time.
	maxWriters = 8
)

// A keeper writes entries beside the answers that they belong to.
type keeper struct {
	cache   *Cache
	share   *memory.Share
	most    int64          // bytes that may wait
	writing sync.WaitGroup // the writers

	mu      sync.Mutex
	queue   []writable
	waiting map[digest]bool // in the queue, or being written
	bytes   int64           // of those
	writers int
}

// A writable is an entry on its way to the tiers.
type writable struct {
	name     digest
	blob     []byte
	toBucket bool // and not only to the folder
}

// keep lets a writer write an entry, unless too many wait or memory is short. The entry's bytes remain the
// caller's.
func (k *keeper) keep(name digest, e entry, toBucket bool) {
	if k.cache.disk == nil && !toBucket {
		return
	}
	bytes := int64(headerBytes + len(e.data))
	if len(e.data) > maxEntry || !k.admit(name, bytes) {
		return
	}
	blob := encode(e, name)
	if blob == nil {
		k.forget(name, bytes)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, writable{name, blob, toBucket})
	if k.writers < maxWriters {
		k.writers++
		k.writing.Go(k.write)
	}
}

// admit takes the memory of an entry. It reports false if there is none, or if the entry is already on its way.
func (k *keeper) admit(name digest, bytes int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting[name] || k.bytes+bytes > k.most || !k.share.Try(bytes) {
		return false
	}
	k.waiting[name] = true
	k.bytes += bytes
	return true
}

// forget returns the memory of an entry.
func (k *keeper) forget(name digest, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.waiting, name)
	k.bytes -= bytes
	k.share.Give(bytes)
}

// clear gives up the entries that no writer has begun with.
func (k *keeper) clear() {
	k.mu.Lock()
	given := k.queue
	k.queue = nil
	k.mu.Unlock()
	for _, w := range given {
		k.forget(w.name, int64(len(w.blob)))
	}
}

// write writes entries until none waits.
func (k *keeper) write() {
	for {
		k.mu.Lock()
		if len(k.queue) == 0 {
			k.queue = nil
			k.writers--
			k.mu.Unlock()
			return
		}
		w := k.queue[0]
		k.queue[0] = writable{}
		k.queue = k.queue[1:]
		k.mu.Unlock()
		k.cache.write(w)
		k.forget(w.name, int64(len(w.blob)))
	}
}

// write writes an entry to the tiers that take it.
func (c *Cache) write(w writable) {
	if c.disk != nil && c.disk.put(w.name, w.blob) {
		c.usage.kept.Add(1)
	}
	if c.bucket != nil && w.toBucket && c.bucket.put(w.name, w.blob) {
		c.usage.kept.Add(1)
	}
}
