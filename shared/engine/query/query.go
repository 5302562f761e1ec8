package query

import (
	"math"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/protocol/queryapi"
)

// A Query selects rows of a relation that match a filter: the rows nearest to vectors, the rows
// that contain words, the best of both, or all.
type Query struct {
	Columns   []Column // of the answer, in order; empty: all columns of the relation
	WithRowID bool     // the ids of the rows are the last column

	Filter string // SQL; empty: true
	// Prefilter means that a search considers only rows that match the filter. Otherwise the filter
	// drops rows that the search has found.
	Prefilter bool
	// FastSearch leaves out rows that the index of the search, or of the filter, does not cover.
	FastSearch bool

	Order  []Order // of a scan, or of the found rows; empty: the order of the table, or best first
	Limit  *int64  // rows after Offset, for each query vector; nil: all
	Offset int64

	Nearest *Nearest                // nil: no search for vectors
	Text    *queryapi.FullTextQuery // nil: no search for words
	Fusion  Fusion                  // how a hybrid search, for both Nearest and Text, joins the found rows
}

// A Fusion joins the rows of a hybrid search by their reciprocal ranks. The relevance of a row is
//
//	Vector / (K + rank by distance) + Text / (K + rank by score)
//
// with ranks from 1. A row that only one of the two searches has found has only that summand.
type Fusion struct {
	K            int64   // positive
	Vector, Text float64 // weights, not negative
}

// A Column is a column of an answer.
type Column struct {
	Name       string // in the answer
	Expression string // SQL over the columns of the relation; empty: the column Name
}

// An Order is one key of a sort.
type Order struct {
	Column     string
	Descending bool
	NullsFirst bool
}

// Nearest is a search for the rows nearest to query vectors.
type Nearest struct {
	Vectors [][]float64 // at least one, all of the same length
	// Numbered adds the number of the query vector to each row, unless the column has lists of vectors.
	Numbered bool
	Column   string         // or the path of a member of structs; empty: "vector", or the only suitable column
	Metric   *vector.Metric // nil: the metric of the index, or the default for the type of the column

	// Lower, inclusive, and Upper, exclusive, are bounds of the distance. Nil: unbounded.
	Lower, Upper *float64

	// MinProbes and MaxProbes bound the number of index partitions to search. A minimum of 0 means 1, a
	// maximum of 0 means all.
	MinProbes, MaxProbes int
	Effort               *float64 // from 0 to 1, as in [ivf.Params]; nil: the default
	EF                   int      // as in [ivf.Params]
	// Refine makes the index find Refine times Limit rows, and chooses the nearest by exact distances.
	// If it is nil, the distances from the index are used.
	Refine *int64

	BypassIndex bool // measure all rows; a fast search measures none
}

// most returns the number of rows that a search must find, including those that Offset skips.
func (q *Query) most() int64 {
	if q.Limit == nil {
		return math.MaxInt64
	}
	return saturating(*q.Limit, q.Offset)
}
