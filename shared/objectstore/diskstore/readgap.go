package diskstore

// ReadGap implements objectstore.Gapper: a page of memory, as a range is one call of the
// system.
func (s *Store) ReadGap() int64 { return 4 << 10 }
