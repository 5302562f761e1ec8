package diskstore

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

// Delete implements objectstore.Store. It also removes directories that become empty. As with Put,
// the change is durable when Delete returns.
func (s *Store) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	if err := objectstore.CheckDelete(key, cond); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	err := s.withReserve(ctx, func() error { return s.delete(ctx, key, cond.IfMatch) }) // a lock is a file
	if cond.IfMatch != "" {
		err = precondition(err)
	} else if errors.Is(err, objectstore.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

// delete removes an object durably, and prunes empty directories. After a failed sync the outcome is
// unknown.
func (s *Store) delete(ctx context.Context, key, etag string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, base := splitPath(toPath(key))
	d, err := s.openDir(dir)
	if err != nil {
		return missing(err)
	}
	defer func() { _ = d.Close() }()
	if err := s.remove(ctx, key, d, base, etag); err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return fmt.Errorf("%w: sync directory: %w", objectstore.ErrUnknownOutcome, err)
	}
	s.prune(dir)
	return nil
}

// remove deletes the entry base of d, under the lock of key, if it is an object with the given
// ETag; an empty etag accepts any object. A directory is not an object.
func (s *Store) remove(ctx context.Context, key string, d *handle, base, etag string) error {
	unlock, err := s.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if etag != "" {
		if err := matches(d, base, etag); err != nil {
			return err
		}
	} else if st, err := statAt(d, base); err == nil && isDir(st) {
		return objectstore.ErrNotExist
	}
	err = unix.Unlinkat(d.fd, base, 0)
	if errors.Is(err, unix.EISDIR) {
		return objectstore.ErrNotExist
	}
	return missing(err)
}
