package fulltext

import (
	"math"
	"strings"
)

// A Document is the text of a row in one column, or of one list element.
type Document struct {
	Text    string
	Null    bool // the row has no text
	Covered bool // by the index on the column
}

// A Tally counts documents and terms. It belongs to one goroutine; tallies are merged at the end.
type Tally struct {
	search   *Search
	counters *counters
	columns  []corpora

	// Addresses are the addresses of the kept rows, in the order of their counts. If documents are
	// elements of lists, Elements are their places in the lists.
	Addresses []uint64
	Elements  []uint32
	rows      []uint32
}

// A corpus is the statistics of BM25 about many documents. Documents without any term are
// not counted, unless documents are elements of lists.
type corpus struct {
	documents int64
	length    int64   // of all documents together, in terms
	holding   []int64 // documents that hold each of the terms
}

// corpora are the statistics of a column: of covered documents, of other documents that pass the filter,
// and of the rest.
type corpora struct{ covered, passed, others corpus }

// NewTally returns an empty tally.
func (s *Search) NewTally() *Tally {
	t := &Tally{search: s, columns: make([]corpora, len(s.columns))}
	for i, c := range s.columns {
		for _, corpus := range []*corpus{&t.columns[i].covered, &t.columns[i].passed, &t.columns[i].others} {
			corpus.holding = make([]int64, len(c.terms))
		}
	}
	t.counters = s.freeCounters()
	return t
}

// freeCounters returns counters that no tally uses.
func (s *Search) freeCounters() *counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return s.newCounters()
	}
	c := s.free[n-1]
	s.free = s.free[:n-1]
	return c
}

// Done ends the counting.
func (t *Tally) Done() {
	t.search.mu.Lock()
	defer t.search.mu.Unlock()
	t.search.free = append(t.search.free, t.counters)
	t.counters = nil
}

// Bytes returns the memory of the kept rows.
func (t *Tally) Bytes() int64 {
	return 8*int64(cap(t.Addresses)) + 4*int64(cap(t.Elements)) + 4*int64(cap(t.rows))
}

// Add counts the documents of a row, one for each column. found is true if the row is a possible result: it
// is not deleted, and passes the filter. With keep, the counts of a row with at least one term are kept for
// scoring.
func (t *Tally) Add(address uint64, documents []Document, found, keep bool) error {
	return t.AddElement(address, 0, documents, found, keep)
}

// AddElement counts the documents of one list element, like Add.
func (t *Tally) AddElement(address uint64, element uint32, documents []Document, found, keep bool) error {
	row := t.counters.row
	clear(row)
	matches := false
	for i, d := range documents {
		holds, err := t.counters.count(row, i, d)
		if err != nil {
			return err
		}
		matches = matches || holds
		if row[t.search.base[i]]&^coveredMark > 0 || t.search.elements && !d.Null {
			t.enter(i, row, found)
		}
	}
	if matches && found && keep {
		t.Addresses = append(t.Addresses, address)
		if t.search.elements {
			t.Elements = append(t.Elements, element)
		}
		t.rows = append(t.rows, row...)
	}
	return nil
}

// enter adds a document of a column to its corpora.
func (t *Tally) enter(column int, row []uint32, found bool) {
	d := t.search.document(row, column)
	c := &t.columns[column]
	switch {
	case d.covered && t.search.columns[column].known != nil:
	case d.covered:
		c.covered.add(d)
	default:
		c.others.add(d)
		if found {
			c.passed.add(d)
		}
	}
}

// add counts a document: its length, and once each of its terms.
func (c *corpus) add(d counted) {
	c.documents++
	c.length += int64(d.length)
	for i, n := range d.terms {
		if n > 0 {
			c.holding[i]++
		}
	}
}

func (c *corpus) merge(other *corpus) {
	c.documents += other.documents
	c.length += other.length
	for i, n := range other.holding {
		c.holding[i] += n
	}
}

// Merge adds the statistics of another tally. Its kept rows stay with it.
func (t *Tally) Merge(other *Tally) {
	for i := range t.columns {
		t.columns[i].covered.merge(&other.columns[i].covered)
		t.columns[i].passed.merge(&other.columns[i].passed)
		t.columns[i].others.merge(&other.columns[i].others)
	}
}

