package engine

import (
	"errors"

	"tiltyard/shared/memory"
)

// A spare is memory for work that has another way, which needs less: it takes no more of a share
// than half, and what is free now.
type spare struct {
	share *memory.Share
	parts []*memory.Share
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
	part, ok := s.share.TryPart(more)
	if !ok {
		s.left += bytes
		return false
	}
	s.parts = append(s.parts, part)
	s.taken, s.left = s.taken+more, s.left+more
	return true
}

// give gives bytes back for what is taken next.
func (s *spare) give(bytes int64) { s.left += bytes }

// release returns all bytes to the share.
func (s *spare) release() {
	for _, part := range s.parts {
		part.Close()
	}
	s.parts, s.taken, s.left = nil, 0, 0
}
