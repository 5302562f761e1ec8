// Package lance is the root of a pure-Go implementation of the Lance table format. It holds the
// errors and versions that its parts share. The parts are the packages below it, from the bytes up:
//
//	pb           protobuf messages of the format
//	schema       fields and their types
//	encoding     pages of a data file
//	datafile     data files of versions 2.0 to 2.2; legacyfile reads older ones
//	deletion     files that mark rows as deleted
//	rowid        sequences of stable row ids
//	manifest     the list of what a version of a table consists of
//	operation    the changes that lead from one version to the next
//	dataset      tables
//
// Begin with dataset to read or write tables, and with datafile to learn how rows become bytes.
package lance

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt means that stored bytes break a rule of the format.
	ErrCorrupt = errors.New("corrupt lance data")
	// ErrUnsupported means that bytes, a type or a table use a part of the format that this
	// implementation does not read or write; the text names the part.
	ErrUnsupported = errors.New("unsupported by this lance implementation")
)

// Corruptf returns an [ErrCorrupt] with a text that is formatted as by [fmt.Errorf].
func Corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// A Version is the version of a data file as manifests record it, such as 2.2.
type Version struct {
	Major, Minor uint16
}

// Versions of data files that are read and written.
var (
	V2_0 = Version{2, 0}
	V2_1 = Version{2, 1}
	V2_2 = Version{2, 2} // the default of new tables
)

// Legacy is the version of data files before 2.0, whose layout is a different one. Manifests call
// the format 0.1, and its files 0.0 to 0.2.
var Legacy = Version{0, 2}

// VersionOf returns the version for the two numbers in a manifest's entry of a data file, or in the
// footer of the file. Files of version 2.0 may carry 0.3, and those of [Legacy] carry 0.0 to 0.2.
// Other versions are [ErrUnsupported].
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
