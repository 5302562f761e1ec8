package boot

import "tiltyard/shared/storage/objectstore"

// A directory is a store over a directory of this machine.
type directory interface {
	objectstore.Store
	Close() error
}
