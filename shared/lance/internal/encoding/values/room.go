package values

import "fmt"

// A Room grants memory. A decoder calls it before it allocates the amount that a page claims to
// need. It returns an error if that much memory is not free or the read was cancelled. A nil Room
// grants everything.
//
// In only a few places can a few stored bytes become many bytes of memory, and these call it: the
// values of a run of chunks or rows, levels, the items behind indices, decompressed buffers, and
// the joined values of several pages. Other memory of a codec is a small multiple of the bytes that
// it decodes.
type Room func(bytes int) error

// Take requests a number of bytes.
func (r Room) Take(bytes int) error {
	switch {
	case r == nil:
		return nil
	case bytes < 0:
		return ErrTooLarge
	}
	return r(bytes)
}

// TakeItems requests n items of the given size in bytes.
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

// Values returns empty values that charge their memory to r.
func (r Room) Values(s *Shape) *Values {
	v := New(s)
	v.setRoom(r)
	return v
}

// A Growth charges memory that grows step by step.
type Growth struct {
	Room Room
	have int
}

// Reach charges the growth to the given number of bytes.
func (g *Growth) Reach(bytes int) error {
	more := max(0, bytes-g.have)
	g.have += more
	return g.Room.Take(more)
}
