package merge

import (
	"cmp"
	"context"
	"slices"

	"tiltyard/shared/process/memory"
)

// merged is a row of the source and a row of the table that match.
type merged struct {
	row      int32
	replaces uint64 // address; notReplacing for a row without a match
}

const (
	notReplacing = ^uint64(0)
	matchedOnly  = ^uint64(0) - 1 // a row of the source that matches but replaces nothing
)

// A pairing holds which rows of a source match which rows of a table. Usually a row matches at most
// one, so eight bytes per source row suffice.
type pairing struct {
	first     []uint64        // by source row: notReplacing, matchedOnly, or an address
	more      []merged        // further table rows that a source row matches
	contested map[uint64]bool // table rows that several source rows match
	held      memory.Hold     // memory of more and contested
}

// newPairing returns a pairing for a source of so many rows. Its memory stays in the share of the
// context.
func newPairing(ctx context.Context, rows int) (*pairing, error) {
	if _, err := memory.Take(ctx, addressBytes*int64(rows)); err != nil {
		return nil, err
	}
	p := &pairing{first: make([]uint64, rows), contested: map[uint64]bool{}}
	for i := range p.first {
		p.first[i] = notReplacing
	}
	return p, nil
}

// count takes memory for the pairs that were added since its last call.
func (p *pairing) count(ctx context.Context) error {
	return p.held.Resize(ctx, mergedBytes*int64(cap(p.more))+contestedBytes*int64(len(p.contested)))
}

// These constants are the memory of one entry.
const (
	mergedBytes    = 16
	contestedBytes = 24
)

// add records that a table row matches a chain of source rows.
func (p *pairing) add(address uint64, row int32, next []int32) {
	if next[row] >= 0 {
		p.contested[address] = true
	}
	for ; row >= 0; row = next[row] {
		if p.first[row] == notReplacing {
			p.first[row] = address
		} else {
			p.more = append(p.more, merged{row, address})
		}
	}
}

// sort puts the further pairs in the order of the source, once all are added.
func (p *pairing) sort() {
	slices.SortFunc(p.more, func(a, b merged) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.replaces, b.replaces))
	})
}

// moreOf returns how many further pairs the rows from from to to have.
func (p *pairing) moreOf(from, to int) int {
	byRow := func(m merged, row int32) int { return cmp.Compare(m.row, row) }
	first, _ := slices.BinarySearchFunc(p.more, int32(from), byRow)
	next, _ := slices.BinarySearchFunc(p.more, int32(to), byRow)
	return next - first
}

// each calls f, in order, with the pairs of the given source rows that replace something.
func (p *pairing) each(from, to int, f func(m merged)) {
	at, _ := slices.BinarySearchFunc(p.more, int32(from), func(m merged, row int32) int { return cmp.Compare(m.row, row) })
	for row := from; row < to; row++ {
		if address := p.first[row]; address < matchedOnly {
			f(merged{int32(row), address})
		}
		for ; at < len(p.more) && int(p.more[at].row) == row; at++ {
			if p.more[at].replaces < matchedOnly {
				f(p.more[at])
			}
		}
	}
}

// drop turns a pair into one that replaces nothing.
func (p *pairing) drop(m merged) {
	if p.first[m.row] == m.replaces {
		p.first[m.row] = matchedOnly
		return
	}
	at, _ := slices.BinarySearchFunc(p.more, m.row, func(m merged, row int32) int { return cmp.Compare(m.row, row) })
	for p.more[at] != m {
		at++
	}
	p.more[at].replaces = matchedOnly
}

// dropAll turns all pairs into ones that replace nothing.
func (p *pairing) dropAll() {
	p.more = nil
	for i, address := range p.first {
		if address != notReplacing {
			p.first[i] = matchedOnly
		}
	}
}

// ambiguous returns a source row that replaces the same table row as another one, or -1.
func (p *pairing) ambiguous() int {
	if len(p.contested) == 0 {
		return -1
	}
	found := -1
	seen := map[uint64]bool{}
	p.each(0, len(p.first), func(m merged) {
		if p.contested[m.replaces] {
			if seen[m.replaces] && found < 0 {
				found = int(m.row)
			}
			seen[m.replaces] = true
		}
	})
	return found
}
