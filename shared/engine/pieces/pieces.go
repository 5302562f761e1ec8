// Package pieces works on the rows of a batch in parts when memory is too short for all of them.
package pieces

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/memory"
)

// Of yields the results of work on the rows of a batch: on all rows at once, or on half as
// many at a time for as long as memory is too short. work gets the rows and the position of the
// first. Memory that work takes from the share of its context is held until the consumer asks for
// the next piece.
func Of(ctx context.Context, batch arrow.RecordBatch, work func(ctx context.Context, rows arrow.RecordBatch, from int64) (arrow.RecordBatch, error)) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		all := batch.NumRows()
		for from, n := int64(0), all; from < all || all == 0; n = min(n, all-from) {
			rows := batch
			if n < all {
				rows = batch.NewSlice(from, from+n)
			}
			inPart, part, err := memory.Within(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			made, err := work(inPart, rows, from)
			if n > 1 && memory.TooMuch(err) {
				part.Close()
				n /= 2
				continue
			}
			part.Settle(part.Held())
			more := yield(made, err)
			part.Close()
			if !more || err != nil || all == 0 {
				return
			}
			from += n
		}
	}
}

// TakeMade takes memory for a column that was computed from a batch. It takes none for a column of
// the batch itself.
func TakeMade(ctx context.Context, batch arrow.RecordBatch, column arrow.Array) error {
	if slices.Contains(batch.Columns(), column) {
		return nil
	}
	return memory.FromContext(ctx).Take(ctx, int64(column.Data().SizeInBytes()))
}
