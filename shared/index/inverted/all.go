package inverted

import (
	"cmp"
	"context"
	"slices"
)

// A set holds the cursors of alternative terms: a document must have at least one of them.
type set []*cursor

func (s set) documents() int {
	n := 0
	for _, c := range s {
		n += c.list.length
	}
	return n
}

// sets returns the required sets, the rarest first, and the cursors of the optional terms. A set without
// cursors means that no document of the partition can match.
func (s *above) sets() (required []set, rest []*cursor) {
	byTerm := make([]*cursor, len(s.matches.lists))
	for _, c := range s.cursors {
		byTerm[c.term] = c
	}
	seen := make([]bool, len(byTerm))
	for _, terms := range s.bound.Required {
		var one set
		for _, t := range terms {
			if c := byTerm[t]; c != nil {
				one, seen[t] = append(one, c), true
			}
		}
		required = append(required, one)
	}
	slices.SortStableFunc(required, func(a, b set) int { return cmp.Compare(a.documents(), b.documents()) })
	for _, c := range s.cursors {
		if !seen[c.term] {
			rest = append(rest, c)
		}
	}
	return required, rest
}

// searchAll yields the documents that have a term of each required set and score enough. It skips windows
// within which no list begins another block if the maximal scores of their blocks add up to too little.
func (s *above) searchAll(ctx context.Context) error {
	required, rest := s.sets()
	if len(required[0]) == 0 {
		return nil
	}
	s.enough = float64(s.bound.Least())
	most, lead := 0.0, required[0] // the most that a document of the window scores
	s.leading = lead
	for at := int64(0); at < ended; {
		if s.steps++; s.steps%contextSteps == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if at >= s.until {
			var err error
			if most, s.until, err = s.ahead(at); err != nil {
				return s.matches.wrong(err)
			}
		}
		if most < s.enough {
			at = s.until
			continue
		}
		if len(lead) == 1 {
			next, err := s.lead(ctx, lead[0], at, most)
			if err != nil {
				return s.matches.wrong(err)
			}
			if next > at {
				at = next
				continue
			}
		}
		next, err := meet(required, at)
		if err != nil {
			return s.matches.wrong(err)
		}
		if next > at {
			at = next
			continue
		}
		enough, err := s.wanted(ctx, at, rest)
		if err != nil {
			return s.matches.wrong(err)
		}
		if enough {
			if err := s.found(ctx, at); err != nil {
				return err
			}
			s.enough = float64(s.bound.Least())
		}
		at++
	}
	return nil
}

// lead moves the cursor of the rarest term to the next document of the window that can score enough with
// the maximum of the other lists. It returns that document, or the first document after the window.
func (s *above) lead(ctx context.Context, c *cursor, at int64, most float64) (int64, error) {
	if err := c.seek(at); err != nil || c.document >= s.until {
		return c.document, err
	}
	s.beside = most - c.bound.inBlock
	if _, err := s.pass(ctx, c); err != nil {
		return 0, err
	}
	return c.document, nil
}

// ahead returns the maximal score in the window that begins at a document, and the end of the window.
func (s *above) ahead(from int64) (most float64, until int64, err error) {
	until = ended
	for _, c := range s.cursors {
		score, end, err := c.ahead(from)
		if err != nil {
			return 0, 0, err
		}
		most, until = most+score, min(until, end)
	}
	return most, until, nil
}

// meet returns the first document, at or after the given one, at which all sets may match. If it is the
// given one, all sets match.
func meet(sets []set, at int64) (int64, error) {
	for _, cursors := range sets {
		for _, c := range cursors {
			if err := c.seek(at); err != nil {
				return 0, err
			}
		}
		if next := least(cursors); next > at {
			return next, nil
		}
	}
	return at, nil
}

// wanted reports whether a document that matches all sets scores enough. If so, it has moved all cursors of
// the document to it.
func (s *above) wanted(ctx context.Context, at int64, rest []*cursor) (bool, error) {
	score, beside := 0.0, 0.0
	for _, c := range s.cursors {
		if c.document < at { // an optional term
			most, _, err := c.ahead(at)
			if err != nil {
				return false, err
			}
			beside += most
		}
	}
	length, could, err := s.length(ctx, at, s.cursors, beside)
	if err != nil || !could {
		return false, err
	}
	for _, c := range s.cursors {
		if c.document == at {
			exact, err := c.score(length)
			if err != nil {
				return false, err
			}
			score += exact
		}
	}
	if score+beside < s.enough {
		return false, nil
	}
	for _, c := range rest {
		if c.document >= at {
			continue
		}
		if err := c.seek(at); err != nil {
			return false, err
		}
		if c.document == at {
			exact, err := c.score(length)
			if err != nil {
				return false, err
			}
			score += exact
		}
	}
	return score >= s.enough, nil
}
