package fulltext

// Terms returns the terms that are looked for in a column. Those of a fuzzy query are known after
// Expand.
func (s *Search) Terms(column int) []string { return s.columns[column].terms }

// NeedsPositions reports whether phrases are looked for in a column.
func (s *Search) NeedsPositions(column int) bool { return s.columns[column].ordered }

// NeedsLengths reports whether rows are scored by the length of their document in a column also
// when it holds no term.
func (s *Search) NeedsLengths() bool { return s.combinedLeaves > 0 }

// Know sets what an index knows of all documents of a column that it covers: how many there are, how
// many terms they have together, and how many hold each of [Search.Terms]. Tallies do not count
// documents of that column any more that are covered.
func (s *Search) Know(column int, documents, length int64, holding []int64) {
	s.columns[column].known = &corpus{documents: documents, length: length, holding: holding}
}

// covered returns what is known of the covered documents of a column: by its index, or by a tally.
func (s *Search) covered(column int, total *Tally) *corpus {
	if known := s.columns[column].known; known != nil {
		return known
	}
	return &total.columns[column].covered
}

// RowWords is the length of the counts of a row.
func (s *Search) RowWords() int { return s.rowWords }

// An Entry is the document of a row in an index on a column.
type Entry struct {
	Length      uint32
	Frequencies []uint32 // of each of [Search.Terms]
	Positions   [][]int  // of each of them, if the column needs positions
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

// Entered reports whether the counts of a row have a document of a column that the index covers.
func (s *Search) Entered(row []uint32, column int) bool { return row[s.base[column]] != 0 }

// AddTerm enters a term that an index on a column has.
func (v *Vocabulary) AddTerm(column int, term string) { v.term(column, term) }
