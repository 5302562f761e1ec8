package objectstore

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxKeyBytes is the length of the longest valid key.
const MaxKeyBytes = 4096

// ReservedName is the first key component that no location may have. diskstore keeps its locks and
// unfinished files there, and refuses keys below it.
const ReservedName = "_tiltyard"

// CheckKey returns ErrInvalidKey unless key is a valid key.
func CheckKey(key string) error {
	if len(key) > MaxKeyBytes {
		return fmt.Errorf("%w: %d bytes long", ErrInvalidKey, len(key))
	}
	if why := keyFault(key); why != "" {
		return fmt.Errorf("%w: %q %s", ErrInvalidKey, key, why)
	}
	return nil
}

// keyFault returns the fault in a key, as the end of a sentence, or "".
func keyFault(key string) string {
	switch {
	case key == "":
		return "is empty"
	case strings.IndexByte(key, 0) >= 0:
		return "contains a NUL byte"
	case !utf8.ValidString(key):
		return "is not UTF-8"
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return `has an empty, "." or ".." component`
		}
	}
	return ""
}

// CheckPut returns the error that a Put of key under cond must return before it does anything. It
// is meant for implementations of Store, as are CheckDelete, CheckList and Range.Within.
func CheckPut(key string, cond Condition) error {
	if cond.IfAbsent && cond.IfMatch != "" {
		return fmt.Errorf("put %q: a condition cannot require both absence and a match", key)
	}
	return CheckKey(key)
}

// CheckDelete returns the error that a Delete of key under cond must return before it does
// anything.
func CheckDelete(key string, cond Condition) error {
	if cond.IfAbsent {
		return fmt.Errorf("delete %q: a delete cannot require that the object is absent", key)
	}
	return CheckKey(key)
}

// CheckList returns the error that a List with these options must return before it does anything.
// Prefix and StartAfter may be any strings: they need not be keys.
func CheckList(opts ListOptions) error {
	if opts.Delimiter != "" && opts.Delimiter != "/" {
		return fmt.Errorf("list %q: delimiter %q is not a slash", opts.Prefix, opts.Delimiter)
	}
	if opts.Limit < 0 {
		return errors.New("list: the limit is negative")
	}
	return nil
}

// Within returns the position and length of r in an object of size bytes, or
// ErrInvalidRange when r does not lie within it.
func (r Range) Within(size int64) (offset, length int64, err error) {
	switch {
	case r.Offset < -size:
		return 0, size, nil
	case r.Offset < 0:
		return size + r.Offset, -r.Offset, nil
	case r.Length < 0 || r.Offset > size || r.Length > size-r.Offset:
		return 0, 0, fmt.Errorf("%w: %d bytes at %d of %d", ErrInvalidRange, r.Length, r.Offset, size)
	}
	return r.Offset, r.Length, nil
}
