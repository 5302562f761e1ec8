package diskstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Directories come and go with the objects in them: a put makes the missing ones, a
// delete removes those that it emptied. Either may meet the other at work, so whoever
// finds that a directory went away under him makes it again, up to dirTries times.
const dirTries = 1000

// maxDurable bounds the memory of directories known to be durable.
const maxDurable = 4096

// makeRoot makes the directory root, and those above it, durable if it is new.
func makeRoot(root string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	above := filepath.Dir(root)
	if above != root {
		if err := makeRoot(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(root, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(above)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// openDir opens the directory dir below the root, through no links.
func (s *Store) openDir(dir string) (*handle, error) {
	return s.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
}

// openNames opens a directory for its names to be read.
func (s *Store) openNames(dir string) (*os.File, error) {
	d, err := s.openDir(dir)
	if err != nil {
		return nil, err
	}
	return d.file(s.root, dir), nil
}

// makeDir opens the directory dir and makes it, with those above it, if it is missing.
func (s *Store) makeDir(dir string) (*handle, error) {
	for range dirTries {
		d, err := s.openDir(dir)
		if errors.Is(err, unix.ENOTDIR) {
			return nil, ErrOverlap
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return d, err
		}
		err = s.root.MkdirAll(dir, 0o755)
		// Something is there, or not any more: opening it tells which.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.ENOTDIR) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("make directory: it was removed %d times", dirTries)
}

// An identity tells a directory from one that was made in its place: inodes are used again.
type identity struct {
	inode uint64
	born  int64 // nanoseconds, or 0 where the file system does not tell
}

// sync makes what was done in d, which is the directory dir, survive a loss of power.
// That takes the entries of the directories above it too, which whoever made them may
// not have synced yet; once seen to, they are remembered.
func (s *Store) sync(d *handle, dir string) error {
	if err := d.Sync(); err != nil {
		return err
	}
	now, err := d.identity()
	if err != nil {
		return err
	}
	s.mu.Lock()
	known := s.durable[dir] == now
	s.mu.Unlock()
	if known {
		return nil
	}
	if err := syncAbove(d.fd, strings.Count("/"+dir, "/")); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.durable) >= maxDurable {
		clear(s.durable)
	}
	s.durable[dir] = now
	return nil
}

// syncAbove syncs so many directories above the directory fd.
func syncAbove(fd, levels int) error {
	if levels == 0 {
		return nil
	}
	above, err := unix.Openat(fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // all of it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(above) }()
	if err := unix.Fsync(above); err != nil {
		return err
	}
	return syncAbove(above, levels-1)
}

// prune removes dir and the directories above it as far as they are empty. It is a
// courtesy, so it stops at the first error. A plain remove would not do: where the
// directory has meanwhile become an object it would remove that.
func (s *Store) prune(dir string) {
	for dir != "." {
		above, base := splitPath(dir)
		d, err := s.openDir(above)
		if err != nil {
			return
		}
		err = unix.Unlinkat(d.fd, base, unix.AT_REMOVEDIR)
		_ = d.Close()
		if err != nil {
			return
		}
		dir = above
	}
}

// statAt describes the entry name of the directory d, a link as the link it is.
func statAt(d *handle, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return &st, nil
}
