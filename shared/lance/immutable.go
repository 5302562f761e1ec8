package lance

import "regexp"

// immutable matches the keys of files whose names are unique, so that a name never stands for other bytes:
//
//	data/<name>.lance                               24 binary and 26 hexadecimal digits, or a UUID
//	data/<name>/<blob>.blob                         blobs beside that data file
//	_indices/<UUID>/<file>                          of a segment of an index
//	_deletions/<fragment>-<version>-<id>.<form>     the id is a random number of 64 bits
//
// Manifests are named by the number of their version, which is used again after a table is dropped and created
// anew. Transactions have unique names, but are seldom read.
var immutable = regexp.MustCompile(`^(?:.+/)?(?:` +
	`data/` + uniqueName + `(?:\.lance|/[0-9A-Za-z]+\.blob)|` +
	`_indices/` + uuidName + `/[^/]+|` +
	`_deletions/[0-9]+-[0-9]+-[0-9]+\.(?:arrow|bin))$`)

const (
	uuidName   = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	uniqueName = `(?:[01]{24}[0-9a-f]{26}|` + uuidName + `)`
)

// IsImmutable reports whether the name of a file of a table stands for the same bytes as long as it exists, and
// for no others after that. The files of a segment of an index are complete once a version refers to it.
func IsImmutable(key string) bool { return immutable.MatchString(key) }
