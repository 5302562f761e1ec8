package fulltext

import (
	"sync"
	"sync/atomic"
)

// A Field says how a column is searched.
type Field struct {
	Analyzer *Analyzer
	// Indexed says that the index covers some of the rows; the analyzer is then the
	// index's. It may cover none, or there may be no index.
	Indexed bool
}

// A Search is a query that is ready to count and to score. But for Expand it does not
// change, and is safe for concurrent use.
type Search struct {
	field          func(column string) (Field, error)
	columns        []*column
	fields         map[string]Field
	phrases        []*phrase
	fuzzies        []*fuzzyLeaf
	combinedLeaves int // which need statistics of unfiltered rows
	root           node
	terms          int // of all columns

	base     []int // where a column's counts are in a row
	rowWords int

	mu    sync.Mutex
	free  []*counters  // that no tally uses
	known atomic.Int64 // bytes of the words that all counters remember
}

// A column that is searched, and the terms that are looked for there.
type column struct {
	name     string
	number   int
	analyzer *Analyzer
	indexed  bool
	terms    []string
	slot     map[string]int
	ordered  bool // positions matter
}

// use is a term that a leaf looks for: its slot among the column's, and where it stands
// in the query.
type use struct{ slot, position int }

// NewSearch makes a query ready. field is asked once for each column. An error of the
// query is an [*Error], others are those of field.
func NewSearch(q Query, field func(column string) (Field, error)) (*Search, error) {
	s := &Search{field: field, fields: map[string]Field{}}
	root, err := q.prepare(s)
	if err != nil {
		return nil, err
	}
	s.root = root
	s.layOut()
	return s, nil
}

// Columns returns the names of the columns, in the order in which documents are given. A
// column may be there twice.
func (s *Search) Columns() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}

// Unfiltered says that rows which the filter does not pass have to be shown all the same:
// statistics depend on them.
func (s *Search) Unfiltered() bool {
	unfiltered := s.combinedLeaves > 0
	for _, c := range s.columns {
		unfiltered = unfiltered || c.indexed
	}
	return unfiltered
}

// column returns a column, to be searched with its own analyzer.
func (s *Search) column(name string) (*column, error) {
	f, err := s.fieldOf(name)
	if err != nil {
		return nil, err
	}
	return s.columnWith(name, f, f.Analyzer), nil
}

func (s *Search) fieldOf(name string) (Field, error) {
	if f, ok := s.fields[name]; ok {
		return f, nil
	}
	f, err := s.field(name)
	if err == nil {
		s.fields[name] = f
	}
	return f, err
}

// columnWith returns a column, to be searched with some analyzer. The same column may be
// searched with several.
func (s *Search) columnWith(name string, f Field, analyzer *Analyzer) *column {
	for _, c := range s.columns {
		if c.name == name && c.analyzer == analyzer {
			return c
		}
	}
	c := &column{name: name, number: len(s.columns), analyzer: analyzer, indexed: f.Indexed, slot: map[string]int{}}
	s.columns = append(s.columns, c)
	return c
}

// slots returns where the terms are counted.
func (s *Search) slots(c *column, terms []Term) ([]use, error) {
	uses := make([]use, len(terms))
	for i, t := range terms {
		slot, ok := c.slot[t.Text]
		if !ok {
			if s.terms++; s.terms > maxTerms {
				return nil, invalid("the query has more than %d terms", maxTerms)
			}
			slot = len(c.terms)
			c.terms = append(c.terms, t.Text)
			c.slot[t.Text] = slot
		}
		uses[i] = use{slot, t.Position}
	}
	return uses, nil
}

// once leaves out terms that are there already at the same position, as ngrams may be: in
// an index they are one.
func once(uses []use) []use {
	seen := make(map[use]bool, len(uses))
	kept := make([]use, 0, len(uses))
	for _, u := range uses {
		if !seen[u] {
			seen[u] = true
			kept = append(kept, u)
		}
	}
	return kept
}

// phrase asks for a word of each row that says whether it holds a phrase.
func (s *Search) phrase(c *column, terms []use, slop int) *phrase {
	c.ordered = true
	p := &phrase{column: c, terms: terms, slop: slop}
	s.phrases = append(s.phrases, p)
	return p
}

// layOut says what a row looks like: for each column the length of its document, marked
// when the index covers it, and how often each term is there; then a word for each phrase.
func (s *Search) layOut() {
	s.base, s.rowWords = make([]int, len(s.columns)), 0
	for i, c := range s.columns {
		s.base[i] = s.rowWords
		s.rowWords += 1 + len(c.terms)
	}
	for i, p := range s.phrases {
		p.word = s.rowWords + i
	}
	s.rowWords += len(s.phrases)
	s.free = nil
	s.known.Store(0)
}

// KnownBytes returns about how much memory the words take that tallies remember, those that are
// done included.
func (s *Search) KnownBytes() int64 { return s.known.Load() }

// TallyBytes returns how much memory a tally takes at least: three numbers for each term, and the
// counts of a row.
func (s *Search) TallyBytes() int64 { return 64 + (3*8+4)*int64(s.rowWords) }

// coveredMark marks the length of a document that the index covers.
const coveredMark = 1 << 31

// A document of a row, as it was counted.
type counted struct {
	length  uint32
	covered bool
	terms   []uint32 // how often each is there
}

func (s *Search) document(row []uint32, column int) counted {
	at := s.base[column]
	words := row[at : at+1+len(s.columns[column].terms)]
	return counted{length: words[0] &^ coveredMark, covered: words[0]&coveredMark != 0, terms: words[1:]}
}
