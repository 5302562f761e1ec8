package fulltext

import "slices"

// A phrase is a sequence of terms in one column.
type phrase struct {
	column *column
	terms  []use
	slop   int
	word   int // of a row: 1 when its document holds the phrase
}

// in reports whether a document contains the phrase. positions are the ascending positions of each term of
// the column in the document. The distance of a term from the previous one must be the distance in the
// query plus 0 to slop.
func (p *phrase) in(positions [][]int, covered bool) bool {
	if covered && p.slop > 0 {
		return p.inIndexed(positions)
	}
	return p.inText(positions)
}

// inIndexed searches for the phrase with the algorithm of native Lance for indexed documents. It advances
// all terms together, even those already in place, and so misses some phrases that inText finds.
func (p *phrase) inIndexed(positions [][]int) bool {
	left := make([][]int, len(p.terms)) // positions that were not passed
	for i, t := range p.terms {
		left[i] = positions[t.slot]
	}
	for {
		target, right := 0, true
		for i := range left {
			if len(left[i]) == 0 {
				return false
			}
			if i == 0 {
				continue
			}
			last, next := left[i-1][0]-p.terms[i-1].position, left[i][0]-p.terms[i].position
			move := max(last+1, next-p.slop)
			if last > next {
				move = last
			}
			if i == 1 || move > target {
				target = move
			}
			if right = last <= next && next <= last+p.slop; !right {
				break
			}
		}
		if right {
			return true
		}
		for i, t := range p.terms {
			n, _ := slices.BinarySearch(left[i], target+t.position)
			left[i] = left[i][n:]
		}
	}
}

// inText searches for the phrase by dynamic programming: ends holds the positions at which the phrase up to
// the current term can end.
func (p *phrase) inText(positions [][]int) bool {
	ends := positions[p.terms[0].slot] // ends of partial matches
	for i, term := range p.terms[1:] {
		apart := term.position - p.terms[i].position
		if apart < 0 || len(ends) == 0 {
			return false
		}
		var next []int
		for _, at := range positions[term.slot] {
			// The end of a partial match at an admissible distance before this position.
			j, _ := slices.BinarySearch(ends, at-apart-p.slop)
			if j < len(ends) && ends[j] <= at-apart {
				next = append(next, at)
			}
		}
		ends = next
	}
	return len(ends) > 0
}
