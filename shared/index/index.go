// Package index defines the common types of secondary indices: the [Kind], the [Question] that a filter
// becomes, and its [Answer]. Each kind has a package of its own below this one; none imports another, and
// package kinds lists them. Begin with kind.go.
//
// An index is read segment by segment. A segment receives a [Question] about the values of its column, and
// answers with the rows that matched when it was built. Later changes to the table are not visible to it.
// The caller removes deleted rows and rows of fragments that the segment no longer covers, and scans the
// fragments without a segment.
//
// The files of an index come from outside, so a reader checks everything that it relies on. A faulty file
// is lance.ErrCorrupt, and an unsupported one lance.ErrUnsupported. In both cases the caller finds the rows
// without the index.
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
	// Keep returns the value cached under a name. On a miss it calls read and caches the result while
	// memory permits; bytes is the approximate size. A cached value must not be modified.
	Keep(name string, read func() (value any, bytes int64, err error)) (any, error)
	// CacheBytes returns the capacity of the cache; 0: nothing is kept.
	CacheBytes() int64
}

// Unkept are the files of a segment that is being built. They are not cached.
type Unkept struct {
	File func(ctx context.Context, name string) (*datafile.File, error) // opens a file by its name
}

// Open implements Files.
func (u Unkept) Open(ctx context.Context, name string) (*datafile.File, error) {
	return u.File(ctx, name)
}

// Names implements Files. The names are unknown.
func (Unkept) Names() []string { return nil }

// Keep implements Files.
func (Unkept) Keep(_ string, read func() (any, int64, error)) (any, error) {
	value, _, err := read()
	return value, err
}

// CacheBytes implements Files.
func (Unkept) CacheBytes() int64 { return 0 }

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
	Read  int64 // rows of the index in pages that are not cached
	Bytes int64 // approximate memory of those pages
	Rows  int64 // that are found, about
}

// An Answer is the rows that a search has found.
type Answer struct {
	// Rows are the matching rows in the form of the segment: their addresses at the time of the build or,
	// in a table with stable row ids and if the format of the segment permits it, their ids. The caller
	// owns the set.
	Rows  *rowset.Set
	Exact bool // every row in Rows matches
	// Others inverts Rows: they are the rows of the segment that do not match.
	Others bool
	Pages  int // that were read, or found in memory
}
