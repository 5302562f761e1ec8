//go:build !linux

package diskstore

import (
	"errors"
	"os"
)

// openBeneath is unavailable: these systems cannot open a path below a directory in one call without
// following links.
func openBeneath(int, string, int) (int, error) { return 0, errors.ErrUnsupported }

// renameNew is only available on systems that can rename a file to a name that must be free.
func renameNew(int, string, int, string) error { return errors.ErrUnsupported }

// fsync delegates to package os, which handles the differences between systems.
func fsync(fd int) error {
	copied, err := dup(fd)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(copied), "")
	return errors.Join(f.Sync(), f.Close())
}

// identity consists of the inode number alone, because the file systems of these systems do not soon reuse
// one.
func (h *handle) identity() (identity, error) {
	st, err := h.stat()
	return identity{inode: st.Ino}, err
}
