package diskstore

import (
	"fmt"
	"path"
	"strings"

	"tiltyard/shared/storage/objectstore"
)

// File systems allow names of up to 255 bytes, while keys have components of any length. A component of
// more than maxName bytes is divided into pieces. All but the last have maxName bytes and become
// directories with a mark at the end of their names. The last piece is shorter and begins with the mark.
// Names are unambiguous: whole components and last pieces have at most maxName bytes, all other pieces one
// more, and only last pieces are in the directory of a piece. The last piece may be empty; the mark then
// prevents an empty name.
//
//	a/<450 bytes>/c   →   a/<200 bytes>~/<200 bytes>~/~<50 bytes>/c
//
// Components up to maxName bytes, the only ones that Lance writes, stay unchanged.
const (
	maxName = 200
	mark    = "~"
)

// checkKey refuses invalid keys and the store's own folder.
func checkKey(key string) error {
	if err := objectstore.CheckKey(key); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(key, "/"); first == objectstore.ReservedName {
		return fmt.Errorf("%w: %q is reserved for the store", objectstore.ErrInvalidKey, key)
	}
	return nil
}

// toPath returns the path of a valid key below the root.
func toPath(key string) string {
	if len(key) <= maxName {
		return key
	}
	var b strings.Builder
	for part := range strings.SplitSeq(key, "/") {
		if b.Len() > 0 {
			b.WriteByte('/')
		}
		writePart(&b, part)
	}
	return b.String()
}

// writePart writes a component of a key as one or several file names.
func writePart(b *strings.Builder, part string) {
	if len(part) > maxName {
		for ; len(part) >= maxName; part = part[maxName:] {
			b.WriteString(part[:maxName])
			b.WriteString(mark + "/")
		}
		b.WriteString(mark)
	}
	b.WriteString(part)
}

// splitPath returns the directory, "." for the root, and the file name of a path.
func splitPath(p string) (dir, base string) {
	return path.Dir(p), path.Base(p)
}

// fromName inverts toPath: it returns the part of a key that a file or directory name stands for. goesOn is
// true if it is a piece that continues below. inside is true for names in the directory of a piece. ok is
// false for a name that toPath never returns, which another program has created.
func fromName(name string, inside bool) (part string, goesOn, ok bool) {
	if len(name) > maxName {
		part, goesOn = strings.CutSuffix(name, mark)
		return part, goesOn, goesOn && len(part) == maxName
	}
	if inside {
		part, ok = strings.CutPrefix(name, mark)
		return part, false, ok
	}
	return name, false, true
}
