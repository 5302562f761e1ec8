package fragment

import (
	"fmt"
	"path"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// A key of the cache holds all that its value depends on, which includes the identity of the
// object. A name is not enough, because another process may use the same name for something else.
// These identify an object:
//
//   - A manifest: its ETag. A table that is dropped and created again numbers its versions anew,
//     so each use of a known version asks the storage whether it is still the same.
//   - A data file, a deletion file or a segment of an index: its name, if that is random, as
//     writers of the format make it. Any other name is good only within the manifest that has it.
//   - A branch: the id of its fork.

// fileNamed returns "" for a name that only one data file ever has, else the identity of the
// manifest that names the file.
func fileNamed(m *manifest.Manifest, file string) string {
	if isRandom(strings.TrimSuffix(path.Base(file), ".lance")) {
		return ""
	}
	return m.Location.Identity()
}

// isRandom reports whether a name has the form of the random names that writers make: a UUID, or
// 24 binary digits and 26 hexadecimal ones.
func isRandom(name string) bool {
	hex, binary, dashes := 0, 0, 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '-':
			dashes++
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f':
			hex++
			if i < 24 && c <= '1' {
				binary++
			}
		default:
			return false
		}
	}
	return len(name) == 36 && dashes == 4 && hex == 32 || len(name) == 50 && dashes == 0 && binary == 24
}

// minRandomID is the least id of a deletion file that counts as random. Writers make ids of 64
// random bits.
const minRandomID = 1 << 32

// deletionPart returns the key of a deletion file in the cache. It holds the numbers of rows in
// the manifest because reading checks the file against them.
func deletionPart(key string, m *manifest.Manifest, rows int64, file *pb.DeletionFile) string {
	part := fmt.Sprintf("%s?%d/%d", key, file.DeletedRows, rows)
	if file.ID < minRandomID {
		part += m.Location.Identity()
	}
	return part
}
