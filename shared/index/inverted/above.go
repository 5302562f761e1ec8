package inverted

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/memory"
)

// A Bound describes the documents that a search wants: those that score much enough. A document scores,
// for each term, the weight of the term times what BM25 makes of its frequency and of the length of the
// document, which is 1 at most if the weight includes the factor k1 + 1.
type Bound struct {
	Weights       []float32 // by term
	AverageLength float32   // of documents
	// Least returns the least score that is wanted, which may rise during the search.
	Least func() float32
}

// slack is more than the part of a score that rounding changes.
const slack = 1 + 1e-4

// most returns what a document scores at most for a term whose impacts are in an entry.
func (b *Bound) most(entry []byte, term int) (float64, error) {
	r, of := &reader{data: entry}, corpus{average: b.AverageLength}
	r.varint() // the last document
	best, i, length := float32(0), impact{}, byte(0)
	for n := r.varint(); n > 0 && r.err == nil; n-- {
		head := r.varint()
		i.frequency += head>>1 + 1
		if head&1 == 1 {
			length += r.byte()
		} else {
			length++
		}
		i.length = decodeLength(length)
		best = max(best, of.score(i.frequency, i.length))
	}
	return slack * float64(best) * float64(b.Weights[term]), r.err
}

// score returns what a document scores, or a little more.
func (b *Bound) score(d *Document) float64 {
	of, sum := corpus{average: b.AverageLength}, float32(0)
	for term, n := range d.Frequencies {
		if n > 0 {
			sum += b.Weights[term] * of.score(n, d.Length)
		}
	}
	return slack * float64(sum)
}

// decodeLength returns the least length that a byte stands for.
func decodeLength(code byte) uint32 {
	if code < 8 {
		return uint32(code)
	}
	return uint32(8|code&7) << (code>>3 - 1)
}

// EachAbove calls yield as Each does, but leaves out documents that score less than the bound wants. It
// looks at the impacts of blocks before it decodes them. Documents have no positions.
//
// Before each document it finds the pivot: the first document that can score enough, if each term of
// those that are there up to it scores the most that it does anywhere in the list. Then it looks at what
// the terms score at most in their blocks with the pivot. This is block-max WAND (Ding, Suel: Faster
// Top-k Document Retrieval Using Block-Max Indexes, 2011).
func (m *Matches) EachAbove(ctx context.Context, b Bound, yield func(*Document) error) error {
	room := memory.Hold{}
	defer func() { room.Release() }()
	cursors, err := m.cursors(ctx, &room)
	if err != nil {
		return m.wrong(err)
	}
	for _, c := range cursors {
		if err := c.bind(&b); err != nil {
			return m.wrong(err)
		}
	}
	d := &Document{Frequencies: make([]uint32, len(m.lists))}
	for count := 1; ; count++ {
		if count%contextSteps == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		enough := float64(b.Least())
		at, err := pivot(ctx, cursors, enough)
		switch {
		case err != nil:
			return m.wrong(err)
		case at == ended:
			return nil
		case at < 0:
			continue
		}
		if err := m.load(ctx, d, at, cursors); err != nil {
			return m.wrong(err)
		}
		if b.score(d) < enough {
			continue
		}
		if err := yield(d); err != nil {
			return err
		}
	}
}

// pivot returns the next document that can score enough, if all cursors that have it are there. Otherwise
// it moves some of them on, and returns -1. After the last document it returns ended.
func pivot(ctx context.Context, cursors []*cursor, enough float64) (int64, error) {
	if math.IsInf(enough, -1) {
		return least(cursors), nil
	}
	sortCursors(cursors)
	sum, n := 0.0, 0 // of the cursors up to the pivot
	for n < len(cursors) && cursors[n].document != ended && !(sum >= enough && n > 0) {
		sum += cursors[n].bound.most
		n++
	}
	if n == 0 || sum < enough {
		return ended, nil
	}
	at := cursors[n-1].document
	for n < len(cursors) && cursors[n].document == at {
		n++
	}
	until := int64(ended)
	if n < len(cursors) {
		until = cursors[n].document
	}
	sum = 0
	for _, c := range cursors[:n] {
		most, end, err := c.ahead(at)
		if err != nil {
			return 0, err
		}
		sum, until = sum+most, min(until, end)
	}
	if sum >= enough {
		if cursors[0].document == at {
			return at, nil
		}
		until = at
	}
	for _, c := range cursors[:n] {
		if c.document < until {
			if err := c.seek(ctx, until); err != nil {
				return 0, err
			}
		}
	}
	return -1, nil
}

