//go:build unix

package secretbox

import (
	"os"
	"syscall"
)

// lockFile waits until it has the exclusive lock of a file, against other processes.
func lockFile(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }
