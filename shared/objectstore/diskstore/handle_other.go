//go:build !linux

package diskstore

import (
	"errors"
	"os"
)

// openBeneath is for systems that open a path below a directory, through no links, in one call.
func openBeneath(int, string, int) (int, error) { return 0, errors.ErrUnsupported }

// renameNew is for systems that rename a file to a name that must be free.
func renameNew(int, string, int, string) error { return errors.ErrUnsupported }

// fsync is left to package os, which knows what each system takes to reach the disk.
func fsync(fd int) error {
	copied, err := dup(fd)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(copied), "")
	return errors.Join(f.Sync(), f.Close())
}

// identity is the inode alone: the file systems of these systems do not soon use one again.
func (h *handle) identity() (identity, error) {
	st, err := h.stat()
	return identity{inode: st.Ino}, err
}
