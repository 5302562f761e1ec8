package inverted

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance"
)

// A measure knows the lengths of the documents of a partition. If they are paged, it has the pages around the last
// document at hand. It belongs to one search, which goes through the documents in their order.
type measure struct {
	of    *partition
	pages pages[*lengthPage]
	page  *lengthPage // used last
	last  int64       // its number
	most  int         // pages of the next read
}

func newMeasure(of *partition) measure {
	return measure{of: of, pages: pages[*lengthPage]{name: "lengths", bits: lengthBits, make: newLengthPage}, last: -1, most: leastAhead}
}

// A read of lengths takes leastAhead to mostAhead pages, moreAhead times as many as the one before. The first are few, because
// a search can skip most documents once it has found enough good ones. All are within farAhead documents, and within
// throughPages or in at most mostApart groups: of more groups, datafile reads the gaps, too.
const (
	leastAhead   = 64
	moreAhead    = 4
	mostAhead    = 1024
	farAhead     = 1 << 23
	mostApart    = 32
	throughPages = 1 << 21 >> lengthBits
)

// known returns the length of a document if it is in memory.
func (m *measure) known(ctx context.Context, document int64) (length uint32, ok bool, err error) {
	d := m.of.documents
	if document >= d.count {
		return 0, false, fmt.Errorf("%w: document %d of %d", lance.ErrCorrupt, document, d.count)
	}
	if !d.paged {
		return d.lengths[document], true, nil
	}
	number := document >> lengthBits
	if number != m.last {
		page, ok, err := m.pages.find(ctx, m.of, number)
		if err != nil || !ok {
			return 0, false, err
		}
		m.page, m.last = page, number
	}
	return m.page.at(document & (1<<lengthBits - 1)), true, nil
}

// length returns the length of a document. If it is not in memory, its page is read, together with pages of upcoming
// documents.
func (m *measure) length(ctx context.Context, document int64, next *upcoming) (uint32, error) {
	length, ok, err := m.known(ctx, document)
	if ok || err != nil {
		return length, err
	}
	numbers := []int64{document >> lengthBits}
	for i := range next.cursors {
		count := 0
		err := next.each(i, document, func(d int64) bool {
			if d >= m.of.documents.count {
				return false
			}
			if number := d >> lengthBits; number != numbers[len(numbers)-1] {
				numbers = append(numbers, number)
				count++
			}
			return count < m.most
		})
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	numbers = numbers[:min(m.most, len(numbers))]
	for i, apart := 1, 1; i < len(numbers); i++ {
		if numbers[i]-numbers[i-1] <= nearPages {
			continue
		}
		if apart++; apart > mostApart && numbers[i]-numbers[0] > throughPages {
			numbers = numbers[:i]
		}
	}
	m.most = min(moreAhead*m.most, mostAhead)
	if err := m.pages.load(ctx, m.of, m.of.columns.Fields[1:2], numbers); err != nil {
		return 0, err
	}
	length, _, err = m.known(ctx, document)
	return length, err
}

// upcoming are the documents that a search will look at, unless it learns more.
type upcoming struct {
	cursors []*cursor // of lists, at least one of which has the documents
	all     []*cursor // of the search
	enough  float64   // documents that cannot score that much are left out
}

// each calls need with such documents of one list, in their order and from one on, until need returns false.
func (u *upcoming) each(list int, from int64, need func(document int64) bool) error {
	c, beside := u.cursors[list], 0.0
	if c.document == ended {
		return nil
	}
	for _, other := range u.all {
		if other != c {
			beside += other.bound.most
		}
	}
	number, err := c.blockOf(max(from, c.document))
	if err != nil {
		return err
	}
	ahead := cursor{list: c.list, term: c.term, document: -1, bound: cursorBound{of: c.bound.of}}
	size := c.list.coding.block
	ahead.block = block{documents: make([]uint32, 0, size), frequencies: make([]uint32, 0, size)}
	for ; number < len(c.list.blocks); number++ {
		first, err := c.list.first(number)
		if err != nil || first-from > farAhead {
			return err
		}
		ahead.number, ahead.decoded = number, false
		if most, err := ahead.most(0); err != nil || most+beside < u.enough {
			if err != nil {
				return err
			}
			continue
		}
		if err := ahead.decode(); err != nil {
			return err
		}
		for i, d := range ahead.block.documents {
			if int64(d) < from {
				continue
			}
			if int64(d)-from > farAhead {
				return nil
			}
			if most, err := ahead.most(ahead.block.frequencies[i]); err != nil || most+beside < u.enough {
				if err != nil {
					return err
				}
				continue
			}
			if !need(int64(d)) {
				return nil
			}
		}
	}
	return nil
}

// most returns an upper bound of the score that a document of the cursor's block reaches for its term with some
// frequency, or with any if that is 0.
func (c *cursor) most(frequency uint32) (float64, error) {
	b := c.bound.of
	if b == nil || c.list.impacts == nil {
		return math.Inf(1), nil
	}
	seen := &c.bound
	if !seen.parsed || seen.parsedNumber != c.number {
		seen.impacts = seen.impacts[:0]
		if err := decodeImpacts(c.list.impacts[c.number], func(i impact) { seen.impacts = append(seen.impacts, i) }); err != nil {
			return 0, fmt.Errorf("impacts of block %d: %w", c.number, err)
		}
		seen.parsed, seen.parsedNumber = true, c.number
	}
	of, best, shortest := corpus{average: b.AverageLength}, float32(0), uint32(math.MaxUint32)
	for _, i := range seen.impacts {
		best = max(best, of.score(i.frequency, i.length))
		if i.frequency >= frequency {
			shortest = min(shortest, i.length)
		}
	}
	switch {
	case frequency == 0:
	case shortest == math.MaxUint32: // the impacts contradict the frequencies
		best = of.score(frequency, 0)
	default:
		best = of.score(frequency, shortest)
	}
	return slack * float64(b.Weights[c.term]*best), nil
}
