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

// Legacy is the version of data files before 2.0, which are laid out in another way
// altogether. Manifests call the format 0.1, and the files of it 0.0 to 0.2.
var Legacy = Version{0, 2}

// VersionOf returns the version that the entry of a data file in a manifest, or the footer
// of the file, means by its two numbers: files of version 2.0 may have 0.3 there, and those
// of [Legacy] 0.0 to 0.2. Other versions are [ErrUnsupported].
//
// Source: crate lance-file, src/version.rs.
func VersionOf(major, minor uint32) (Version, error) {
	switch {
	case major == 0 && minor < 3:
		return Legacy, nil
	case major == 0 && minor == 3, major == 2 && minor == 0:
		return V2_0, nil
	case major == 2 && minor <= 2:
		return Version{uint16(major), uint16(minor)}, nil
	}
	return Version{}, fmt.Errorf("%w: data file of version %d.%d", ErrUnsupported, major, minor)
}

// String returns "major.minor".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
