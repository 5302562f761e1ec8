package fm

import "context"

// sortSuffixes writes the suffix array of a text into order. The last symbol of the text, and no other,
// must be 0. alphabet is one more than the greatest symbol.
//
// It implements SA-IS (Nong, Zhang, Chan: Two Efficient Algorithms for Linear Time Suffix Array
// Construction, 2011). A suffix is small if it is less than the next one. Two passes derive the order of
// all suffixes from the order of the first small suffixes, whose predecessors are not small. That order
// follows from a shorter text with one symbol per piece between two first small suffixes, which is sorted
// recursively.
func sortSuffixes[S byte | int32](ctx context.Context, text []S, alphabet int, order []int32) error {
	if len(text) == 1 {
		order[0] = 0
		return nil
	}
	s := sorting[S]{text: text, order: order, small: make([]bool, len(text)), ends: make([]int32, alphabet)}
	s.small[len(text)-1] = true
	for i := len(text) - 2; i >= 0; i-- {
		s.small[i] = text[i] < text[i+1] || text[i] == text[i+1] && s.small[i+1]
	}
	count := 0
	s.clear(order)
	s.bucketEnds()
	for i := range text {
		if s.isFirst(i) {
			s.ends[text[i]]--
			order[s.ends[text[i]]] = int32(i)
			count++
		}
	}
	if err := s.induce(ctx); err != nil {
		return err
	}
	firsts, err := s.sortFirsts(ctx, count)
	if err != nil {
		return err
	}
	s.clear(order[count:])
	s.bucketEnds()
	for i := count - 1; i >= 0; i-- {
		at := firsts[order[i]]
		order[i] = -1
		s.ends[text[at]]--
		order[s.ends[text[at]]] = at
	}
	return s.induce(ctx)
}

// sorting is the state of SA-IS for one text.
type sorting[S byte | int32] struct {
	text  []S
	order []int32 // the suffixes; -1 where none is yet
	small []bool  // by place in the text
	ends  []int32 // of the bucket of a symbol: the part of order whose suffixes begin with it
}

func (s *sorting[S]) clear(order []int32) {
	for i := range order {
		order[i] = -1
	}
}

// isFirst reports whether a suffix is small and its predecessor is not.
func (s *sorting[S]) isFirst(i int) bool { return i > 0 && s.small[i] && !s.small[i-1] }

// bucketEnds sets where the suffixes that begin with each symbol end.
func (s *sorting[S]) bucketEnds() {
	clear(s.ends)
	for _, symbol := range s.text {
		s.ends[symbol]++
	}
	end := int32(0)
	for symbol, n := range s.ends {
		end += n
		s.ends[symbol] = end
	}
}

// bucketStarts sets where the suffixes that begin with each symbol begin.
func (s *sorting[S]) bucketStarts() {
	s.bucketEnds()
	copy(s.ends[1:], s.ends)
	s.ends[0] = 0
}

// induce derives the order of all suffixes from the suffixes already in order, and moves misplaced ones to
// their place within their bucket.
func (s *sorting[S]) induce(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.bucketStarts()
	for i := range s.order {
		if at := s.order[i] - 1; at >= 0 && !s.small[at] {
			s.order[s.ends[s.text[at]]] = at
			s.ends[s.text[at]]++
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.bucketEnds()
	for i := len(s.order) - 1; i >= 0; i-- {
		if at := s.order[i] - 1; at >= 0 && s.small[at] {
			s.ends[s.text[at]]--
			s.order[s.ends[s.text[at]]] = at
		}
	}
	return nil
}

// sortFirsts sorts the first small suffixes by their pieces, the texts up to the next first small suffix.
// It returns their positions in text order, and leaves in order[:count] their indices into that list, in
// suffix order.
func (s *sorting[S]) sortFirsts(ctx context.Context, count int) ([]int32, error) {
	n := len(s.order)
	sorted := s.order[:0]
	for _, at := range s.order {
		if s.isFirst(int(at)) {
			sorted = append(sorted, at)
		}
	}
	names := s.order[count:] // by half of the place; no two are neighbours
	s.clear(names)
	name := int32(-1)
	for i, at := range sorted {
		if i == 0 || !s.samePiece(int(sorted[i-1]), int(at)) {
			name++
		}
		names[at/2] = name
	}
	short := s.order[n-count:]
	to := n
	for i := n - 1; i >= count; i-- {
		if named := s.order[i]; named >= 0 {
			to--
			s.order[to] = named
		}
	}
	if int(name)+1 < count {
		if err := sortSuffixes(ctx, short, int(name)+1, s.order[:count]); err != nil {
			return nil, err
		}
	} else {
		for i, named := range short {
			s.order[named] = int32(i)
		}
	}
	firsts := make([]int32, 0, count)
	for i := range s.text {
		if s.isFirst(i) {
			firsts = append(firsts, int32(i))
		}
	}
	return firsts, nil
}

// samePiece reports whether the pieces of two first small suffixes are equal.
func (s *sorting[S]) samePiece(a, b int) bool {
	last := len(s.text) - 1
	for i := 0; ; i++ {
		if a+i == last || b+i == last || s.text[a+i] != s.text[b+i] || s.small[a+i] != s.small[b+i] {
			return false
		}
		if i > 0 && (s.isFirst(a+i) || s.isFirst(b+i)) {
			return s.isFirst(a+i) && s.isFirst(b+i)
		}
	}
}
