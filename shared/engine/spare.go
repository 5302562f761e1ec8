package engine

import (
	"errors"

	"tiltyard/shared/memory"
)

// A spare is memory for work that can also be done with less. It is taken only if it is free now,
// and leaves half of what a request may hold to other work.
type spare struct {
	share *memory.Share
	taken int64
	left  int64 // taken and not used
}

// errNoSpare means that the work must be done with less memory.
var errNoSpare = errors.New("no memory to spare")

// take takes memory, and reports whether it was free. It takes a little more from the share than it
// needs, so that it does not ask the share for each value.
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

// give returns bytes for the next take.
func (s *spare) give(bytes int64) { s.left += bytes }

// trim returns unused bytes to the share.
func (s *spare) trim() {
	s.share.Give(s.left)
	s.taken, s.left = s.taken-max(s.left, 0), min(s.left, 0)
}

// release returns all bytes to the share.
func (s *spare) release() {
	s.share.Give(s.taken)
	s.taken, s.left = 0, 0
}
