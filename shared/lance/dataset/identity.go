package dataset

import (
	"fmt"
	"path"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// A key of the cache holds all that its value depends on, the identity of the object
// included: a name is not enough, as the same name may be used again for something else, by
// writers in other processes. What identifies an object:
//
//   - A manifest: its ETag. Versions are numbered anew where a table is dropped and created
//     again, so the storage is asked whether the one that is known is still that one.
//   - A data file, a deletion file or a segment of an index: its name, if that is random, as
//     writers of the format make them: nobody uses it twice. Other names are good only within
//     the manifest that names the file.
//   - A branch: the id of its fork (see branchPlace).

// manifestIdentity returns what tells a manifest from others of its name.
func manifestIdentity(m *manifest.Manifest) string {
	return "|" + m.Location.Key + "|" + m.Location.ETag
}

// fileNamed returns "" when the name of a data file is one for all time, else the identity
// of the manifest that names it.
func fileNamed(m *manifest.Manifest, file string) string {
	if isRandom(strings.TrimSuffix(path.Base(file), ".lance")) {
		return ""
	}
	return manifestIdentity(m)
}

// isRandom says whether a name is one that writers of the format make of random bits: a UUID,
// or 24 binary digits and 26 hexadecimal ones.
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

// minRandomID is the least id of a deletion file that is taken to be random. Those that
// writers make have 64 random bits.
const minRandomID = 1 << 32

// deletionPart names a deletion file of a fragment in the cache. What is read of it is checked
// against the numbers of rows that the manifest tells.
func deletionPart(key string, m *manifest.Manifest, rows int64, file *pb.DeletionFile) string {
	part := fmt.Sprintf("%s?%d/%d", key, file.DeletedRows, rows)
	if file.ID < minRandomID {
		part += manifestIdentity(m)
	}
	return part
}