// Element returns the place of a kept document in its list, 0 if documents are whole rows.
func (t *Tally) Element(i int) uint32 {
	if t.Elements == nil {
		return 0
	}
	return t.Elements[i]
}

// Row returns the counts of a kept row, for [Scorer.Score].
func (t *Tally) Row(i int) []uint32 {
	n := t.search.rowWords
	return t.rows[i*n : (i+1)*n]
}

// counters count documents, and remember the term of each word.
type counters struct {
	search  *Search
	row     []uint32
	columns []counter
}

func (s *Search) newCounters() *counters {
	c := &counters{search: s, row: make([]uint32, s.rowWords), columns: make([]counter, len(s.columns))}
	for i, column := range s.columns {
		c.columns[i] = counter{search: s, column: column, known: map[string]int32{}}
		if column.ordered {
			c.columns[i].positions = make([][]int, len(column.terms))
		}
	}
	return c
}

// count counts a document in its part of the row, and reports whether it holds a term.
func (c *counters) count(row []uint32, column int, d Document) (holds bool, err error) {
	counter := &c.columns[column]
	at := c.search.base[column]
	length, err := 0, error(nil)
	counter.clear()
	if !d.Null {
		length, err = counter.count(d.Text, row[at+1:at+1+len(counter.column.terms)])
	}
	if err != nil {
		return false, err
	}
	row[at] = uint32(min(length, coveredMark-1))
	if d.Covered {
		row[at] |= coveredMark
	}
	for _, p := range c.search.phrases {
		if p.column == counter.column && counter.holds && p.in(counter.positions, d.Covered) {
			row[p.word] = 1
		}
	}
	return counter.holds, nil
}

// A counter counts the terms in the documents of a column.
type counter struct {
	search    *Search
	column    *column
	known     map[string]int32 // cache from a word to the slot of its term, or to a constant below
	bytes     int64            // memory of known
	positions [][]int          // of each term in the document; nil unless needed
	holds     bool             // the document holds a term
}

const (
	otherWord   = -1 // is a term that the query does not contain
	droppedWord = -2 // is no term
	maxKnown    = 1 << 16
)

func (c *counter) clear() {
	c.holds = false
	for i := range c.positions {
		c.positions[i] = c.positions[i][:0]
	}
}

// count returns the number of terms in the document, and counts the terms of the query.
func (c *counter) count(text string, counts []uint32) (length int, err error) {
	if c.column.analyzer.json {
		err = c.column.analyzer.jsonTerms(text, func(term string, position int) {
			length++
			if slot, ok := c.column.slot[term]; ok {
				c.found(counts, slot, position)
			}
		})
		return length, err
	}
	c.column.analyzer.split(text, func(word string, position int) bool {
		slot, ok := c.known[word]
		if !ok {
			slot = c.learn(word)
		}
		if slot != droppedWord {
			length++
		}
		if slot >= 0 {
			c.found(counts, int(slot), position)
		}
		return true
	})
	return length, nil
}

func (c *counter) found(counts []uint32, slot, position int) {
	c.holds = true
	if counts[slot] < math.MaxUint32 {
		counts[slot]++
	}
	if c.positions != nil {
		c.positions[slot] = append(c.positions[slot], position)
	}
}

// learn looks up the term of a word and caches it. Texts repeat words, and analysis takes much longer than
// a lookup.
func (c *counter) learn(word string) int32 {
	slot := int32(droppedWord)
	if term, ok := c.column.analyzer.term(word); ok {
		slot = otherWord
		if s, wanted := c.column.slot[term]; wanted {
			slot = int32(s)
		}
	}
	if len(word) > maxKnownBytes {
		return slot
	}
	if len(c.known) >= maxKnown {
		c.known = map[string]int32{}
		c.search.known.Add(-c.bytes)
		c.bytes = 0
	}
	c.known[strings.Clone(word)] = slot
	c.bytes += wordBytes(word)
	c.search.known.Add(wordBytes(word))
	return slot
}

// maxKnownBytes is the maximal length of cached words.
const maxKnownBytes = 64

// wordBytes estimates the memory of a word in a map.
func wordBytes(word string) int64 { return 48 + int64(len(word)) }
