package inverted

import (
	"context"
	"fmt"
	"math"
	"strings"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// A collector holds documents of the partition that is being built, and the posting list of each of their
// terms. It belongs to one goroutine.
type collector struct {
	analyzer  *fulltext.Analyzer
	positions bool // positions of terms are recorded

	rows     []uint64 // of the documents
	elements []uint32 // their places in lists, if documents are elements of lists
	lengths  []uint32 // number of terms in each document
	total    int64    // terms of all documents

	numbers   map[string]uint32 // the places of terms in the slices below
	terms     []string
	lists     []list
	termBytes int64 // of all terms

	words     map[string]int32 // cache from a word to its term number, or droppedWord
	wordBytes int64            // of all words
	pool      pool             // of the lists

	size int64       // approximate memory of the collector
	held memory.Hold // bytes reserved, at least size

	// Of the document that is being added:
	length uint64
	steps  int
	err    error
}

// A list is a growing posting list. For each document but the last, the pool has a varint: twice the
// distance from the previous document, plus one if the frequency is 1; otherwise a varint of the frequency
// follows. For each occurrence of the term it has a varint of the distance from the previous position in
// the document.
type list struct {
	documents stream
	places    stream
	count     uint32 // including the last one
	last      uint32 // the last document
	distance  uint32 // distance of last from the document before it
	frequency uint32 // of the term in it
	place     uint32 // the last position in it
}

const (
	// termOverhead is the approximate memory of a term beside its bytes.
	termOverhead = 160
	// wordOverhead is the approximate memory of a cached word beside its bytes.
	wordOverhead = 48
	// maxWords bounds the number of cached words, and maxWordBytes their length.
	maxWords     = 1 << 18
	maxWordBytes = 64
	// droppedWord marks a word without a term, such as a stop word.
	droppedWord = -1
	// growth is the memory in bytes that a collector reserves at a time.
	growth = 1 << 20
)

func newCollector(analyzer *fulltext.Analyzer) *collector {
	return &collector{
		analyzer: analyzer, positions: analyzer.Params().WithPosition,
		numbers: map[string]uint32{}, words: map[string]int32{},
	}
}

// add adds the document of a row, unless it has no terms. Documents that are list elements are added even
// without terms, as in native Lance.
func (c *collector) add(ctx context.Context, row uint64, element uint32, text string) error {
	c.length, c.err = 0, nil
	if c.analyzer.IsJSON() {
		if err := c.analyzer.Members(text, func(term string, place int) { c.member(ctx, term, place) }); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
	} else {
		c.analyzer.Words(text, func(word string, place int) bool { return c.word(ctx, word, place) })
	}
	ofElements := c.analyzer.Params().OfElements()
	if c.err != nil || c.length == 0 && !ofElements {
		return c.err
	}
	c.rows = append(c.rows, row)
	if ofElements {
		c.elements = append(c.elements, element)
	}
	c.lengths = append(c.lengths, uint32(min(c.length, math.MaxUint32)))
	c.total += int64(c.length)
	c.size += 2 * documentBytes
	return nil
}

// word adds a word of the document.
func (c *collector) word(ctx context.Context, word string, position int) bool {
	number, known := c.words[word]
	if !known {
		number = c.learn(word)
	}
	if number != droppedWord {
		c.occurs(uint32(number), uint32(position))
	}
	return c.goOn(ctx)
}

// member adds a term of a JSON document.
func (c *collector) member(ctx context.Context, term string, position int) {
	if c.err == nil {
		c.occurs(c.number(term), uint32(position))
		c.goOn(ctx)
	}
}

// learn looks up the term of a word and caches it.
func (c *collector) learn(word string) int32 {
	number := int32(droppedWord)
	if term, ok := c.analyzer.Term(word); ok {
		number = int32(c.number(term))
	}
	if len(word) > maxWordBytes {
		return number
	}
	if len(c.words) == maxWords {
		c.size -= c.wordBytes
		c.words, c.wordBytes = map[string]int32{}, 0
	}
	c.words[strings.Clone(word)] = number
	bytes := wordOverhead + int64(len(word))
	c.wordBytes, c.size = c.wordBytes+bytes, c.size+bytes
	return number
}

// number returns the number of a term.
func (c *collector) number(term string) uint32 {
	number, known := c.numbers[term]
	if known {
		return number
	}
	term, number = strings.Clone(term), uint32(len(c.terms))
	c.numbers[term] = number
	c.terms = append(c.terms, term)
	c.lists = append(c.lists, list{})
	c.termBytes += int64(len(term))
	c.size += termOverhead + 3*int64(len(term)) // the written form repeats the term
	return number
}

// occurs adds a term to the document.
func (c *collector) occurs(number, position uint32) {
	blocks := len(c.pool.blocks)
	l, document := &c.lists[number], uint32(len(c.rows))
	if l.count == 0 || l.last != document {
		if l.count > 0 {
			c.write(l)
		}
		l.distance, l.last, l.frequency, l.place = document-l.last, document, 0, 0
		l.count++
	}
	l.frequency++
	if c.positions {
		c.pool.varint(&l.places, uint64(position-l.place))
		l.place = position
	}
	c.length++
	c.size += poolBlock * int64(len(c.pool.blocks)-blocks)
}

// write writes the last document of a list.
func (c *collector) write(l *list) {
	if l.frequency == 1 {
		c.pool.varint(&l.documents, uint64(l.distance)<<1|1)
		return
	}
	c.pool.varint(&l.documents, uint64(l.distance)<<1)
	c.pool.varint(&l.documents, uint64(l.frequency))
}

// goOn reserves the memory that the document needs by now, and reports whether it can continue.
func (c *collector) goOn(ctx context.Context) bool {
	if c.steps++; c.steps%contextSteps == 0 && c.err == nil {
		c.err = ctx.Err()
	}
	if c.size > c.held.Bytes() && c.err == nil {
		if len(c.pool.blocks) >= poolBlocks-1 {
			c.err = fmt.Errorf("%w: documents with more than %d bytes of terms", lance.ErrUnsupported, c.pool.bytes())
			return false
		}
		c.err = c.held.Resize(ctx, c.size+growth)
	}
	return c.err == nil
}

// A listReader reads a posting list.
type listReader struct {
	documents, places streamReader
	list              *list
	left              uint32 // documents
	document          uint32
	frequency         uint32
}

func (c *collector) reader(number uint32) listReader {
	l := &c.lists[number]
	return listReader{documents: c.pool.reader(&l.documents), places: c.pool.reader(&l.places), list: l, left: l.count}
}

// next moves to the next document, and reports whether there is one. It fills places with the distances
// between the frequency positions of the term in that document.
func (r *listReader) next() bool {
	if r.left == 0 {
		return false
	}
	if r.left--; r.left == 0 {
		r.document, r.frequency = r.list.last, r.list.frequency
		return true
	}
	head := r.documents.varint()
	r.document += uint32(head >> 1)
	if r.frequency = 1; head&1 == 0 {
		r.frequency = uint32(r.documents.varint())
	}
	return true
}
