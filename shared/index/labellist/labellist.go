// Package labellist reads and builds indices of the kind LABEL_LIST: each distinct element of the lists of a
// column, with the rows that have it; see package keyed. A search reads the rows of the elements that
// are asked for, and of no others.
//
// The rows of the key NULL are those with an element that is NULL. The file also has the rows whose
// list is NULL, in a global buffer. They are of use to find the rows that do not have an element,
// which this package does not.
//
// Source: scalar/label_list.rs of crate lance-index.
package labellist

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/keyed"
	"tiltyard/shared/lance"
)

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct{ keys *keyed.Keys }

// Open reads the elements of a segment. t is the type of the column, of which the segment must have
// been made.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	elements := ElementType(t)
	if elements == nil {
		return nil, fmt.Errorf("%w: an index of lists on a column of type %s", lance.ErrUnsupported, t)
	}
	keys, err := keyed.Open(ctx, files, keyed.Bitmaps, elements)
	if err != nil {
		return nil, err
	}
	return &Reader{keys}, nil
}

// ElementType returns the type of the elements of a list, nil for columns that cannot have such an
// index.
func ElementType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.ListType:
		return t.Elem()
	case *arrow.LargeListType:
		return t.Elem()
	}
	return nil
}

// Cost estimates a search from the elements.
func (r *Reader) Cost(q index.Question) (index.Cost, error) { return r.keys.Cost(q) }

// Search returns just the rows whose lists have the elements.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	rows, pages, err := r.keys.Search(ctx, q)
	return index.Answer{Rows: rows, Exact: true, Pages: pages}, err
}
