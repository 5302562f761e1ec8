// Package bitmap reads and builds indices of the kind BITMAP: each distinct value of a column, NULL too,
// with the rows that have it; see package keyed, which also builds them. A search reads the rows of the
// values that are asked for, and of no others.
package bitmap

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/keyed"
)

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct{ keys *keyed.Keys }

// Open reads the values of a segment. t is the type of the column, which the segment must have
// been made of.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	keys, err := keyed.Open(ctx, files, keyed.Bitmaps, t)
	if err != nil {
		return nil, err
	}
	return &Reader{keys}, nil
}

// Cost estimates a search from the values.
func (r *Reader) Cost(q index.Question) (index.Cost, error) { return r.keys.Cost(q) }

// Search returns just the rows whose values match.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	rows, pages, err := r.keys.Search(ctx, q)
	return index.Answer{Rows: rows, Exact: true, Pages: pages}, err
}
