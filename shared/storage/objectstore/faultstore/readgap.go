package faultstore

import "tiltyard/shared/storage/objectstore"

// ReadGap implements objectstore.Gapper as the inner store does.
func (s *Store) ReadGap() int64 { return objectstore.ReadGap(s.inner) }
