//go:build !unix

package secretbox

import (
	"errors"
	"os"
)

// lockFile refuses: the system does not rename onto a file that is open, so keys cannot be added under a lock.
func lockFile(*os.File) error {
	return errors.New("this system cannot change a file of keys; run tiltyard secrets on Linux or macOS")
}
