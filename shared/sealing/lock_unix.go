//go:build unix

package sealing

import (
	"os"
	"syscall"
)

// lockFile waits until no other process holds the lock of a file.
func lockFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }
