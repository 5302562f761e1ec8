package diskstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if err := checkPut(key, cond); err != nil {
		return objectstore.Info{}, err
	}
	var info objectstore.Info
	err := s.withReserve(ctx, func() (err error) {
		info, err = s.put(ctx, key, data, cond)
		return err
	})
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("put %q: %w", key, err)
	}
	return info, nil
}

func checkPut(key string, cond objectstore.Condition) error {
	if err := objectstore.CheckPut(key, cond); err != nil {
		return err
	}
	return checkKey(key)
}

// put writes a temporary file and publishes it under the key.
func (s *Store) put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if err := ctx.Err(); err != nil {
		return objectstore.Info{}, err
	}
	if cond.IfMatch != "" {
		// The lock covers the check as well, so that of many racing writers only the winner writes
		// a file.
		unlock, err := s.locks.lock(ctx, key)
		if err != nil {
			return objectstore.Info{}, err
		}
		defer unlock()
	}
	if err := s.foresee(key, cond); err != nil {
		return objectstore.Info{}, err
	}
	t, err := s.newTemp()
	if err != nil {
		return objectstore.Info{}, err
	}
	defer t.discard()
	if _, err := t.file.Write(data); err != nil {
		return objectstore.Info{}, err
	}
	return s.publish(ctx, key, t, cond)
}

// foresee returns ErrPrecondition if cond does not hold already. The losers of a race, who are
// many, then do not write and sync a file. The condition is checked again for the winner.
func (s *Store) foresee(key string, cond objectstore.Condition) error {
	if cond == (objectstore.Condition{}) {
		return nil
	}
	dir, base := splitPath(toPath(key))
	d, err := s.openDir(dir)
	if err != nil {
		if cond.IfAbsent && errors.Is(missing(err), objectstore.ErrNotExist) {
			return nil
		}
		return precondition(missing(err))
	}
	defer func() { _ = d.Close() }()
	if cond.IfMatch != "" {
		return matches(d, base, cond.IfMatch)
	}
	st, err := statAt(d, base)
	if err == nil && !isDir(st) {
		return objectstore.ErrPrecondition
	}
	return nil
}

// matches returns ErrPrecondition unless the entry base of d is an object with this ETag.
func matches(d *handle, base, etag string) error {
	st, err := statAt(d, base)
	if err != nil {
		return precondition(missing(err))
	}
	if !isRegular(st) || etagOf(st) != etag {
		return objectstore.ErrPrecondition
	}
	return nil
}

// precondition turns the error for a missing object into that of a failed IfMatch.
func precondition(err error) error {
	if errors.Is(err, objectstore.ErrNotExist) {
		return objectstore.ErrPrecondition
	}
	return err
}

// publish turns the bytes of t into the object key if cond holds, complete and durable. With
// cond.IfMatch the caller holds the lock of key.
func (s *Store) publish(ctx context.Context, key string, t *temp, cond objectstore.Condition) (objectstore.Info, error) {
	st, err := t.stamp()
	if err != nil {
		return objectstore.Info{}, err
	}
	if cond == (objectstore.Condition{}) {
		info, err := s.publishNew(ctx, key, t, st)
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return info, err
		}
		// The lock prevents a put between the check and the rename of a conditional put.
		unlock, err := s.locks.lock(ctx, key)
		if err != nil {
			return objectstore.Info{}, err
		}
		defer unlock()
	}
	if err := t.file.Sync(); err != nil {
		return objectstore.Info{}, err
	}
	return s.name(ctx, key, t, st, cond)
}

// publishNew publishes a key without a condition if it has no object; otherwise it returns ErrPrecondition.
// It renames the file before it syncs it, so that one commit of the file system's journal contains both,
// and the sync of the directory is fast. A power failure before it returns may leave a part of the object,
// like a failure during any upload.
func (s *Store) publishNew(ctx context.Context, key string, t *temp, st *unix.Stat_t) (objectstore.Info, error) {
	dir, base := splitPath(toPath(key))
	d, err := s.place(ctx, dir, base, t, objectstore.Condition{IfAbsent: true})
	if err != nil {
		return objectstore.Info{}, err
	}
	defer func() { _ = d.Close() }()
	if err := errors.Join(t.file.Sync(), s.sync(d, dir)); err != nil {
		return objectstore.Info{}, fmt.Errorf("%w: sync: %w", objectstore.ErrUnknownOutcome, err)
	}
	return infoOf(key, st), nil
}

