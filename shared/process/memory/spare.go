package memory

// A Spare reserves memory for work that can also be done with less. It reserves only memory that is free
// now, and leaves half of a request's limit to other work. It is not safe for concurrent use.
type Spare struct {
	share *Share
	taken int64
	left  int64 // taken and not used
}

// NewSpare returns the spare memory of a share. Without a share it is unlimited.
func NewSpare(share *Share) Spare { return Spare{share: share} }

// Another returns spare memory of the same share.
func (s *Spare) Another() Spare { return Spare{share: s.share} }

// Take reserves memory, and reports whether it was free. It reserves a little more than needed, to avoid a
// call of the share for each value.
func (s *Spare) Take(bytes int64) bool {
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

// Give returns bytes for the next Take.
func (s *Spare) Give(bytes int64) { s.left += bytes }

// Trim returns unused bytes to the share.
func (s *Spare) Trim() {
	s.share.Give(s.left)
	s.taken, s.left = s.taken-max(s.left, 0), min(s.left, 0)
}

// Release returns all bytes to the share.
func (s *Spare) Release() {
	s.share.Give(s.taken)
	s.taken, s.left = 0, 0
}
