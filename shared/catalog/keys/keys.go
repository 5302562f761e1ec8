// Package keys maps the ids of namespaces and tables to the keys of their records, and back.
//
// An id is a path of names; the path of the root namespace is empty. Each parent namespace has a
// folder for the records of its children, with one folder per kind:
//
//	_catalog/<folder of the parent>/t/<name>    a table
//	_catalog/<folder of the parent>/n/<name>    a namespace
//	_catalog/<folder of the parent>/s/<name>    a secret
//	_catalog/<folder of the parent>/f/<name>    a function
//
// The folder of the root is "$" and the folder of ["a","b"] is "$a$b". A path that is too long for
// a file name becomes "$$" and a hash, so that one GET finds any record at any depth. Names are
// escaped reversibly and keep their bytewise order: a LIST returns them sorted, and a page can
// continue after any name, even a deleted one. Dropped objects that can be restored are in a folder
// that no namespace has (dropped.go).
//
// Records of the same kind compete for a name; records of different kinds do not. An object that
// must not have the name of a table is therefore a table with a further field in its record
// (package stored). An object with names of its own gets a [Kind] here.
package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Kind is the component of a key that distinguishes records of different kinds.
type Kind string

// These are the kinds of records.
const (
	Tables     Kind = "/t/"
	Namespaces Kind = "/n/"
	Secrets    Kind = "/s/"
	Functions  Kind = "/f/"
)

// Records is the prefix of the keys of all records.
const Records = "_catalog/"

// MaxFolder bounds the bytes of an escaped path. A longer path is replaced by its hash.
const MaxFolder = 200

// Table returns the key of a table's record.
func Table(id []string) string { return Tables.key(id) }

// Namespace returns the key of a namespace's record.
func Namespace(id []string) string { return Namespaces.key(id) }

// Secret returns the key of a secret's record.
func Secret(id []string) string { return Secrets.key(id) }

// Function returns the key of a function's record.
func Function(id []string) string { return Functions.key(id) }

func (k Kind) key(id []string) string {
	if IsRoot(id) {
		return "" // a key that no store holds: the root has no record
	}
	return k.Children(Parent(id)) + Escape(id[len(id)-1])
}

// Children returns the common prefix of the keys of all children of a namespace.
func (k Kind) Children(parent []string) string { return Records + Folder(parent) + string(k) }

// Has reports whether a key belongs to a record of the kind.
func (k Kind) Has(key string) bool { return strings.Contains(key, string(k)) }

// Folder returns the name of the folder for a namespace's children. Escaped names never contain "$"
// and are never empty, so two paths never get the same folder.
func Folder(path []string) string {
	if len(path) == 0 {
		return "$"
	}
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('$')
		b.WriteString(Escape(name))
	}
	if b.Len() <= MaxFolder {
		return b.String()
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "$$" + hex.EncodeToString(sum[:])
}

// Path is the inverse of [Folder]. ok is false for a folder that is a hash.
func Path(folder string) (path []string, ok bool) {
	if folder == "$" {
		return nil, true
	}
	if strings.HasPrefix(folder, "$$") || !strings.HasPrefix(folder, "$") {
		return nil, false
	}
	for part := range strings.SplitSeq(folder[1:], "$") {
		name, err := Unescape(part)
		if err != nil {
			return nil, false
		}
		path = append(path, name)
	}
	return path, true
}

// Escape writes a name in letters, digits, "_" and five marks. The result is a safe path component,
// and Escape(a) < Escape(b) exactly when a < b. Each other byte becomes a mark and two hexadecimal
// digits. The mark sorts between the plain characters on both sides of the byte:
//
//	byte   00…2f  '0'…'9'  3a…40  'A'…'Z'  5b…5e  '_'  60  'a'…'z'  7b…ff
//	mark     -       =       ^       …       `        ~
func Escape(name string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(name))
	for i := range len(name) {
		c := name[i]
		if mark := markOf(c); mark != 0 {
			b.WriteByte(mark)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// IsPlain reports whether Escape leaves a byte unchanged.
func IsPlain(c byte) bool { return markOf(c) == 0 }

// markOf returns the mark that escapes a byte, or 0 for a byte that needs none.
func markOf(c byte) byte {
	switch {
	case c < '0':
		return '-'
	case c <= '9':
		return 0
	case c < 'A':
		return '='
	case c <= 'Z':
		return 0
	case c < '_':
		return '^'
	case c == '_':
		return 0
	case c < 'a':
		return '`'
	case c <= 'z':
		return 0
	default:
		return '~'
	}
}

// Unescape is the inverse of [Escape]. It refuses text that Escape does not write.
func Unescape(s string) (string, error) {
	plain := 0
	for plain < len(s) && markOf(s[plain]) == 0 {
		plain++
	}
	if plain == len(s) {
		return s, nil
	}
	var b strings.Builder
	b.WriteString(s[:plain])
	for i := plain; i < len(s); i++ {
		if markOf(s[i]) == 0 {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("unescape %q: cut short", s)
		}
		c, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil || markOf(c[0]) != s[i] {
			return "", fmt.Errorf("unescape %q: bad escape at byte %d", s, i)
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), nil
}
