package diskstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// openBeneath opens a path below a directory in one call, without following links. Older systems
// and some sandboxes do not have this call.
func openBeneath(dir int, name string, flags int) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   uint64(flags), //nolint:gosec // flags are bits
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.E2BIG) {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return fd, err
}

// renameNew renames a file to a name that must be free; otherwise it returns EEXIST. Some file
// systems, such as network file systems, cannot do that.
func renameNew(from int, name string, to int, free string) error {
	err := unix.Renameat2(from, name, to, free, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

func fsync(fd int) error { return unix.Fsync(fd) }

// identity combines the inode number with the birth time, where the file system records it.
func (h *handle) identity() (identity, error) {
	var st unix.Statx_t
	_, err := uninterrupted(func() (int, error) {
		return 0, unix.Statx(h.fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		plain, err := h.stat() // older systems and some sandboxes
		return identity{inode: plain.Ino}, err
	}
	is := identity{inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		is.born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return is, err
}
