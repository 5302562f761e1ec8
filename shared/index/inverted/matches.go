package inverted

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// Matches are the documents of a partition that contain at least one of the terms.
type Matches struct {
	// Holding is the document frequency of each term.
	Holding []int64
	// Blocks is the number of blocks of all posting lists.
	Blocks int

	partition *partition
	lists     []*posting // by term; nil if no document has it
	positions bool
	rows      rowReader
}

// Find returns, for each partition, the documents with at least one of the terms. With positions it also
// reads the positions of the terms.
func (r *Reader) Find(ctx context.Context, terms []string, positions bool) ([]*Matches, error) {
	found := make([]*Matches, len(r.partitions))
	err := r.each(ctx, func(ctx context.Context, p *partition, i int) error {
		lists, err := p.listsWithPages(ctx, terms, positions)
		if err != nil {
			return err
		}
		m := &Matches{partition: p, lists: lists, positions: positions, Holding: make([]int64, len(terms))}
		for t, list := range lists {
			if list == nil {
				continue
			}
			m.Holding[t] = int64(list.length)
			if err := p.checkFrequency(m.Holding[t]); err != nil {
				return err
			}
			m.Blocks += len(list.blocks)
		}
		found[i] = m
		return nil
	})
	return found, err
}

// IsPaged reports whether the documents of the partition are read by page.
func (m *Matches) IsPaged() bool { return m.partition.documents.paged }

// A Document is a document with at least one of the terms.
type Document struct {
	Number int64  // [Matches.Locate] returns its row
	Length uint32 // in terms, as scores count it
	// Frequencies has the frequency of each term in the document.
	Frequencies []uint32
	// Positions has the ascending positions of each term; nil unless requested.
	Positions [][]int
}

// Each calls yield with each of the documents in the order of their numbers. A document is good
// until yield returns.
func (m *Matches) Each(ctx context.Context, yield func(*Document) error) error {
	measure := newMeasure(m.partition)
	defer measure.pages.held.Release()
	return m.each(ctx, &measure, yield)
}

// EachUnmeasured is Each without the lengths of the documents.
func (m *Matches) EachUnmeasured(ctx context.Context, yield func(*Document) error) error {
	return m.each(ctx, nil, yield)
}

func (m *Matches) each(ctx context.Context, measure *measure, yield func(*Document) error) error {
	room := memory.Hold{}
	defer func() { room.Release() }()
	cursors, err := m.cursors(ctx, &room)
	if err != nil {
		return m.wrong(err)
	}
	d, all := m.document(), &upcoming{cursors: cursors, enough: math.Inf(-1)}
	for count := 1; ; count++ {
		if count%contextSteps == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		next := least(cursors)
		if next == ended {
			return nil
		}
		if err := m.load(ctx, d, next, cursors, measure, all); err != nil {
			return m.wrong(err)
		}
		if err := yield(d); err != nil {
			return err
		}
	}
}

// document returns a document of no number yet.
func (m *Matches) document() *Document {
	d := &Document{Frequencies: make([]uint32, len(m.lists))}
	if m.positions {
		d.Positions = make([][]int, len(m.lists))
	}
	return d
}

func (m *Matches) wrong(err error) error {
	return fmt.Errorf("%s: %w", m.partition.name("invert"), err)
}

