package engine

import (
	"cmp"
	"context"
	"slices"

	"tiltyard/shared/memory"
)

// A merged is a row of the source and one of the table that match.
type merged struct {
	row      int32
	replaces uint64 // address; notReplacing for a row that matches none
}

const (
	notReplacing = ^uint64(0)
	matchedOnly  = ^uint64(0) - 1 // of a row of the source that matches, but replaces nothing
)

// A pairing is which rows of a source match which of a table. As a rule a row matches one
// at most, so that eight bytes per row of the source are enough.
type pairing struct {
	first     []uint64        // by row of the source: notReplacing, matchedOnly, or an address
	more      []merged        // further rows of the table that a row of the source matches
	contested map[uint64]bool // rows of the table that several rows of the source match
	held      memory.Hold     // of the latter two
}

// newPairing returns a pairing of so many rows of a source. What it takes stays counted in the
// share of the context.
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

// count takes memory for the pairs that have been added since it was called last.
func (p *pairing) count(ctx context.Context) error {
	return p.held.Resize(ctx, mergedBytes*int64(cap(p.more))+contestedBytes*int64(len(p.contested)))
}

// What an entry takes.
const (
	mergedBytes    = 16
	contestedBytes = 24
)

// add notes that a row of the table matches a chain of rows of the source.
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

// sort puts further pairs in the order of the source, once all are there.
func (p *pairing) sort() {
	slices.SortFunc(p.more, func(a, b merged) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.replaces, b.replaces))
	})
}

// moreOf returns how many further pairs some rows of the source have.
func (p *pairing) moreOf(from, to int) int {
	byRow := func(m merged, row int32) int { return cmp.Compare(m.row, row) }
	first, _ := slices.BinarySearchFunc(p.more, int32(from), byRow)
	next, _ := slices.BinarySearchFunc(p.more, int32(to), byRow)
	return next - first
}

// each calls f with the pairs of some rows of the source that replace something, in their
// order.
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

// drop makes a pair one that replaces nothing.
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

// dropAll makes all pairs such that replace nothing.
func (p *pairing) dropAll() {
	p.more = nil
	for i, address := range p.first {
		if address != notReplacing {
			p.first[i] = matchedOnly
		}
	}
}

// ambiguous returns a row of the source that replaces what another one replaces, too, or -1.
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
