package values

import "fmt"

// A Room grants memory. A decoder asks it before it allocates as much as a page claims to hold. It
// refuses with an error if that much memory is not free, or if the read has been cancelled. A nil
// Room grants everything.
//
// Few bytes of a page can become many bytes of memory in a few places only, and these ask: the
// values of a run of chunks or of rows, levels, the items that indices refer to, decompressed
// buffers, and the joined values of several pages. Other memory of a codec is a small multiple of
// the bytes that it decodes.
type Room func(bytes int) error

// Take asks for a number of bytes.
func (r Room) Take(bytes int) error {
	switch {
	case r == nil:
		return nil
	case bytes < 0:
		return ErrTooLarge
	}
	return r(bytes)
}

// TakeItems asks for n items of the given size in bytes.
func (r Room) TakeItems(n, bytes int) error {
	if r == nil || bytes == 0 {
		return nil
	}
	if n > maxRoom/bytes {
		return fmt.Errorf("%w: %d values of %d bytes", ErrTooLarge, n, bytes)
	}
	return r(n * bytes)
}

// maxRoom is more bytes than any machine has.
const maxRoom = 1 << 56

// Values returns empty values that ask r for their memory.
func (r Room) Values(s *Shape) *Values {
	v := New(s)
	v.setRoom(r)
	return v
}

// A Growth asks for the memory of something that grows step by step.
type Growth struct {
	Room Room
	have int
}

// Reach asks for the difference if the size has grown to the given number of bytes.
func (g *Growth) Reach(bytes int) error {
	more := max(0, bytes-g.have)
	g.have += more
	return g.Room.Take(more)
}
