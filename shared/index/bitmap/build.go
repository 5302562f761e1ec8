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
	file, keys, err := keyed.Build(ctx, keyed.Bitmaps, t, rows, out)
	if err != nil {
		return err
	}
	keyed.Describe(file, keys)
	return file.Close(ctx)
}
