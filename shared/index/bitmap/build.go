package bitmap

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/valuebitmaps"
)

// Write writes the file of a segment. keys are the encoded (value, row) pairs of a column of type t, in the
// order in which index.SortRows returns them.
func Write(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error {
	file, count, err := valuebitmaps.Write(ctx, valuebitmaps.Bitmaps, t, keys, out)
	if err != nil {
		return err
	}
	valuebitmaps.Describe(file, count)
	return file.Close(ctx)
}
