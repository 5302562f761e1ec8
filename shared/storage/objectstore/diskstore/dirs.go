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

// A put creates missing directories, and a delete removes the directories that it has emptied. If they
// race, the directory of a put may disappear. The put then creates it again, up to dirTries times.
const dirTries = 1000

// maxDurable bounds the set of directories that are known to be durable.
const maxDurable = 4096

// makeRoot creates the root directory and its parents. It makes a new root durable.
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

// openDir opens the directory dir below the root. It follows no links.
func (s *Store) openDir(dir string) (*handle, error) {
	return s.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
}

// openNames opens a directory for reading its names.
func (s *Store) openNames(dir string) (*os.File, error) {
	d, err := s.openDir(dir)
	if err != nil {
		return nil, err
	}
	return d.file(s.root, dir), nil
}

// makeDir opens the directory dir. If it is missing, makeDir creates it and its parents.
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
		// The directory exists, or has just disappeared: opening it shows which.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.ENOTDIR) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("make directory: it was removed %d times", dirTries)
}

// An identity distinguishes a directory from a later one with the same inode number, because inode
// numbers are reused.
type identity struct {
	inode uint64
	born  int64 // birth time in nanoseconds, 0 where the file system has none
}

// sync makes changes to the directory d, whose path is dir, survive a power failure. The entries of the
// parent directories must be durable too. Another process may have created them without a sync yet, so this
// function syncs each of them once.
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

// syncAbove syncs the given number of directories above the directory fd.
func syncAbove(fd, levels int) error {
	if levels == 0 {
		return nil
	}
	above, err := unix.Openat(fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the directories have been deleted
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

// prune removes dir and its parents as far as they are empty. It is not essential, so it stops at the first
// error. It uses a call that removes only directories, because an object may have taken the place of a
// directory in the meantime.
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

// statAt describes the entry name of the directory d. It does not follow a link.
func statAt(d *handle, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return &st, nil
}
