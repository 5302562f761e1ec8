// Package diskstore keeps objects as files below a directory. Native Lance may read and write the same
// directory at the same time, and so may any number of processes that open a Store on it.
//
// An object is a file whose path is the object's key. The store writes and syncs it under a temporary name
// and then renames it. If the object must be new, the rename fails if the name exists. A crash therefore
// leaves an object complete, unchanged or absent. A conditional overwrite or delete consists of a check and
// a change; a file lock makes the two atomic among all Stores on the directory. Native writers do not use
// the locks. They are excluded only by renames that must not replace a file, which suffices for commits.
//
// Unfinished files of native writers are in the folders of their objects, and are listed as well: Lance
// creates ".tmpXXXXXX" and "<name>#1", which sort among the manifests, so the first key of a listing need
// not be a manifest.
//
// A process that dies leaves each object complete or absent. So does a power failure, with one exception:
// an unconditional put of a new key that had not returned yet may leave a part of the object. Conditional
// puts, and puts over an object, sync the bytes before they rename the file.
//
// A directory cannot hold both "a" and "a/b" (the second put is ErrOverlap), and on some systems it cannot
// distinguish "A" from "a". Symbolic links below the root are neither listed nor followed, because a
// program with access to one folder could create a link to another one, such as the catalog's. Locks,
// unfinished files and a reserve of space are in _tiltyard at the root. That folder is not listed, its keys
// are refused, and it must not be removed while a Store is open.
package diskstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

const (
	tempDir  = objectstore.ReservedName + "/tmp"
	locksDir = objectstore.ReservedName + "/locks"

	// Up to these bounds ranges are read sequentially, because a read from the page cache is cheaper than a
	// goroutine. Beyond them, this number of readers runs in parallel.
	serialRanges = 8
	serialBytes  = 1 << 20
	readers      = 8

	// An unfinished file of this age was left by a crash.
	staleAfter = time.Hour
)

// ErrOverlap means that a key cannot be put, because a parent folder of the key is an object, or because
// the key is a folder of other objects.
var ErrOverlap = errors.New("a directory cannot hold an object and a folder of the same name")

// A Store holds objects in a directory. Open makes one.
type Store struct {
	root  *os.Root
	top   *handle // the root
	temp  *handle // the directory of unfinished files
	locks *lockTable
	names nameCache

	reserve reserve
	mu      sync.Mutex
	durable map[string]identity // directories whose entries have been synced
}

var _ objectstore.Store = (*Store)(nil)

// Open returns a store over the directory root. It creates the directory if it is missing, and removes
// unfinished files of crashed processes.
func Open(root string) (*Store, error) {
	if err := makeRoot(root); err != nil {
		return nil, fmt.Errorf("open disk store: %w", err)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open disk store: %w", err)
	}
	s := &Store{root: r, locks: newLockTable(r), durable: make(map[string]identity), names: newNameCache()}
	if err := s.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("open disk store %s: %w", root, err), s.Close())
	}
	s.removeStale(time.Now())
	s.reserve.spent = s.makeReserve() != nil
	return s, nil
}

// begin makes and opens the store's own directories.
func (s *Store) begin() (err error) {
	for _, dir := range []string{tempDir, locksDir} {
		if err := s.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if s.top, err = openIn(s.root, ".", os.O_RDONLY); err != nil {
		return err
	}
	s.temp, err = openIn(s.root, tempDir, os.O_RDONLY)
	return err
}

// Close frees the store's file handles. No method may be called afterwards.
func (s *Store) Close() error {
	var errs []error
	for _, h := range []*handle{s.top, s.temp} {
		if h != nil {
			errs = append(errs, h.Close())
		}
	}
	return errors.Join(append(errs, s.locks.close(), s.root.Close())...)
}

// removeStale removes files that crashed writers have left. It ignores errors, because such a file
// only takes space.
func (s *Store) removeStale(now time.Time) {
	dir, err := s.root.Open(tempDir) // a separate handle, because reading moves its position
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		st, err := statAt(s.temp, name)
		if err == nil && isRegular(st) && now.Sub(modified(st)) > staleAfter {
			_ = unix.Unlinkat(s.temp.fd, name, 0)
		}
	}
}

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	parts, info, err := s.read(ctx, key, []objectstore.Range{{Offset: -1 << 63}})
	if err != nil {
		return nil, objectstore.Info{}, fmt.Errorf("get %q: %w", key, err)
	}
	return parts[0], info, nil
}

