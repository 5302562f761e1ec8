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

// SplitID splits the decoded path form of an id. The delimiter alone is the root, which
// is the empty id; empty pieces are dropped, as the reference server does, so that
// "$a$$b$" is a, b. The components have been checked by [CheckID].
func SplitID(joined, delimiter string) ([]string, error) {
	if err := CheckDelimiter(delimiter); err != nil {
		return nil, err
	}
	if joined == "" {
		return nil, Errorf(InvalidInput, "id is empty; the root namespace is written %q", delimiter)
	}
	// More delimiters than any valid id can hold are refused before they are split.
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

// SameID reports whether an id in a body, whose parts may hold several components that are joined
// by the delimiter of the request or the default one, names the object with a given id.
func SameID(body, id []string, delimiter string) bool {
	return slices.Equal(body, id) || slices.Equal(Resplit(body, delimiter), id) || slices.Equal(Resplit(body, DefaultDelimiter), id)
}

// Resplit splits an id whose parts may be joined ones.
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

// CheckID reports whether id can name an object: at most [MaxIDLevels] components, each
// valid UTF-8 of 1 to [MaxIDComponentBytes] bytes without control characters and without
// the default delimiter, which no client could write. The error is InvalidInput.
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

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("is not valid UTF-8")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("contains a control character")
	}
	return nil
}

// CheckName reports whether a name that is not part of an id, such as that of an index,
// is possible; what says what it names.
func CheckName(what, name string) error {
	if name == "" || len(name) > MaxIDComponentBytes {
		return Errorf(InvalidInput, "%s must have 1 to %d bytes", what, MaxIDComponentBytes)
	}
	if err := checkText(name); err != nil {
		return Errorf(InvalidInput, "%s %s %w", what, QuoteShort(name), err)
	}
	return nil
}

// EscapedBytes returns how many bytes a name of letters of ASCII, digits, _, . and - takes in a key.
func EscapedBytes(name string) int {
	return len(name) + 2*(strings.Count(name, ".")+strings.Count(name, "-"))
}
