package diskstore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

// A handle is an open file or directory. It makes only the system calls that are needed. Opening,
// reading and closing a small file through package os takes four times as many calls, because os
// resolves the path itself and registers each file with the poller.
type handle struct{ fd int }

// open opens a path below the root. It follows no links: a path with a link is objectstore.ErrLink.
func (s *Store) open(name string, flags int) (*handle, error) {
	fd, err := uninterrupted(func() (int, error) { return openBeneath(s.top.fd, name, flags|unix.O_CLOEXEC) })
	switch {
	case err == nil:
		return &handle{fd}, nil
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EAGAIN):
		return s.walk(name, flags)
	case errors.Is(err, unix.ELOOP):
		err = objectstore.ErrLink
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// walk implements open for systems without openBeneath, and for paths too long for one call. It opens each
// directory relative to the previous one, so that no process can insert a link between a check and its use.
func (s *Store) walk(name string, flags int) (*handle, error) {
	at := s.top
	for rest := name; ; {
		part, below, more := strings.Cut(rest, "/")
		step := flags
		if more {
			step = unix.O_RDONLY | unix.O_DIRECTORY
		}
		next, err := at.enter(part, step)
		if at != s.top {
			_ = at.Close()
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		if at = next; !more {
			return at, nil
		}
		rest = below
	}
}

// enter opens an entry of a directory that must not be a link.
func (h *handle) enter(name string, flags int) (*handle, error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(h.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err == nil {
		return &handle{fd}, nil
	}
	// Systems return different errors for a link.
	if st, lost := statAt(h, name); lost == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil, objectstore.ErrLink
	}
	return nil, err
}

// openIn opens a directory of the store itself.
func openIn(root *os.Root, name string, flags int) (*handle, error) {
	f, err := root.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	fd, err := dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return &handle{fd}, nil
}

func dup(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

// create makes a new file in a directory. It fails if the name exists.
func (h *handle) create(name string) (*handle, error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(h.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return &handle{fd}, nil
}

// file turns the handle into a file of package os, which then owns it.
func (h *handle) file(root *os.Root, name string) *os.File {
	return os.NewFile(uintptr(h.fd), filepath.Join(root.Name(), name))
}

// Write implements io.Writer.
func (h *handle) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n, err := uninterrupted(func() (int, error) { return unix.Write(h.fd, p[written:]) })
		if err != nil {
			return written, &fs.PathError{Op: "write", Err: err}
		}
		written += n
	}
	return written, nil
}

// ReadAt implements io.ReaderAt.
func (h *handle) ReadAt(p []byte, offset int64) (int, error) {
	read := 0
	for read < len(p) {
		n, err := uninterrupted(func() (int, error) { return unix.Pread(h.fd, p[read:], offset+int64(read)) })
		if err != nil {
			return read, &fs.PathError{Op: "read", Err: err}
		}
		if n == 0 {
			return read, io.EOF
		}
		read += n
	}
	return read, nil
}

func (h *handle) stat() (*unix.Stat_t, error) {
	var st unix.Stat_t
	_, err := uninterrupted(func() (int, error) { return 0, unix.Fstat(h.fd, &st) })
	return &st, err
}

// Sync makes the file, or the names in the directory, survive a power failure.
func (h *handle) Sync() error {
	_, err := uninterrupted(func() (int, error) { return 0, fsync(h.fd) })
	return err
}

// Close implements io.Closer.
func (h *handle) Close() error { return unix.Close(h.fd) }

// uninterrupted repeats a system call that a signal has interrupted.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
