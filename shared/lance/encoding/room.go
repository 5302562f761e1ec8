package encoding

import "fmt"

// A Room is asked before a decoder makes room for what a page says that it holds. It
// refuses with an error when there is no memory for so many bytes, or when nobody waits for
// them any more. A nil Room refuses nothing.
//
// What a page can make of a few bytes is asked for in few places: the values of a run of
// chunks or of rows, levels, the items that indices stand for, what is decompressed, and
// the values of several pages put together. A codec by itself makes no more of its bytes
// than a small multiple of them.
type Room func(bytes int) error

// Take asks for bytes.
func (r Room) Take(bytes int) error {
	switch {
	case r == nil:
		return nil
	case bytes < 0:
		return errTooLarge
	}
	return r(bytes)
}

// takeItems asks for n items of some bytes each.
func (r Room) takeItems(n, bytes int) error {
	if r == nil || bytes == 0 {
		return nil
	}
	if n > maxRoom/bytes {
		return fmt.Errorf("%w: %d values of %d bytes", errTooLarge, n, bytes)
	}
	return r(n * bytes)
}

// maxRoom is more bytes than there ever are.
const maxRoom = 1 << 56

// values returns no values yet, which ask r for their memory.
func (r Room) values(s *shape) *values {
	v := newValues(s)
	v.setRoom(r)
	return v
}

func (v *values) setRoom(r Room) {
	v.room = r
	for _, child := range v.children {
		child.setRoom(r)
	}
}

// fixedBytes is what a value takes whatever it is.
func (s *shape) fixedBytes() int {
	n := 0
	switch s.kind {
	case shapeFixed:
		n = (s.valueBits() + 7) / 8
	case shapeVariable:
		n = 4
	}
	for _, child := range s.children {
		n += child.fixedBytes()
	}
	return n
}

// footprint is how much memory items have, used or not.
func (it *Items) footprint() int {
	return 2*cap(it.levels.rep) + 2*cap(it.levels.def) + it.values.footprint()
}

func (v *values) footprint() int {
	n := cap(v.fixed) + 4*cap(v.offsets) + cap(v.data)
	for _, child := range v.children {
		n += child.footprint()
	}
	return n
}

// A growth asks for the memory of something as it grows.
type growth struct {
	room Room
	have int
}

// reach asks for what is missing up to so many bytes.
func (g *growth) reach(bytes int) error {
	more := max(0, bytes-g.have)
	g.have += more
	return g.room.Take(more)
}
