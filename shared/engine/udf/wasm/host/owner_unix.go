//go:build unix

package host

import (
	"os"
	"syscall"
)

// isOurs reports whether the file belongs to the user of the process.
func isOurs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
