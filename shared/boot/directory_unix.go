//go:build unix

package boot

import "tiltyard/shared/storage/objectstore/diskstore"

func openStore(path string) (directory, error) { return diskstore.Open(path) }

func openReadOnly(path string) (directory, error) { return diskstore.OpenReadOnly(path) }
