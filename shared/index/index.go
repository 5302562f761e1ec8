// Package index is the common part of secondary indices: what a [Kind] is, the questions that
// filters ask of an index on values, and the answers. The kinds are in the packages below; none imports another, and
// package kinds lists them. Begin with kind.go.
//
// An index is read segment by segment. A segment receives a [Question] about the values of
// its column, and answers with the rows that matched when it was built. It does not know
// what happened to the table since. The caller removes deleted rows, and rows of fragments
// that the segment does not cover any more; and it scans the fragments that no segment
// covers.
//
// The files of an index come from outside, so a reader checks everything that it relies on.
// A faulty file is lance.ErrCorrupt, and an unsupported one lance.ErrUnsupported. In both
// cases the caller finds the rows without the index.
package index

import (
	"context"

	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/rowset"
)

// Files gives access to the files of one segment, which never change.
type Files interface {
	// Open returns a file by its name within the segment.
	Open(ctx context.Context, name string) (*datafile.File, error)
	// Names returns the names of all files, in no order.
	Names() []string
	// Keep returns the value that is kept under a name. If there is none, it calls make,
	// and keeps the result as long as there is memory; bytes is its approximate size. A
	// kept value must not be changed.
	Keep(name string, read func() (value any, bytes int64, err error)) (any, error)
}

// A Reader answers questions from one segment.
type Reader interface {
	// Cost estimates a search, without any request.
	Cost(q Question) (Cost, error)
	// Search returns the rows whose values match.
	Search(ctx context.Context, q Question) (Answer, error)
}

// A Cost is the estimated effort of a search.
type Cost struct {
	Pages int   // that are looked through
	Read  int64 // rows of the index in those pages that have to be read, since they are not kept
	Bytes int64 // that those take in memory, about
	Rows  int64 // that are found, about
}

// An Answer is the rows that a search has found.
type Answer struct {
	// Rows are the rows as the segment stores them: their addresses at the time when the
	// index was built, or, in a table with stable row ids and if the format of the segment
	// allows it, their ids. The caller owns the set.
	Rows  *rowset.Set
	Exact bool // there are no others among them than rows that match
	// Others means that just the other rows were found, of all those of the segment.
	Others bool
	Pages  int // that were read, or found in memory
}
