package snapshot

import (
	"errors"

	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
)

// IsDamage reports whether the stored table caused an error: a file is malformed or too short, or a
// manifest names a file that does not or cannot exist.
func IsDamage(err error) bool {
	return errors.Is(err, lance.ErrCorrupt) || errors.Is(err, objectstore.ErrNotExist) ||
		errors.Is(err, objectstore.ErrInvalidRange) || errors.Is(err, objectstore.ErrInvalidKey)
}
