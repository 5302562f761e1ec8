package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"tiltyard/shared/objectstore"
)

// Records lie in one folder per parent namespace, tables and namespaces apart:
//
//	_catalog/<folder of the parent>/t/<name>    a table
//	_catalog/<folder of the parent>/n/<name>    a namespace
//
// The folder of the root is "$", that of ["a","b"] is "$a$b", and that of a path too long
// for a file name is "$$" and a hash, so that any record is one GET away whatever its
// depth. Names are escaped reversibly and in bytewise order: a LIST is in name order,
// and a page continues after any name, also one that is gone.
//
// A record is one JSON object. That of a table has an even number of bytes, by a space at
// its end where needed, unless a rename is on its way (rename.go), or a batch that makes or
// removes the table (pending.go): then the number is odd. So a LIST, which tells sizes, shows which names have to be looked at, and all
// others are tables.
const (
	recordsPrefix = "_catalog/"
	tableKind     = "/t/"
	namespaceKind = "/n/"
	maxFolderName = 200
)

func tableKey(id []string) string     { return childKey(id, tableKind) }
func namespaceKey(id []string) string { return childKey(id, namespaceKind) }

func childKey(id []string, kind string) string {
	if len(id) == 0 {
		return "" // which no store has: the root has no record
	}
	parent, name := id[:len(id)-1], id[len(id)-1]
	return recordsPrefix + folder(parent) + kind + escape(name)
}

// childrenPrefix is what the keys of all children of one kind begin with.
func childrenPrefix(parent []string, kind string) string {
	return recordsPrefix + folder(parent) + kind
}

// encode writes a record as it is stored.
func encode(record any) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	if table, ok := record.(*tableRecord); ok && (len(data)%2 == 0) != table.plain() {
		data = append(data, ' ')
	}
	return data, nil
}

// inDoubt says whether a listed object is the record of a table that may be on its way.
func inDoubt(object objectstore.Info) bool {
	return object.Size%2 != 0 && strings.Contains(object.Key, tableKind)
}

// folder names the folder of a namespace's children. Escaped names never hold "$" and
// are never empty, so two paths share no folder.
func folder(path []string) string {
	if len(path) == 0 {
		return "$"
	}
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('$')
		b.WriteString(escape(name))
	}
	if b.Len() <= maxFolderName {
		return b.String()
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "$$" + hex.EncodeToString(sum[:])
}

// folderPath is the inverse of folder, where that is not hashed.
func folderPath(folder string) (path []string, ok bool) {
	if folder == "$" {
		return nil, true
	}
	if strings.HasPrefix(folder, "$$") || !strings.HasPrefix(folder, "$") {
		return nil, false
	}
	for part := range strings.SplitSeq(folder[1:], "$") {
		name, err := unescape(part)
		if err != nil {
			return nil, false
		}
		path = append(path, name)
	}
	return path, true
}

// escape writes a name in letters, digits, "_" and five marks such that the result is a
// safe path component and that escape(a) < escape(b) exactly when a < b. Each other byte
// becomes a mark and two hexadecimal digits, where the mark sorts between the plain
// characters on the two sides of the byte:
//
//	byte   00…2f  '0'…'9'  3a…40  'A'…'Z'  5b…5e  '_'  60  'a'…'z'  7b…ff
//	mark     -       =       ^       …       `        ~
func escape(name string) string {
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

// markOf returns the mark that a byte is escaped with, or 0 for a plain byte.
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

// unescape is the inverse of escape; it refuses what escape does not write.
func unescape(s string) (string, error) {
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
