package diskstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A nameCache remembers the sorted entries of large directories, so that a listing in pages does
// not read and sort the whole directory for each page.
//
// Remembered entries are valid while the directory is the same one and its times are unchanged. The
// resolution of these times is a tick of the kernel or of the file system's clock, so two changes
// within one tick have the same times. Therefore entries are remembered only if the directory had
// been unchanged for longer than a tick when they were read. Any later change then has a later
// change time, even if the modification time is set back.
type nameCache struct {
	mu   sync.Mutex
	dirs map[string]sortedDir
	size int // number of entries of all directories
}

// sortedDir holds the cached entries of a directory, with the state for which they are valid.
type sortedDir struct {
	state   dirState
	entries []entry // must not be changed
}

// dirState is the state of a directory when its entries were read. The times are in nanoseconds.
type dirState struct {
	device, inode     uint64
	modified, changed int64
}

func stateOf(st *unix.Stat_t) dirState {
	return dirState{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()} //nolint:unconvert // elsewhere devices are int32
}

// quiet reports whether every change after read will get different times.
func (s dirState) quiet(read time.Time) bool {
	last, tick := max(s.modified, s.changed), quietTime
	if last%int64(time.Second) == 0 {
		tick = coarseTime
	}
	return read.UnixNano()-last >= int64(tick)
}

func newNameCache() nameCache { return nameCache{dirs: map[string]sortedDir{}} }

const (
	quietTime   = 200 * time.Millisecond // far longer than a tick
	coarseTime  = 3 * time.Second        // longer than the two seconds of the coarsest file systems
	minRemember = 64                     // smaller directories are read as fast without a cache
	maxRemember = 200_000                // entries of all directories together
)

// get returns the entries of the directory, if it has not changed since they were read.
func (c *nameCache) get(dir string, now dirState) ([]entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.dirs[dir]
	if !ok || known.state != now {
		return nil, false
	}
	return known.entries, true
}

// put remembers entries that were read at the time read, after the state was taken.
func (c *nameCache) put(dir string, state dirState, read time.Time, entries []entry) {
	if len(entries) < minRemember || len(entries) > maxRemember || !state.quiet(read) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += len(entries) - len(c.dirs[dir].entries)
	c.dirs[dir] = sortedDir{state: state, entries: entries}
	for other, d := range c.dirs {
		if c.size <= maxRemember {
			return
		}
		if other != dir {
			c.size -= len(d.entries)
			delete(c.dirs, other)
		}
	}
}

// sorted returns the entries of the directory, sorted by their keys, which begin with prefix. It includes
// all entries that the listing needs, and perhaps more.
func (l *listing) sorted(ctx context.Context, dir, prefix string) ([]entry, error) {
	d, err := l.store.openDir(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer func() { _ = d.Close() }()
	st, err := d.stat()
	if err != nil {
		return nil, err
	}
	if entries, ok := l.store.names.get(dir, stateOf(st)); ok {
		return entries, nil
	}
	read := time.Now()
	l.split = false
	entries, err := l.entries(ctx, nil, dir, prefix, false)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	if !l.split {
		l.store.names.put(dir, stateOf(st), read, entries)
	}
	return entries, nil
}
