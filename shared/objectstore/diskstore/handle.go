package diskstore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A handle is an open file or directory. It asks the system for what is wanted and no more:
// to open a small file, read it and close it through package os takes four times as many
// calls, as that walks the path itself and offers each file to the poller.
type handle struct{ fd int }

// open opens a path below the root, through no link that leads out of it.
func (s *Store) open(name string, flags int) (*handle, error) {
	fd, err := uninterrupted(func() (int, error) { return openBeneath(s.top.fd, name, flags|unix.O_CLOEXEC) })
	switch {
	case err == nil:
		return &handle{fd}, nil
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EXDEV), errors.Is(err, unix.EAGAIN):
		return openIn(s.root, name, flags) // which can, or has a word for what is wrong
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// openIn is open by package os.
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

// create makes a file in a directory; there must be none of that name.
func (h *handle) create(name string) (*handle, error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(h.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return &handle{fd}, nil
}

// file returns the handle as a file of package os, which it is from then on.
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

// Sync makes the file, or the names in the directory, survive a loss of power.
func (h *handle) Sync() error {
	_, err := uninterrupted(func() (int, error) { return 0, fsync(h.fd) })
	return err
}

// Close implements io.Closer.
func (h *handle) Close() error { return unix.Close(h.fd) }

// uninterrupted calls the system again when a signal came between.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
