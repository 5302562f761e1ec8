package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/memory"
)

// inPieces yields the results of work on the rows of a batch: on all rows at once, or on half as
// many at a time for as long as memory is too short. work gets the rows and the position of the
// first. Memory that work takes from the share of its context is held until the consumer asks for
// the next piece.
func inPieces(ctx context.Context, batch arrow.RecordBatch, work func(ctx context.Context, rows arrow.RecordBatch, from int64) (arrow.RecordBatch, error)) iter.Seq2[arrow.RecordBatch, error] {
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
			if n > 1 && tooMuch(err) {
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

// tooMuch reports whether memory was refused because one request may not hold so much, in which
// case a smaller piece may succeed.
func tooMuch(err error) bool {
	var refused *memory.Error
	return errors.As(err, &refused) && !refused.Busy
}

// takeMade takes memory for a column that was computed from a batch. It takes none for a column of
// the batch itself.
func takeMade(ctx context.Context, batch arrow.RecordBatch, column arrow.Array) error {
	if slices.Contains(batch.Columns(), column) {
		return nil
	}
	return memory.FromContext(ctx).Take(ctx, int64(column.Data().SizeInBytes()))
}
