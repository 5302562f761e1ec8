package fulltext

// Terms returns the terms of the query in a column. The terms of a fuzzy query are complete after Expand.
func (s *Search) Terms(column int) []string { return s.columns[column].terms }

// NeedsPositions reports whether the query has phrases in a column.
func (s *Search) NeedsPositions(column int) bool { return s.columns[column].ordered }

// NeedsLengths reports whether rows are scored by the length of their document in a column also
// when it holds no term.
func (s *Search) NeedsLengths() bool { return s.combinedLeaves > 0 }

// Know sets the statistics of an index on a column: the number of covered documents, the total number of
// their terms, and the document frequency of each of [Search.Terms]. Tallies then no longer count the
// covered documents of that column.
func (s *Search) Know(column int, documents, length int64, holding []int64) {
	s.columns[column].known = &corpus{documents: documents, length: length, holding: holding}
}

// covered returns the statistics of the covered documents of a column, from its index or from a tally.
func (s *Search) covered(column int, total *Tally) *corpus {
	if known := s.columns[column].known; known != nil {
		return known
	}
	return &total.columns[column].covered
}

// RowWords returns the length of a row's counts, in words of 32 bits.
func (s *Search) RowWords() int { return s.rowWords }

// An Entry is the document of a row in an index on a column.
type Entry struct {
	Length      uint32
	Frequencies []uint32 // of each of [Search.Terms]
	Positions   [][]int  // of each term, if the column needs positions
}

// Enter writes a document that the index covers to the counts of a row, which were all zero for
// its column.
func (s *Search) Enter(row []uint32, column int, e Entry) {
	at := s.base[column]
	row[at] = min(e.Length, coveredMark-1) | coveredMark
	copy(row[at+1:at+1+len(s.columns[column].terms)], e.Frequencies)
	if e.Positions == nil {
		return
	}
	for _, p := range s.phrases {
		if p.column.number == column && p.in(e.Positions, true) {
			row[p.word] = 1
		}
	}
}

// Entered reports whether a row has a document in a column that its index covers.
func (s *Search) Entered(row []uint32, column int) bool { return row[s.base[column]] != 0 }

// AddTerm adds a term from the index on a column.
func (v *Vocabulary) AddTerm(column int, term string) { v.term(column, term) }
