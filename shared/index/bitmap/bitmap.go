// Package bitmap reads and builds BITMAP indices. A BITMAP index maps each distinct value of a column,
// including NULL, to the bitmap of the rows that contain it; package valuebitmaps defines its file and builds it.
// A search reads only the bitmaps of the requested values.
package bitmap

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/valuebitmaps"
)

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct{ keys *valuebitmaps.Keys }

// Open reads the values of a segment. t is the type of the column, which must match the segment.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	keys, err := valuebitmaps.Open(ctx, files, valuebitmaps.Bitmaps, t)
	if err != nil {
		return nil, err
	}
	return &Reader{keys}, nil
}

// Cost estimates a search from the values.
func (r *Reader) Cost(q index.Question) (index.Cost, error) { return r.keys.Cost(q) }

// Search returns exactly the rows whose values match.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	rows, pages, err := r.keys.Search(ctx, q)
	return index.Answer{Rows: rows, Exact: true, Pages: pages}, err
}
