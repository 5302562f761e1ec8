package fulltext

import (
	"sync"
	"sync/atomic"
)

// A Field describes how a column is searched.
type Field struct {
	Analyzer *Analyzer
	// Indexed means that an index covers some of the rows; the analyzer is then that of the
	// index. An index may also cover no row.
	Indexed bool
	// Elements means that each element of a list in the column is a document of its own. Such a column must
	// be the only one of the search.
	Elements bool
}

// A Search is a prepared query. It is safe for concurrent use; only Expand modifies it.
type Search struct {
	field          func(column string) (Field, error)
	columns        []*column
	fields         map[string]Field
	phrases        []*phrase
	fuzzies        []*fuzzyLeaf
	combinedLeaves int  // which need statistics of unfiltered rows
	elements       bool // documents are elements of lists
	root           node
	terms          int // of all columns
	likenesses     int // of all fuzzy words
	expansions     int // terms that they may expand to

	base     []int // where a column's counts are in a row
	rowWords int

	mu    sync.Mutex
	free  []*counters  // that no tally uses
	known atomic.Int64 // bytes of the words that all counters remember
}

// A column is a column that is searched, with the terms to search for.
type column struct {
	name     string
	number   int
	analyzer *Analyzer
	indexed  bool
	terms    []string
	slot     map[string]int
	ordered  bool    // positions matter
	known    *corpus // statistics of the covered documents from their index; see Know
}

// A use is a term of a leaf: its slot among the terms of the column, and its position in
// the query.
type use struct{ slot, position int }

// NewSearch prepares a query. It calls field once for each column. An invalid query is an [*Error]; errors
// of field are returned unchanged.
func NewSearch(q Query, field func(column string) (Field, error)) (*Search, error) {
	s := &Search{field: field, fields: map[string]Field{}}
	root, err := q.prepare(s)
	if err != nil {
		return nil, err
	}
	s.root, s.elements = root, s.ofElements()
	s.layOut()
	return s, nil
}

// ofElements reports whether documents are elements of lists.
func (s *Search) ofElements() bool {
	for _, f := range s.fields {
		if f.Elements {
			return true
		}
	}
	return false
}

// Columns returns the names of the columns, in the order in which the documents of a row must be passed. A
// column may occur twice.
func (s *Search) Columns() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}

// Unfiltered reports whether rows that fail the filter must be counted too, because statistics depend on
// them.
func (s *Search) Unfiltered() bool {
	unfiltered := s.combinedLeaves > 0
	for _, c := range s.columns {
		unfiltered = unfiltered || c.indexed && c.known == nil
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

// columnWith returns a column that is searched with a given analyzer. The same column may
// be searched with several.
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

// slots returns the counter slots of terms, and assigns new ones.
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

// once removes duplicate terms at the same position, which n-grams can produce. An index stores such a term
// once.
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

// phrase reserves a word of each row that records whether the row holds a phrase.
func (s *Search) phrase(c *column, terms []use, slop int) *phrase {
	c.ordered = true
	p := &phrase{column: c, terms: terms, slop: slop}
	s.phrases = append(s.phrases, p)
	return p
}

// layOut fixes the layout of a row: for each column the length of its document, with a mark
// if the index covers it, and the count of each term; then a word for each phrase.
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

// KnownBytes estimates the memory of the words that tallies remember, including tallies
// that are done.
func (s *Search) KnownBytes() int64 { return s.known.Load() }

// TallyBytes returns the minimal memory of a tally: three numbers for each term, and the counts of a row.
func (s *Search) TallyBytes() int64 { return 64 + (3*8+4)*int64(s.rowWords) }

// coveredMark marks the length of a document that the index covers.
const coveredMark = 1 << 31

// counted is a document of a row after counting.
type counted struct {
	length  uint32
	covered bool
	terms   []uint32 // frequency of each term
}

func (s *Search) document(row []uint32, column int) counted {
	at := s.base[column]
	words := row[at : at+1+len(s.columns[column].terms)]
	return counted{length: words[0] &^ coveredMark, covered: words[0]&coveredMark != 0, terms: words[1:]}
}
