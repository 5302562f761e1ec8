package query

import (
	"math"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/protocol/queryapi"
)

// A Query asks for rows of a relation for which the filter is true: those nearest to vectors, those that
// contain words, or all.
type Query struct {
	Columns   []Column // of the answer, in order; empty: all columns of the relation
	WithRowID bool     // the ids of the rows are the last column

	Filter string // SQL; empty: true
	// Prefilter means that a search is among the rows for which the filter is true. Otherwise the filter
	// drops rows that the search has found.
	Prefilter bool
	// FastSearch leaves out rows that the index of the search, or of the filter, does not cover.
	FastSearch bool

	Order  []Order // of a scan, and of the rows that a search has found; empty: of the table, or best first
	Limit  *int64  // rows after Offset, for each query vector; nil: all
	Offset int64

	Nearest *Nearest                // nil: no search for vectors
	Text    *queryapi.FullTextQuery // nil: no search for words; excludes Nearest
}

// A Column is a column of an answer.
type Column struct {
	Name       string // in the answer
	Expression string // SQL over the columns of the relation; empty: the column Name itself
}

// An Order is one key of a sort.
type Order struct {
	Column     string
	Descending bool
	NullsFirst bool
}

// Nearest is a search for the rows nearest to query vectors.
type Nearest struct {
	Vectors [][]float64 // one or more, of the same length
	// Numbered adds the number of the query vector to each row, unless the column has lists of vectors.
	Numbered bool
	Column   string         // or the path of a member of structs; empty: "vector", or the only one that fits
	Metric   *vector.Metric // nil: of the index, or else the usual one for the type of the column

	// Lower, inclusive, and Upper, exclusive, are bounds of the distance. Nil: unbounded.
	Lower, Upper *float64

	// MinProbes and MaxProbes are how many partitions of the index are searched. A minimum of 0 is 1, a
	// maximum of 0 is all of them.
	MinProbes, MaxProbes int
	Effort               *float64 // from 0 to 1, as in [ivf.Params]; nil: the default
	EF                   int      // as in [ivf.Params]
	// Refine is how many times Limit rows the index finds, of which the exact distances choose the nearest.
	// Nil: the distances of the index count.
	Refine *int64

	BypassIndex bool // all rows are measured, unless the search is fast
}

// most returns how many rows a search has to find: those of the answer, and those that it skips before them.
func (q *Query) most() int64 {
	if q.Limit == nil {
		return math.MaxInt64
	}
	return saturating(*q.Limit, q.Offset)
}
