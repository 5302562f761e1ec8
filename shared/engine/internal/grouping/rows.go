package grouping

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
)

// Rows groups the rows of batches, which have no row ids, and yields a row for each group. Its columns are the items of the
// grouping, with the names of out. A batch is valid until the next one.
func Rows(ctx context.Context, of *plan.Grouping, out *arrow.Schema, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		table := New(ctx, of)
		defer table.Close()
		seen := uint64(0)
		for batch, err := range batches {
			if err == nil {
				err = table.addNumbered(ctx, batch, seen)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			seen += uint64(batch.NumRows())
		}
		var held memory.Hold
		defer held.Release()
		for groups, err := range table.Groups(ctx) {
			var columns []arrow.Array
			if err == nil {
				columns, err = items(ctx, of, groups, &held)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(array.NewRecordBatch(out, columns, groups.NumRows()), nil) {
				return
			}
		}
	}
}

// items computes the items of groups, whose memory the hold has from then on.
func items(ctx context.Context, of *plan.Grouping, groups arrow.RecordBatch, held *memory.Hold) ([]arrow.Array, error) {
	held.Release()
	columns := make([]arrow.Array, len(of.Items))
	for i, item := range of.Items {
		var err error
		if columns[i], err = item.Eval(ctx, groups); err != nil {
			return nil, err
		}
		if err := held.Resize(ctx, held.Bytes()+int64(columns[i].Data().SizeInBytes())); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// addNumbered adds the rows of a batch. Their numbers stand for row ids.
func (t *Table) addNumbered(ctx context.Context, batch arrow.RecordBatch, first uint64) error {
	part, share, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer share.Close()
	if err := share.Take(part, 8*batch.NumRows()); err != nil {
		return err
	}
	ids := array.NewUint64Builder(arrowmemory.DefaultAllocator)
	ids.Reserve(int(batch.NumRows()))
	for i := range uint64(batch.NumRows()) {
		ids.UnsafeAppend(first + i)
	}
	fields := append(batch.Schema().Fields(), arrow.Field{Name: "", Type: arrow.PrimitiveTypes.Uint64})
	columns := append(append([]arrow.Array{}, batch.Columns()...), ids.NewArray())
	return t.Add(part, array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()))
}