// GetRanges implements objectstore.Store.
func (s *Store) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	parts, info, err := s.read(ctx, key, ranges)
	if err != nil {
		return nil, objectstore.Info{}, &getError{key, err}
	}
	return parts, info, nil
}

// A getError is an error of GetRanges. Its text is made only when it is read: to find the newest version of a table, each
// request asks for a version that does not exist.
type getError struct {
	key string
	err error
}

func (e *getError) Error() string { return fmt.Sprintf("get ranges of %q: %v", e.key, e.err) }

func (e *getError) Unwrap() error { return e.err }

// read reads ranges of an object from one open file, so that all come from the same version.
func (s *Store) read(ctx context.Context, key string, ranges []objectstore.Range) ([][]byte, objectstore.Info, error) {
	if err := checkKey(key); err != nil {
		return nil, objectstore.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, objectstore.Info{}, err
	}
	// Without O_NONBLOCK, opening a pipe that another program has placed here would hang.
	f, err := s.open(toPath(key), unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, objectstore.Info{}, missing(err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.stat()
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	if !isRegular(st) {
		return nil, objectstore.Info{}, objectstore.ErrNotExist
	}
	parts, err := readRanges(ctx, f, st.Size, ranges)
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	return parts, infoOf(key, st), nil
}

// readRanges checks all ranges against size before it allocates memory for any.
func readRanges(ctx context.Context, f io.ReaderAt, size int64, ranges []objectstore.Range) ([][]byte, error) {
	var total int64
	for _, r := range ranges {
		_, length, err := r.Within(size)
		if err != nil {
			return nil, err
		}
		total += length
	}
	parts := make([][]byte, len(ranges))
	if len(ranges) < 2 || len(ranges) <= serialRanges && total <= serialBytes {
		for i, r := range ranges {
			part, err := readRange(ctx, f, size, r)
			if err != nil {
				return nil, err
			}
			parts[i] = part
		}
		return parts, nil
	}
	// Most reads take less time than to begin a goroutine.
	group, ctx := errgroup.WithContext(ctx)
	next := atomic.Int64{}
	for range min(readers, len(ranges)) {
		group.Go(func() (err error) {
			for i := next.Add(1) - 1; i < int64(len(ranges)) && err == nil; i = next.Add(1) - 1 {
				parts[i], err = readRange(ctx, f, size, ranges[i])
			}
			return err
		})
	}
	return parts, group.Wait()
}

// readRange reads one range of a file of the given size.
func readRange(ctx context.Context, f io.ReaderAt, size int64, r objectstore.Range) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	offset, length, err := r.Within(size)
	if err != nil {
		return nil, err
	}
	part := make([]byte, length)
	// ReadAt may add io.EOF to a full read that ends with the file.
	if n, err := f.ReadAt(part, offset); n < len(part) {
		return nil, fmt.Errorf("read %d bytes at %d: %w", length, offset, err)
	}
	return part, nil
}

// missing turns the errors of a path that does not exist into ErrNotExist. That includes a path
// through an object, which is not a folder, and a path through a link.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, objectstore.ErrLink) {
		return objectstore.ErrNotExist
	}
	return err
}

func infoOf(key string, st *unix.Stat_t) objectstore.Info {
	return objectstore.Info{Key: key, Size: st.Size, ETag: etagOf(st), Modified: modified(st)}
}

// etagOf returns the ETag of a file. Inode numbers are reused, but each put sets a unique modification time
// in nanoseconds, so two versions of an object differ in at least one of the two.
func etagOf(st *unix.Stat_t) string {
	b := make([]byte, 0, 40)
	b = strconv.AppendUint(b, st.Ino, 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, st.Mtim.Nano(), 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, st.Size, 36)
	return string(b)
}

func modified(st *unix.Stat_t) time.Time { return time.Unix(st.Mtim.Unix()) }

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

func isDir(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// ReadGap implements objectstore.Gapper. It is one page of memory, because a further range costs one system
// call.
func (s *Store) ReadGap() int64 { return 4 << 10 }
