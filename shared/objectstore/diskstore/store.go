// Package diskstore keeps objects as files below a directory. Native Lance may read and
// write the same directory at the same time, and so may any number of processes that
// open a Store on it.
//
// An object is a file at the path that its key spells. It is written under another name,
// synced, and then appears at once: by a rename, which fails where something exists when the
// object must be new. A crash therefore leaves an object whole, as it was before, or absent.
// Conditional overwrites and deletes are a look and an act; a file lock makes the two one step
// among all Stores on the directory. Writers that know nothing of the locks are held off only
// by names that must be free, which is enough for commits.
//
// What foreign writers have not finished lies beside their objects and is listed like them:
// Lance makes ".tmpXXXXXX" and "<name>#1", which sort among the manifests, so that the
// first key of a listing need not be one.
//
// A process that dies leaves each object whole or absent. So does a power cut, but for a
// plain put of a new key that had not returned yet: of that there may be a part. Puts with
// a condition, and puts over an object, sync the bytes before they give them their name.
//
// What a directory cannot do: hold both "a" and "a/b" (the second put is ErrOverlap), and
// on some systems tell "A" from "a". Symbolic links below the root are neither listed nor
// followed, wherever they lead: who may write one folder could let it lead to another, such as
// that of the catalog. Locks and unfinished files live in _tiltyard at the root, which is not
// listed and whose keys are refused; it must not be removed while a Store is open.
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
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"tiltyard/shared/objectstore"
)

const (
	tempDir  = objectstore.ReservedName + "/tmp"
	locksDir = objectstore.ReservedName + "/locks"

	// Ranges are read one after the other up to these bounds, and beyond them by so many
	// readers: a read from the page cache is cheaper than a goroutine.
	serialRanges = 8
	serialBytes  = 1 << 20
	readers      = 8

	// An unfinished file this old was left by a crash.
	staleAfter = time.Hour
)

// ErrOverlap says that a key cannot be put because one of its leading folders is an
// object, or because the key is a folder of other objects.
var ErrOverlap = errors.New("a directory cannot hold an object and a folder of the same name")

// A Store holds objects in a directory. Make one with Open.
type Store struct {
	root  *os.Root
	top   *handle // the root
	temp  *handle // the directory of unfinished files
	locks *lockTable
	names nameCache

	mu      sync.Mutex
	durable map[string]identity // directories whose own entries are synced
}

var _ objectstore.Store = (*Store)(nil)

// Open returns a store on the directory root, which it makes if it is missing, and
// removes unfinished files that a crash left there.
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

// removeStale removes what crashed writers left. A file that cannot be removed only
// takes room, so errors do not matter.
func (s *Store) removeStale(now time.Time) {
	dir, err := s.root.Open(tempDir) // a handle of its own: reading moves its position
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
		return nil, objectstore.Info{}, fmt.Errorf("get ranges of %q: %w", key, err)
	}
	return parts, info, nil
}

func (s *Store) read(ctx context.Context, key string, ranges []objectstore.Range) ([][]byte, objectstore.Info, error) {
	if err := checkKey(key); err != nil {
		return nil, objectstore.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, objectstore.Info{}, err
	}
	// Without O_NONBLOCK the open of a pipe that someone placed here would hang.
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

// readRanges checks all ranges against size before it allocates for any.
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
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, r := range ranges {
		group.Go(func() (err error) {
			parts[i], err = readRange(ctx, f, size, r)
			return err
		})
	}
	return parts, group.Wait()
}

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

// missing turns the errors of a path that leads nowhere into ErrNotExist: an object on
// the way is not a folder, and what a folder that is none would hold is not there. Nor is
// what lies behind a link.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, objectstore.ErrLink) {
		return objectstore.ErrNotExist
	}
	return err
}

func infoOf(key string, st *unix.Stat_t) objectstore.Info {
	return objectstore.Info{Key: key, Size: st.Size, ETag: etagOf(st), Modified: modified(st)}
}

// etagOf names the content of a file. Inodes are used again, but put stamps files with
// the time in nanoseconds, so two contents of a key differ in one or the other.
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
