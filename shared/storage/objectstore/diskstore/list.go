package diskstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"tiltyard/shared/storage/objectstore"
)

// List implements objectstore.Store. It reads the directory of the prefix, and below it only the
// directories of the page. In a folder that becomes a common prefix it stops at the first object. It calls
// stat only for files in the page.
func (s *Store) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	if err := objectstore.CheckList(opts); err != nil {
		return objectstore.ListPage{}, err
	}
	l := listing{store: s, opts: opts}
	defer l.close()
	switch err := l.run(ctx); {
	case errors.Is(err, errFull):
		l.page.More = true
	case err != nil:
		return objectstore.ListPage{}, fmt.Errorf("list %q: %w", opts.Prefix, err)
	}
	return l.page, nil
}

// A listing walks the tree in key order and fills a page.
type listing struct {
	store *Store
	opts  objectstore.ListOptions
	page  objectstore.ListPage

	open   *handle // the directory of the last object that was added
	openAt string
	split  bool // a directory that was read contains the last pieces of long names
}

// holdsBatch is the number of names that are read at a time in the search for an object.
const holdsBatch = 64

// errFull ends a walk when the page is full and more entries exist.
var errFull = errors.New("page is full")

// run begins the listing at the folder of the prefix.
func (l *listing) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	end := strings.LastIndexByte(l.opts.Prefix, '/')
	if end < 0 {
		return l.walk(ctx, ".", "")
	}
	if checkKey(l.opts.Prefix[:end]) != nil {
		return nil //nolint:nilerr // no key begins like this
	}
	return l.walk(ctx, toPath(l.opts.Prefix[:end]), l.opts.Prefix[:end+1])
}

// An entry is an object, or a folder whose key ends with a slash. Sorted by these keys, the entries
// of a folder are in the order of all keys below them: with its slash, the folder "a/" sorts where
// "a/…" belongs, after "a-b" and before "a0".
type entry struct {
	key       string
	dir, name string // path of the directory below the root, and the name in it
}

func (e entry) isFolder() bool { return e.key[len(e.key)-1] == '/' }

// walk lists the directory dir, whose keys begin with prefix.
func (l *listing) walk(ctx context.Context, dir, prefix string) error {
	entries, err := l.sorted(ctx, dir, prefix)
	if err != nil {
		return err
	}
	for _, e := range l.behindStart(entries) {
		switch {
		case e.isFolder() && !l.mayHold(e.key), !e.isFolder() && !l.wants(e.key):
			continue
		case !e.isFolder():
			err = l.object(e)
		case l.opts.Delimiter != "" && len(e.key) > len(l.opts.Prefix):
			err = l.folder(ctx, e)
		default:
			err = l.walk(ctx, path.Join(e.dir, e.name), e.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// behindStart leaves out entries before the start of the listing. It keeps a folder that contains
// the start.
func (l *listing) behindStart(entries []entry) []entry {
	first := sort.Search(len(entries), func(i int) bool { return entries[i].key > l.opts.StartAfter })
	return entries[max(first-1, 0):]
}

// entries appends the entries of dir, whose keys begin with prefix. A directory with the last pieces of
// long names is read together with its parent, because its entries sort between those of the parent. inside
// is true for such a directory; prefix then ends within a component.
func (l *listing) entries(ctx context.Context, to []entry, dir, prefix string, inside bool) ([]entry, error) {
	found, err := l.readDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		part, goesOn, ok := fromName(f.Name(), inside)
		key := prefix + part
		switch {
		case !ok:
		case goesOn:
			l.split = true
			if f.IsDir() && l.mayHold(key) {
				if to, err = l.entries(ctx, to, path.Join(dir, f.Name()), key, true); err != nil {
					return nil, err
				}
			}
		case f.IsDir():
			if checkKey(key) == nil {
				to = append(to, entry{key + "/", dir, f.Name()})
			}
		case f.Type().IsRegular() && checkKey(key) == nil:
			to = append(to, entry{key, dir, f.Name()})
		}
	}
	return to, nil
}

func (l *listing) readDir(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := l.store.openNames(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer func() { _ = d.Close() }()
	found, err := d.ReadDir(-1)
	return found, ignoreMissing(err)
}

// wants reports whether the listing includes the object with this key.
func (l *listing) wants(key string) bool {
	return key > l.opts.StartAfter && strings.HasPrefix(key, l.opts.Prefix)
}

// mayHold reports whether the listing may include keys that begin with start.
func (l *listing) mayHold(start string) bool {
	inPrefix := strings.HasPrefix(start, l.opts.Prefix) || strings.HasPrefix(l.opts.Prefix, start)
	return inPrefix && (start > l.opts.StartAfter || strings.HasPrefix(l.opts.StartAfter, start))
}

// object adds an object to the page, unless it has disappeared. Consecutive objects are usually in the same
// directory, so its handle stays open.
func (l *listing) object(e entry) error {
	if l.full() {
		return errFull
	}
	if l.opts.KeysOnly {
		l.page.Objects = append(l.page.Objects, objectstore.Info{Key: e.key})
		return nil
	}
	if l.open == nil || l.openAt != e.dir {
		l.close()
		d, err := l.store.openDir(e.dir)
		if err != nil {
			return ignoreMissing(err)
		}
		l.open, l.openAt = d, e.dir
	}
	st, err := statAt(l.open, e.name)
	if err != nil {
		return ignoreMissing(err)
	}
	if isRegular(st) {
		l.page.Objects = append(l.page.Objects, infoOf(e.key, st))
	}
	return nil
}

func (l *listing) close() {
	if l.open != nil {
		_ = l.open.Close()
	}
}

// folder adds a common prefix to the page if the folder contains an object.
func (l *listing) folder(ctx context.Context, e entry) error {
	if e.key <= l.opts.StartAfter {
		return nil
	}
	holds, err := l.holdsObject(ctx, path.Join(e.dir, e.name), false)
	if err != nil || !holds {
		return err
	}
	if l.full() {
		return errFull
	}
	l.page.Prefixes = append(l.page.Prefixes, e.key)
	return nil
}

func (l *listing) full() bool {
	return l.opts.Limit > 0 && len(l.page.Objects)+len(l.page.Prefixes) == l.opts.Limit
}

// holdsObject reports whether an object exists below dir. It reads the names in batches.
func (l *listing) holdsObject(ctx context.Context, dir string, inside bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	d, err := l.store.openNames(dir)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer func() { _ = d.Close() }()
	for {
		found, err := d.ReadDir(holdsBatch)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, ignoreMissing(err)
		}
		// Files first, because a file decides without further reads.
		slices.SortFunc(found, func(a, b fs.DirEntry) int { return cmp.Compare(a.Type(), b.Type()) })
		for _, f := range found {
			_, goesOn, ok := fromName(f.Name(), inside)
			holds := ok && f.Type().IsRegular() && !goesOn
			if ok && f.IsDir() {
				if holds, err = l.holdsObject(ctx, path.Join(dir, f.Name()), goesOn); err != nil {
					return false, err
				}
			}
			if holds {
				return true, nil
			}
		}
	}
}

// ignoreMissing ignores the error for an entry that was removed after its name was read.
func ignoreMissing(err error) error {
	if errors.Is(missing(err), objectstore.ErrNotExist) {
		return nil
	}
	return err
}
