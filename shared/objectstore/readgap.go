package objectstore

// A Gapper is a Store that knows how much may be read in vain to save a request.
type Gapper interface {
	// ReadGap returns the number of bytes that take about as long to read as a further
	// range of a GetRanges does.
	ReadGap() int64
}

// DefaultReadGap is the gap of stores at the other end of a network.
const DefaultReadGap = 64 << 10

// Near reports whether there is no network before a store. A request is then over sooner than
// another goroutine would have begun with it.
func Near(s Store) bool { return ReadGap(s) < DefaultReadGap }

// ReadGap returns the largest gap between two ranges that are better read as one.
func ReadGap(s Store) int64 {
	if g, ok := s.(Gapper); ok {
		return g.ReadGap()
	}
	return DefaultReadGap
}
