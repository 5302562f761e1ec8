package inverted

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance"
)

// cursorBound caches the maximal scores of a cursor's list.
type cursorBound struct {
	of *Bound
	// The most that a document scores: of the list, and of the window of a search.
	most, inWindow float64

	// Of the block that ahead examined last:
	number   int
	from, to int64   // the document for which inBlock was computed, and the first after the block
	inBlock  float64 // the most that a document of it scores

	// Of the block for which most was called last:
	parsed       bool
	parsedNumber int
	impacts      []impact
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

// withoutImpacts returns a copy of the list without its impacts, which are absent or incomplete. Early
// versions wrote none.
func (p *posting) withoutImpacts() *posting {
	bare := *p
	bare.impacts = nil
	return &bare
}

// ahead returns the most that a document scores in the block that has a document if any block does, and
// the first document after that block.
func (c *cursor) ahead(document int64) (most float64, end int64, err error) {
	seen := &c.bound
	if c.document == ended {
		return 0, ended, nil
	}
	if seen.from <= document && document < seen.to {
		return seen.inBlock, seen.to, nil
	}
	number, err := c.blockOf(document)
	if err != nil {
		return 0, 0, err
	}
	seen.number, seen.from, seen.to, seen.inBlock = number, document, ended, math.Inf(1)
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

// blockOf returns the last block, at or after the cursor's, that begins at or before a document. It is
// usually the cursor's block or one near it.
func (c *cursor) blockOf(document int64) (int, error) {
	number, end := c.number, len(c.list.blocks)
	if seen := &c.bound; seen.number > number && seen.from <= document {
		number = seen.number
	}
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

// seek moves to the first document at or after the given one.
func (c *cursor) seek(document int64) error {
	if c.document >= document {
		return nil
	}
	if c.decoded {
		if documents := c.block.documents; int64(documents[len(documents)-1]) >= document {
			for int64(documents[c.at]) < document {
				c.at++
			}
			c.document = int64(documents[c.at])
			return nil
		}
	}
	number, err := c.blockOf(document)
	if err != nil {
		return err
	}
	if number != c.number {
		if err := c.enter(number); err != nil || c.document >= document {
			return err
		}
	}
	if err := c.decode(); err != nil {
		return err
	}
	within, _ := slices.BinarySearch(c.block.documents[c.at:], uint32(min(document, math.MaxUint32)))
	c.at += within - 1 // next moves on to the document found
	return c.next()
}