// sortCursors sorts cursors by their documents. They are few, and nearly sorted.
func sortCursors(cursors []*cursor) {
	for i, c := range cursors {
		for ; i > 0 && cursors[i-1].document > c.document; i-- {
			cursors[i] = cursors[i-1]
		}
		cursors[i] = c
	}
}

// cursorBound is what a cursor knows of the scores of its list.
type cursorBound struct {
	of   *Bound
	most float64 // that a document of the list scores

	// Of the block that ahead has looked at last:
	from, to int64   // the document for which it did, and the first after the block
	inBlock  float64 // the most that a document of it scores
}

// bind prepares a cursor for a bound.
func (c *cursor) bind(b *Bound) error {
	c.bound = cursorBound{of: b, most: math.Inf(1)}
	if len(c.list.impacts) != len(c.list.blocks)+(len(c.list.blocks)+span-1)/span {
		c.list = c.list.withoutImpacts()
		return nil
	}
	c.bound.most = 0
	for _, entry := range c.list.impacts[len(c.list.blocks):] {
		most, err := b.most(entry, c.term)
		if err != nil {
			return fmt.Errorf("impacts: %w", err)
		}
		c.bound.most = max(c.bound.most, most)
	}
	return nil
}

// withoutImpacts returns the list as if it had no impacts, which early versions did not write.
func (p *posting) withoutImpacts() *posting {
	bare := *p
	bare.impacts = nil
	return &bare
}

// ahead returns the most that a document scores in the block that has a document if any block does, and
// the first document after that block.
func (c *cursor) ahead(document int64) (most float64, end int64, err error) {
	seen := &c.bound
	if seen.from <= document && document < seen.to {
		return seen.inBlock, seen.to, nil
	}
	number, err := c.blockOf(document)
	if err != nil {
		return 0, 0, err
	}
	seen.from, seen.to, seen.inBlock = document, ended, math.Inf(1)
	if number+1 < len(c.list.blocks) {
		if seen.to, err = c.list.first(number + 1); err != nil {
			return 0, 0, err
		}
	}
	if c.list.impacts != nil {
		if seen.inBlock, err = seen.of.most(c.list.impacts[number], c.term); err != nil {
			return 0, 0, fmt.Errorf("impacts of block %d: %w", number, err)
		}
	}
	return seen.inBlock, seen.to, nil
}

// blockOf returns the last block, not before that of the cursor, that begins with a document or with one
// before it. It mostly is that of the cursor, or near to it.
func (c *cursor) blockOf(document int64) (int, error) {
	number, end := c.number, len(c.list.blocks)
	for step := 1; number+1 < end; {
		next := min(number+step, end-1)
		first, err := c.list.first(next)
		if err != nil {
			return 0, err
		}
		if first <= document {
			number, step = next, 2*step
		} else {
			end, step = next, (next-number+1)/2
		}
	}
	return number, nil
}

// first returns the first document of a block.
func (p *posting) first(number int) (int64, error) {
	data := p.blocks[number]
	if p.coding.scored() {
		data = data[min(4, len(data)):]
	}
	isFull := (number+1)*p.coding.block <= p.length
	if p.coding.varint && !isFull {
		r := &reader{data: data}
		return int64(r.varint()), r.err
	}
	if len(data) < 4 {
		return 0, fmt.Errorf("%w: a block of %d bytes", lance.ErrCorrupt, len(p.blocks[number]))
	}
	return int64(binary.LittleEndian.Uint32(data)), nil
}

// seek moves to the first document that is not before a given one, which is after that of the cursor.
func (c *cursor) seek(ctx context.Context, document int64) error {
	number, err := c.blockOf(document)
	if err != nil {
		return err
	}
	if number != c.number {
		c.number = number
		if err := c.decode(ctx); err != nil {
			return err
		}
	}
	for c.at < len(c.block.documents) && int64(c.block.documents[c.at]) < document {
		c.at++
	}
	c.at-- // next goes to it
	return c.next(ctx)
}
