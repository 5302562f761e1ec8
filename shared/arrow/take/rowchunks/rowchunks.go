// Package rowchunks processes the rows of a batch in parts if memory is short.
package rowchunks

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/process/memory"
)

// part is the fraction of a request's memory limit available for the results of several rows, so that
// memory remains for the consumer.
const part = 8

// Cut yields the results of work on some rows: on all at once, or on half as many at a time while work is
// refused memory. work receives the first row and the number of rows, and is called again with fewer after
// a refusal. Its reservations in the share of its context are kept until the consumer requests the next
// result. Without rows work is called once.
func Cut[T any](ctx context.Context, rows int64, work func(ctx context.Context, from, n int64) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for from, n := int64(0), rows; from < rows || rows == 0; n = min(n, rows-from) {
			bound := int64(0)
			if n > 1 {
				bound = memory.FromContext(ctx).Limit() / part
			}
			inPart, held, err := memory.Bounded(ctx, bound)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			made, err := work(inPart, from, n)
			if n > 1 && memory.TooMuch(err) {
				held.Close()
				n /= 2
				continue
			}
			held.Settle(held.Held())
			more := yield(made, err)
			held.Close()
			if !more || err != nil || rows == 0 {
				return
			}
			from += n
		}
	}
}

// Whole yields the result of work that is done once for all rows, with the memory rules of [Cut].
func Whole[T any](ctx context.Context, work func(ctx context.Context) (T, error)) iter.Seq2[T, error] {
	return Cut(ctx, 0, func(ctx context.Context, _, _ int64) (T, error) { return work(ctx) })
}

// Of applies [Cut] to the rows of a batch. work receives the rows and the position of the first.
func Of(ctx context.Context, batch arrow.RecordBatch, work func(ctx context.Context, rows arrow.RecordBatch, from int64) (arrow.RecordBatch, error)) iter.Seq2[arrow.RecordBatch, error] {
	return Cut(ctx, batch.NumRows(), func(ctx context.Context, from, n int64) (arrow.RecordBatch, error) {
		rows := batch
		if n < batch.NumRows() {
			rows = batch.NewSlice(from, from+n)
		}
		return work(ctx, rows, from)
	})
}

// TakeMade takes memory for a column that was computed from a batch. It takes none for a column of
// the batch itself.
func TakeMade(ctx context.Context, batch arrow.RecordBatch, column arrow.Array) error {
	if slices.Contains(batch.Columns(), column) {
		return nil
	}
	return memory.FromContext(ctx).Take(ctx, int64(column.Data().SizeInBytes()))
}
