package fm

import "context"

// sortSuffixes writes into order the places of all suffixes of a text, in the order of the suffixes.
// The last symbol of the text must be 0, and no other. alphabet is one more than the greatest symbol.
//
// It is the algorithm SA-IS (Nong, Zhang, Chan: Two Efficient Algorithms for Linear Time Suffix Array
// Construction, 2011). A suffix is small if it is less than the next one. Once the small suffixes that
// follow on others are in order, two passes put all suffixes in order; and these few are in order once
// the suffixes of a shorter text are, whose symbols stand for what is between them.
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

type sorting[S byte | int32] struct {
	text  []S
	order []int32 // the suffixes; -1 where none is yet
	small []bool  // by place in the text
	ends  []int32 // of the part of order whose suffixes begin with a symbol
}

func (s *sorting[S]) clear(order []int32) {
	for i := range order {
		order[i] = -1
	}
}

// isFirst reports whether a suffix is small, and the one before it is not.
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

// induce puts all suffixes in order, from those that are. Those of these that are not at the right
// place within the suffixes with their symbol get there.
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

// sortFirsts puts the first small suffixes in order, whose pieces up to the next one are. It returns
// their places in the text, in the order of the text, and leaves in order[:count] their numbers among
// these, in the order of the suffixes.
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

// samePiece reports whether the text is the same from two first small suffixes up to the next ones.
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
