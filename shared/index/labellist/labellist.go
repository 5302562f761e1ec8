// Package labellist reads and builds LABEL_LIST indices, which map each distinct element of a list column
// to its rows; see package valuebitmaps. A search reads only the row sets of the requested elements.
//
// The key NULL has the rows with a NULL element. Rows whose list itself is NULL are stored apart, in the
// global buffer that the metadata names, encoded for [index.AddRows]. They match neither a test for an
// element nor its negation. Early versions did not write the buffer.
//
// Source: scalar/label_list.rs of crate lance-index.
package labellist

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct {
	files index.Files
	keys  *valuebitmaps.Keys
}

// Open reads the elements of a segment. t is the type of the column, which must match the segment.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	elements := ElementType(t)
	if elements == nil {
		return nil, fmt.Errorf("%w: an index of lists on a column of type %s", lance.ErrUnsupported, t)
	}
	keys, err := valuebitmaps.Open(ctx, files, valuebitmaps.Bitmaps, elements)
	if err != nil {
		return nil, err
	}
	return &Reader{files, keys}, nil
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

// Cost estimates a search from the elements. For a question with None only, it is the cost of finding the
// excluded rows.
func (r *Reader) Cost(q index.Question) (index.Cost, error) {
	if len(q.All) == 0 && len(q.None) > 0 {
		return r.keys.Cost(index.Question{Any: q.None})
	}
	return r.keys.Cost(q)
}

// Search returns exactly the rows whose lists match.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	if len(q.None) == 0 {
		rows, pages, err := r.keys.Search(ctx, q)
		return index.Answer{Rows: rows, Exact: true, Pages: pages}, err
	}
	without, pages, err := r.keys.Search(ctx, index.Question{Any: q.None})
	if err != nil {
		return index.Answer{}, err
	}
	if len(q.All) > 0 {
		rows, more, err := r.keys.Search(ctx, index.Question{All: q.All})
		if err != nil {
			return index.Answer{}, err
		}
		rows.Subtract(without)
		return index.Answer{Rows: rows, Exact: true, Pages: pages + more}, nil
	}
	nulls, known, err := r.nulls(ctx)
	if err != nil {
		return index.Answer{}, err
	}
	without.Unite(nulls)
	return index.Answer{Rows: without, Exact: known, Others: true, Pages: pages}, nil
}

// nulls returns the rows with a NULL list. known is false if the file does not store them.
func (r *Reader) nulls(ctx context.Context) (rows *rowset.Set, known bool, err error) {
	rows = rowset.At()
	file, err := r.files.Open(ctx, valuebitmaps.Bitmaps.File)
	if err != nil {
		return nil, false, err
	}
	s, err := file.Schema(ctx)
	if err != nil {
		return nil, false, err
	}
	number, known := s.Metadata[nullsKey]
	if !known {
		return rows, false, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, false, fmt.Errorf("%w: the buffer %.40q", lance.ErrCorrupt, number)
	}
	if err := memory.FromContext(ctx).Take(ctx, max(file.GlobalBufferSize(n), 0)); err != nil {
		return nil, false, err
	}
	encoded, err := file.GlobalBuffer(ctx, n)
	if err != nil {
		return nil, false, err
	}
	if err := index.AddRows(rows, encoded); err != nil {
		return nil, false, fmt.Errorf("rows that are NULL: %w", err)
	}
	return rows, true, memory.FromContext(ctx).Take(ctx, rows.Bytes())
}
