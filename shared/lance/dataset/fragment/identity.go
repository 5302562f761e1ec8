package fragment

import (
	"fmt"
	"path"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// A cache key identifies all inputs of its value, which includes the identity of the object. A name
// is not enough, because another process may use the same name for another object. The identities
// are:
//
//   - A manifest: its ETag. A table that is dropped and created again reuses version numbers,
//     so each use of a cached version checks on storage that it is unchanged.
//   - A data file, deletion file or index segment: its name if that is random, as usual in the
//     format. Any other name is valid only within the manifest that has it.
//   - A branch: the id of its fork.

// fileNamed returns "" for a unique file name, and otherwise the identity of the manifest that
// names the file.
func fileNamed(m *manifest.Manifest, file string) string {
	if isRandom(strings.TrimSuffix(path.Base(file), ".lance")) {
		return ""
	}
	return m.Location.Identity()
}

// isRandom reports whether a name has the form of a writer's random name: a UUID, or 24 binary and
// 26 hexadecimal digits.
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

// minRandomID is the lowest id of a deletion file that counts as random. Writers use 64 random
// bits.
const minRandomID = 1 << 32

// deletionPart returns the cache key of a deletion file. It includes the row counts of the
// manifest, because reading checks the file against them.
func deletionPart(key string, m *manifest.Manifest, rows int64, file *pb.DeletionFile) string {
	part := fmt.Sprintf("%s?%d/%d", key, file.DeletedRows, rows)
	if file.ID < minRandomID {
		part += m.Location.Identity()
	}
	return part
}
