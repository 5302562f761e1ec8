package objectstore

// A Gapper is a Store that knows how many unneeded bytes are cheaper to read than a further
// request.
type Gapper interface {
	// ReadGap returns the number of bytes that take about as long to read as a further
	// range of a GetRanges does.
	ReadGap() int64
}

// DefaultReadGap is the gap of stores behind a network.
const DefaultReadGap = 64 << 10

// Near reports whether a store is reached without a network. A request then takes less time than
// starting a goroutine for it.
func Near(s Store) bool { return ReadGap(s) < DefaultReadGap }

// ReadGap returns the largest gap between two ranges that should be read as one.
func ReadGap(s Store) int64 {
	if g, ok := s.(Gapper); ok {
		return g.ReadGap()
	}
	return DefaultReadGap
}
