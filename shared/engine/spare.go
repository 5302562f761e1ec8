package engine

import (
	"errors"

	"tiltyard/shared/memory"
)

// A spare is memory for work that has another way, which needs less: it is taken only if it is
// free now, and half of what a request may hold is left to others.
type spare struct {
	share *memory.Share
	taken int64
	left  int64 // of what was taken
}

// errNoSpare says that work has to take the other way.
var errNoSpare = errors.New("no memory to spare")

// take takes so many bytes, and reports whether they were to spare. It asks the share for some
// more than it needs, so that it need not ask for each value.
func (s *spare) take(bytes int64) bool {
	if s.left -= bytes; s.left >= 0 || s.share == nil {
		return true
	}
	more := max(-s.left, min(s.taken, 1<<20))
	probe, ok := s.share.TryPart(more)
	probe.Close()
	if !ok || !s.share.Try(more) {
		s.left += bytes
		return false
	}
	s.taken, s.left = s.taken+more, s.left+more
	return true
}

// give gives bytes back for what is taken next.
func (s *spare) give(bytes int64) { s.left += bytes }

// trim returns to the share what is left.
func (s *spare) trim() {
	s.share.Give(s.left)
	s.taken, s.left = s.taken-max(s.left, 0), min(s.left, 0)
}

// release returns all bytes to the share.
func (s *spare) release() {
	s.share.Give(s.taken)
	s.taken, s.left = 0, 0
}
