//go:build !unix

package boot

import (
	"fmt"
	"runtime"
)

// The store relies on locks, on renames onto open files and on directories that can be synced, all
// as Unix has them.
func openStore(path string) (directory, error) {
	return nil, fmt.Errorf("%s: on %s, tables are kept in a bucket and not in a directory; name one as s3://bucket/prefix", path, runtime.GOOS)
}

func openReadOnly(path string) (directory, error) { return openStore(path) }
