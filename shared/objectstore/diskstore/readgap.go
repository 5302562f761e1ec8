package diskstore

// ReadGap implements objectstore.Gapper. It is one page of memory, because a further range costs
// one system call.
func (s *Store) ReadGap() int64 { return 4 << 10 }
