package diskstore

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A nameCache remembers the sorted entries of large directories, so that a listing page
// by page does not read and sort the whole directory for each page.
//
// What is remembered holds while the directory's time of modification is what it was.
// That time is only as fine as the kernel's tick, so two changes within one may bear the
// same: entries are only remembered when the directory had been quiet for longer than that
// when they were read. Any later change then has a later time.
type nameCache struct {
	mu   sync.Mutex
	dirs map[string]sortedDir
	size int // entries of all
}

type sortedDir struct {
	modified time.Time
	entries  []entry // not to be changed
}

func newNameCache() nameCache { return nameCache{dirs: map[string]sortedDir{}} }

const (
	quietTime   = 200 * time.Millisecond // far above a tick
	minRemember = 64                     // smaller directories are read as fast
	maxRemember = 200_000                // entries of all directories
)

// get returns the entries of the directory, if it has not changed since.
func (c *nameCache) get(dir string, modified time.Time) ([]entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.dirs[dir]
	if !ok || !known.modified.Equal(modified) {
		return nil, false
	}
	return known.entries, true
}

// put remembers entries that were read at a time when the directory had been modified last.
func (c *nameCache) put(dir string, modified, read time.Time, entries []entry) {
	if len(entries) < minRemember || len(entries) > maxRemember || read.Sub(modified) < quietTime {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += len(entries) - len(c.dirs[dir].entries)
	c.dirs[dir] = sortedDir{modified: modified, entries: entries}
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
func (l *listing) sorted(dir, prefix string) ([]entry, error) {
	d, err := l.store.openDir(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer func() { _ = d.Close() }()
	st, err := d.stat()
	if err != nil {
		return nil, err
	}
	if entries, ok := l.store.names.get(dir, modified(st)); ok {
		return entries, nil
	}
	read := time.Now()
	l.split = false
	entries, err := l.entries(nil, dir, prefix, false)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	if !l.split {
		l.store.names.put(dir, modified(st), read, entries)
	}
	return entries, nil
}
