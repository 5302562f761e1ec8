package protocol

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultDelimiter joins the components of an id in a path when the request names no other.
const DefaultDelimiter = "$"

// The limits of identifiers.
const (
	MaxIDLevels         = 16
	MaxIDComponentBytes = 256
	maxDelimiterBytes   = 16
)

// SplitID splits an id in the decoded form of a path. The delimiter alone is the root, which is the
// empty id. Empty components are dropped, as in the reference server: "$a$$b$" is a, b. It checks
// the components by [CheckID].
func SplitID(joined, delimiter string) ([]string, error) {
	if err := CheckDelimiter(delimiter); err != nil {
		return nil, err
	}
	if joined == "" {
		return nil, Errorf(InvalidInput, "id is empty; the root namespace is written %q", delimiter)
	}
	// An id with more delimiters than any valid id is refused before it is split.
	if len(joined) > MaxIDLevels*(MaxIDComponentBytes+maxDelimiterBytes) {
		return nil, Errorf(InvalidInput, "id of %d bytes is too long", len(joined))
	}
	id := []string{}
	for piece := range strings.SplitSeq(joined, delimiter) {
		if piece != "" {
			id = append(id, piece)
		}
	}
	if err := CheckID(id); err != nil {
		return nil, err
	}
	return id, nil
}

// JoinID writes an id as a path writes it, before percent-encoding. The empty id, the
// root, is the delimiter alone.
func JoinID(id []string, delimiter string) string {
	if len(id) == 0 {
		return delimiter
	}
	return strings.Join(id, delimiter)
}

// SameID reports whether an id in a body names the object with a given id. Parts of the body's id
// may be several components, joined by the delimiter of the request or the default one.
func SameID(body, id []string, delimiter string) bool {
	return slices.Equal(body, id) || slices.Equal(Resplit(body, delimiter), id) || slices.Equal(Resplit(body, DefaultDelimiter), id)
}

// Resplit splits an id whose parts may be joined components.
func Resplit(id []string, delimiter string) []string {
	pieces := strings.Split(strings.Join(id, delimiter), delimiter)
	return slices.DeleteFunc(pieces, func(piece string) bool { return piece == "" })
}

// CheckDelimiter reports whether ids can be written with that delimiter: it must be
// short printable text.
func CheckDelimiter(delimiter string) error {
	switch {
	case delimiter == "":
		return Errorf(InvalidInput, "delimiter is empty")
	case len(delimiter) > maxDelimiterBytes:
		return Errorf(InvalidInput, "delimiter is longer than %d bytes", maxDelimiterBytes)
	}
	if err := checkText(delimiter); err != nil {
		return Errorf(InvalidInput, "delimiter %q %w", delimiter, err)
	}
	return nil
}

// CheckID checks that an id can name an object: it has at most [MaxIDLevels] components, each valid
// UTF-8 of 1 to [MaxIDComponentBytes] bytes without control characters and without the default
// delimiter, which clients could not write. The error is InvalidInput.
func CheckID(id []string) error {
	if len(id) > MaxIDLevels {
		return Errorf(InvalidInput, "id has %d levels; at most %d are possible", len(id), MaxIDLevels)
	}
	for _, name := range id {
		if err := checkComponent(name); err != nil {
			return Errorf(InvalidInput, "id component %.80q %w", name, err)
		}
	}
	return nil
}

// checkComponent returns why a component is invalid, or nil.
func checkComponent(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("is empty")
	case len(name) > MaxIDComponentBytes:
		return fmt.Errorf("is longer than %d bytes", MaxIDComponentBytes)
	case strings.Contains(name, DefaultDelimiter):
		return fmt.Errorf("contains %q", DefaultDelimiter)
	}
	return checkText(name)
}

// checkText returns an error for invalid UTF-8 and control characters.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("is not valid UTF-8")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("contains a control character")
	}
	return nil
}

// CheckName checks a name outside of ids, such as the name of an index. what is the kind of name,
// for the message.
func CheckName(what, name string) error {
	if name == "" || len(name) > MaxIDComponentBytes {
		return Errorf(InvalidInput, "%s must have 1 to %d bytes", what, MaxIDComponentBytes)
	}
	if err := checkText(name); err != nil {
		return Errorf(InvalidInput, "%s %s %w", what, QuoteShort(name), err)
	}
	return nil
}

// EscapedBytes returns the length in a key of a name from ASCII letters, digits, _, . and -.
func EscapedBytes(name string) int {
	return len(name) + 2*(strings.Count(name, ".")+strings.Count(name, "-"))
}
