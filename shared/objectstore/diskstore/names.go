package diskstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A nameCache remembers the sorted entries of large directories, so that a listing page
// by page does not read and sort the whole directory for each page.
//
// What is remembered holds while the directory is the same one and its times are what they
// were. These are only as fine as the kernel's tick, or the file system's clock, so two changes
// within one may bear the same: entries are only remembered when the directory had been quiet
// for longer than that when they were read. Any later change then has a later time of change,
// also one after which the time of modification is set back.
type nameCache struct {
	mu   sync.Mutex
	dirs map[string]sortedDir
	size int // entries of all
}

type sortedDir struct {
	state   dirState
	entries []entry // not to be changed
}

// dirState is what a directory was when its entries were read. The times are nanoseconds.
type dirState struct {
	device, inode     uint64
	modified, changed int64
}

func stateOf(st *unix.Stat_t) dirState {
	return dirState{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()} //nolint:unconvert // elsewhere devices are int32
}

// quiet says whether no change after a moment can bear the same times.
func (s dirState) quiet(read time.Time) bool {
	last, tick := max(s.modified, s.changed), quietTime
	if last%int64(time.Second) == 0 {
		tick = coarseTime
	}
	return read.UnixNano()-last >= int64(tick)
}

func newNameCache() nameCache { return nameCache{dirs: map[string]sortedDir{}} }

const (
	quietTime   = 200 * time.Millisecond // far above a tick
	coarseTime  = 3 * time.Second        // above those of file systems that count in seconds, or pairs of them
	minRemember = 64                     // smaller directories are read as fast
	maxRemember = 200_000                // entries of all directories
)

// get returns the entries of the directory, if it has not changed since.
func (c *nameCache) get(dir string, now dirState) ([]entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.dirs[dir]
	if !ok || known.state != now {
		return nil, false
	}
	return known.entries, true
}

// put remembers entries that were read at a time, after the state was.
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

// sorted returns the entries of the directory that may be asked for, and perhaps more,
// sorted by their keys, which begin with prefix.
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
