package objectstore

// A Gapper is a Store that defines the number of unneeded bytes that are cheaper to read than a further
// request.
type Gapper interface {
	// ReadGap returns the number of bytes that take about as long to read as a further range of a
	// GetRanges.
	ReadGap() int64
}

// DefaultReadGap is the gap of stores behind a network.
const DefaultReadGap = 64 << 10

// Near reports whether the store is reached without a network. A request then takes less time than the
// start of a goroutine.
func Near(s Store) bool { return ReadGap(s) < DefaultReadGap }

// ReadGap returns the largest gap between two ranges that should be read as one.
func ReadGap(s Store) int64 {
	if g, ok := s.(Gapper); ok {
		return g.ReadGap()
	}
	return DefaultReadGap
}
