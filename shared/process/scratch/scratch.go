// Package scratch makes files for rows that do not fit into memory.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// File returns a new file without a name in the scratch directory, which is $TMPDIR. It disappears when it is closed, or
// when the process ends for whatever reason.
func File() (*os.File, error) {
	f, err := os.CreateTemp("", "tiltyard-*")
	if err != nil {
		return nil, fmt.Errorf("make a scratch file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make a scratch file: %w", err), f.Close())
	}
	return f, nil
}

// Full reports whether an error means that the scratch directory has no room.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
