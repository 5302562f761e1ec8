package diskstore

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// openBeneath opens a path below a directory in one call. Older systems, and some that are
// fenced in, do not have it.
func openBeneath(dir int, name string, flags int) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   uint64(flags), //nolint:gosec // flags are bits
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.E2BIG) {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return fd, err
}

func fsync(fd int) error { return unix.Fsync(fd) }
