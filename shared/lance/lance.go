// Package lance is the root of a pure-Go implementation of the Lance table format: the
// errors and versions that its parts share. The parts are the packages below it, from
// the bytes up: pb (messages), schema, encoding (pages), datafile, deletion, rowid,
// manifest, and dataset, which is where a reader or writer of tables begins.
package lance

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt says that stored bytes are not what the format says they must be.
	ErrCorrupt = errors.New("corrupt lance data")
	// ErrUnsupported says that bytes, a type or a table use a part of the format that
	// this implementation does not read or write; the text names it.
	ErrUnsupported = errors.New("unsupported by this lance implementation")
)

// A Version is the version of a data file as manifests write it, such as 2.2.
type Version struct {
	Major, Minor uint16
}

// Versions of data files that are read and written.
var (
	V2_0 = Version{2, 0}
	V2_1 = Version{2, 1}
	V2_2 = Version{2, 2} // what new tables use
)

// String returns "major.minor".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