// load makes d the document of a number, and moves the cursors that are at it. Without a measure it omits the length.
func (m *Matches) load(ctx context.Context, d *Document, number int64, cursors []*cursor, measure *measure, next *upcoming) (err error) {
	if number >= m.partition.documents.count {
		return fmt.Errorf("%w: document %d of %d", lance.ErrCorrupt, number, m.partition.documents.count)
	}
	d.Number = number
	if measure != nil {
		if d.Length, err = measure.length(ctx, number, next); err != nil {
			return err
		}
	}
	clear(d.Frequencies)
	for i := range d.Positions {
		d.Positions[i] = d.Positions[i][:0]
	}
	for _, c := range cursors {
		if c.document != number {
			continue
		}
		if err := c.decode(); err != nil {
			return err
		}
		d.Frequencies[c.term] = c.block.frequencies[c.at]
		if m.positions {
			places, err := c.here(ctx)
			if err != nil {
				return err
			}
			for _, p := range places {
				d.Positions[c.term] = append(d.Positions[c.term], int(p))
			}
		}
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// ended is after the number of any document.
const ended = math.MaxInt64

func least(cursors []*cursor) int64 {
	next := int64(ended)
	for _, c := range cursors {
		next = min(next, c.document)
	}
	return next
}

// A cursor iterates over a posting list. It reads the first document of a block without decoding the block,
// so blocks without a wanted document are never decoded.
type cursor struct {
	list      *posting
	term      int
	document  int64 // ended after the last document
	number    int   // of the block
	at        int   // in the block
	decoded   bool  // block holds the current block
	block     block
	positions []uint32 // of all documents of the block, one after another
	starts    []int    // start of each document in positions
	placed    bool     // positions belong to the current block
	room      *memory.Hold
	taken     int // positions that room has memory for
	bound     cursorBound
}

// positionBytes is the memory of a position, in a cursor and in a document.
const positionBytes = 4 + 8

// cursors returns a cursor for each non-empty list, at its first document. It accounts in room for their
// decoded blocks.
func (m *Matches) cursors(ctx context.Context, room *memory.Hold) ([]*cursor, error) {
	var cursors []*cursor
	for term, list := range m.lists {
		if list == nil || list.length == 0 {
			continue
		}
		if err := room.Resize(ctx, room.Bytes()+2*4*int64(list.coding.block)); err != nil {
			return nil, err
		}
		c := &cursor{list: list, term: term, number: -1, document: -1, room: room}
		c.block = block{documents: make([]uint32, 0, list.coding.block), frequencies: make([]uint32, 0, list.coding.block)}
		if err := c.next(); err != nil {
			return nil, err
		}
		cursors = append(cursors, c)
	}
	return cursors, nil
}

// next moves to the next document.
func (c *cursor) next() error {
	if c.number >= 0 {
		if err := c.decode(); err != nil {
			return err
		}
		if c.at++; c.at < len(c.block.documents) {
			c.document = int64(c.block.documents[c.at])
			return nil
		}
	}
	return c.enter(c.number + 1)
}

// enter moves to the first document of a later block.
func (c *cursor) enter(number int) error {
	c.number, c.at, c.decoded, c.placed = number, 0, false, false
	if number == len(c.list.blocks) {
		c.document = ended
		return nil
	}
	first, err := c.list.first(number)
	if err != nil {
		return fmt.Errorf("block %d: %w", number, err)
	}
	if first <= c.document {
		return fmt.Errorf("%w: block %d begins with document %d after %d", lance.ErrCorrupt, number, first, c.document)
	}
	c.document = first
	return nil
}

// decode decodes the block that the cursor is at, unless it has done so.
func (c *cursor) decode() error {
	if c.decoded {
		return nil
	}
	size := c.list.coding.block
	n := min(size, c.list.length-c.number*size)
	if err := c.list.coding.decode(c.list.blocks[c.number], n, &c.block); err != nil {
		return fmt.Errorf("block %d: %w", c.number, err)
	}
	c.decoded = true
	return nil
}

// place decodes the positions in the documents of the block.
func (c *cursor) place(ctx context.Context) (err error) {
	c.starts, c.positions = c.starts[:0], c.positions[:0]
	total := 0
	for _, n := range c.block.frequencies {
		c.starts = append(c.starts, total)
		total += int(n)
	}
	c.starts = append(c.starts, total)
	if total > c.taken {
		if err := c.room.Resize(ctx, c.room.Bytes()+positionBytes*int64(total-c.taken)); err != nil {
			return err
		}
		c.taken = total
	}
	if c.list.stream != nil {
		c.positions, err = c.list.stream.decode(c.number, c.block.frequencies, c.positions)
		return err
	}
	document := c.number * c.list.coding.block
	for i, n := range c.block.frequencies {
		list := c.list.single[c.list.starts[document+i]:c.list.starts[document+i+1]]
		if c.positions, err = appendPositions(c.positions, list, int(n)); err != nil {
			return err
		}
		if !slices.IsSorted(c.positions[c.starts[i]:]) {
			return fmt.Errorf("%w: positions out of their order", lance.ErrCorrupt)
		}
	}
	return nil
}

// here returns the positions in the document that the cursor is at. The block is decoded.
func (c *cursor) here(ctx context.Context) ([]uint32, error) {
	if !c.placed {
		if err := c.place(ctx); err != nil {
			return nil, fmt.Errorf("block %d: %w", c.number, err)
		}
		c.placed = true
	}
	return c.positions[c.starts[c.at]:c.starts[c.at+1]], nil
}
