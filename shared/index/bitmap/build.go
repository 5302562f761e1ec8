package bitmap

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/keyed"
)

// Build writes the file of a segment. Each batch of rows has two columns: values of type t, and the id
// of each row. Types that are not index.Sortable are lance.ErrUnsupported.
func Build(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
	sorter, err := index.SortRows(ctx, t, rows)
	if err != nil {
		return err
	}
	defer sorter.Close()
	return Write(ctx, t, sorter.Sorted(), out)
}

// Write writes the file of a segment with the keys of rows, in order, as index.SortRows makes them of
// values of type t.
func Write(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error {
	file, count, err := keyed.Write(ctx, keyed.Bitmaps, t, keys, out)
	if err != nil {
		return err
	}
	keyed.Describe(file, count)
	return file.Close(ctx)
}
