package merge

import (
	"cmp"
	"context"
	"slices"

	"tiltyard/shared/process/memory"
)

// merged is a row of the source together with a row of the table that it matches.
type merged struct {
	row      int32
	replaces uint64 // address; notReplacing if the row has no match
}

const (
	notReplacing = ^uint64(0)
	matchedOnly  = ^uint64(0) - 1 // the row has a match but replaces nothing
)

// A pairing records which rows of a source match which rows of a table. Usually a row has at most
// one match, so eight bytes per source row suffice.
type pairing struct {
	first     []uint64        // by source row: notReplacing, matchedOnly, or an address
	more      []merged        // the second and further matches of source rows
	contested map[uint64]bool // table rows with several matching source rows
	held      memory.Hold     // memory of more and contested
}

// newPairing returns a pairing for a source with the given number of rows. Its memory is charged to
// the context.
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

// sort sorts the further pairs by source row. It is called once, after the last add.
func (p *pairing) sort() {
	slices.SortFunc(p.more, func(a, b merged) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.replaces, b.replaces))
	})
}

// moreOf returns the number of further pairs of the source rows [from, to).
func (p *pairing) moreOf(from, to int) int {
	byRow := func(m merged, row int32) int { return cmp.Compare(m.row, row) }
	first, _ := slices.BinarySearchFunc(p.more, int32(from), byRow)
	next, _ := slices.BinarySearchFunc(p.more, int32(to), byRow)
	return next - first
}

// each calls f, in order, with the replacing pairs of the source rows [from, to).
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

// drop makes a pair replace nothing. The source row still has a match, so it is not inserted.
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

// dropAll makes all pairs replace nothing.
func (p *pairing) dropAll() {
	p.more = nil
	for i, address := range p.first {
		if address != notReplacing {
			p.first[i] = matchedOnly
		}
	}
}

// ambiguous returns a source row that replaces the same table row as another one, or -1 if there is
// none.
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