// name gives the durable file t its name.
func (s *Store) name(ctx context.Context, key string, t *temp, st *unix.Stat_t, cond objectstore.Condition) (objectstore.Info, error) {
	dir, base := splitPath(toPath(key))
	d, err := s.place(ctx, dir, base, t, cond)
	if err != nil {
		return objectstore.Info{}, err
	}
	defer func() { _ = d.Close() }()
	if err := s.sync(d, dir); err != nil {
		return objectstore.Info{}, fmt.Errorf("%w: sync directory: %w", objectstore.ErrUnknownOutcome, err)
	}
	return infoOf(key, st), nil
}

// place gives t its name in dir and returns the open directory. It starts again when the directory
// was removed in between.
func (s *Store) place(ctx context.Context, dir, base string, t *temp, cond objectstore.Condition) (*handle, error) {
	for range dirTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := s.makeDir(dir)
		if err != nil {
			return nil, err
		}
		if cond.IfAbsent {
			err = t.settle(d, base)
		} else {
			err = replace(d, base, t, cond.IfMatch)
		}
		if err == nil {
			return d, nil
		}
		again := errors.Is(err, fs.ErrNotExist) || errors.Is(err, errFolder) && rmdir(d, base) == nil
		_ = d.Close()
		switch {
		case again:
		case errors.Is(err, errFolder):
			return nil, ErrOverlap
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("its directory or the unfinished file disappeared %d times", dirTries)
}

// errFolder means that a directory has the name of a new object. An empty directory holds no
// objects and may be removed.
var errFolder = errors.New("a directory is in the way")

func rmdir(d *handle, base string) error {
	return unix.Unlinkat(d.fd, base, unix.AT_REMOVEDIR)
}

// replace renames t over the entry base of d, if the object there has the given ETag or etag is
// empty. The caller holds the lock of the key.
func replace(d *handle, base string, t *temp, etag string) error {
	if etag != "" {
		if err := matches(d, base, etag); err != nil {
			return err
		}
	}
	return t.rename(d, base)
}

// A temp is a file that has no key yet. Its writer always discards it in the end.
type temp struct {
	dir  *handle
	name string // "" after the rename
	file *handle
}

func (s *Store) newTemp() (*temp, error) {
	name := rand.Text()
	file, err := s.temp.create(name)
	if err != nil {
		return nil, err
	}
	return &temp{dir: s.temp, name: name, file: file}, nil
}

// stamp gives the file a unique modification time, from which its ETag is derived, and returns its state.
// The system's own times are too coarse: two writes within a few milliseconds may get the same time.
func (t *temp) stamp() (*unix.Stat_t, error) {
	now, err := unix.TimeToTimespec(time.Now())
	if err != nil {
		return nil, err
	}
	if err := unix.UtimesNanoAt(t.dir.fd, t.name, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, fmt.Errorf("set time of file: %w", err)
	}
	return t.file.stat()
}

// settle renames the file to a name that must not exist.
func (t *temp) settle(d *handle, base string) error {
	err := renameNew(t.dir.fd, t.name, d.fd, base)
	if errors.Is(err, errors.ErrUnsupported) {
		return t.link(d, base)
	}
	if err == nil {
		t.name = ""
	}
	return taken(d, base, err)
}

// link gives the file a second name, which must be free.
func (t *temp) link(d *handle, base string) error {
	return taken(d, base, unix.Linkat(t.dir.fd, t.name, d.fd, base, 0))
}

// taken returns the error for a name that was not free.
func taken(d *handle, base string, err error) error {
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	if st, err := statAt(d, base); err == nil && isDir(st) {
		return errFolder
	}
	return objectstore.ErrPrecondition
}

// rename renames the file to a name that an object may have.
func (t *temp) rename(d *handle, base string) error {
	err := unix.Renameat(t.dir.fd, t.name, d.fd, base)
	switch {
	case err == nil:
		t.name = ""
	case errors.Is(err, unix.EISDIR):
		return errFolder
	}
	return err
}

// discard closes the file and removes its temporary name. If that fails, a later Open removes it.
func (t *temp) discard() {
	_ = t.file.Close()
	if t.name != "" {
		_ = unix.Unlinkat(t.dir.fd, t.name, 0)
	}
}
