package materialize

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
)

// An output computes rows of a view.
type output struct {
	*target
	schema   *arrow.Schema // of the view
	from     []int         // for each column of the view, the number of the query's column; -1: none
	progress Progress
	called   *called // the function that makes the rows, if any
	// lows is set if rows are kept by the lowest source row ids, and these are not in storage order.
	lows []low
}

// rows returns the view rows for source rows, up to most of them. A nil set means all source rows.
func (o *output) rows(ctx context.Context, of *rowset.Set, most int64) dataset.Rows {
	return dataset.Rows{Schema: o.schema, Trusted: true, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		if most <= 0 || of != nil && of.Len() == 0 {
			return
		}
		total := o.version.CountRows()
		if of != nil {
			total = of.Len()
		}
		_, batches, err := o.version.ScanValues(ctx, snapshot.ScanOptions{Columns: o.reads(), Rows: of})
		if err != nil {
			yield(nil, o.source.Failure(ctx, o.version, err))
			return
		}
		batches = o.source.Reading(ctx, o.version, batches)
		if o.plan.Groups != nil {
			o.groups(ctx, batches, total, yield)
			return
		}
		// A limit selects the rows with the lowest ids. If ids ascend in storage order, these are the first
		// rows.
		if o.lows != nil {
			o.lowest(ctx, most, batches, yield)
			return
		}
		read, made := int64(0), int64(0)
		for batch, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			for piece, err := range o.made(ctx, batch) {
				if err != nil {
					yield(nil, err)
					return
				}
				if piece.NumRows() > most-made {
					piece = piece.NewSlice(0, most-made)
				}
				if made += piece.NumRows(); piece.NumRows() > 0 && !yield(piece, nil) || made == most {
					return
				}
			}
			read += batch.NumRows()
			o.progress(read, total, made)
		}
	}}
}

// compute returns the view rows for the rows of a batch.
func (o *output) compute(ctx context.Context, batch arrow.RecordBatch, _ int64) (arrow.RecordBatch, error) {
	batch, err := o.chosen(ctx, batch)
	if err != nil {
		return nil, err
	}
	return o.columns(ctx, batch)
}

// chosen returns the rows of a batch that fulfil the condition of the query.
func (o *output) chosen(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	if o.plan.Filter == nil {
		return batch, nil
	}
	chosen, err := o.plan.Filter.Select(ctx, batch, nil)
	if err != nil {
		return nil, apierror.OfExpression("WHERE", err)
	}
	if int64(len(chosen)) == batch.NumRows() {
		return batch, nil
	}
	if err := memory.FromContext(ctx).Take(ctx, take.BatchBytes(batch)); err != nil {
		return nil, err
	}
	return take.Batch(batch, chosen)
}

// columns returns the view rows for the selected source rows.
func (o *output) columns(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(o.from))
	for i, f := range o.schema.Fields() {
		var err error
		if columns[i], err = o.column(ctx, batch, i, f); err != nil {
			return nil, err
		}
		if err := rowchunks.TakeMade(ctx, batch, columns[i]); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(o.schema, columns, batch.NumRows()), nil
}

// eval returns the values of an expression. A column, or a struct member, keeps its stored type, even a
// type that SQL does not support.
func eval(ctx context.Context, bound *plan.Bound, batch arrow.RecordBatch) (arrow.Array, error) {
	path, ok := bound.Path()
	if !ok {
		return bound.Eval(ctx, batch)
	}
	values := batch.Column(batch.Schema().FieldIndices(path[0])[0])
	for _, name := range path[1:] {
		s := values.(*array.Struct)
		at, _ := s.DataType().(*arrow.StructType).FieldIdx(name)
		values = take.Member(s, at)
	}
	return values, nil
}

// column returns the values of a column of the view.
func (o *output) column(ctx context.Context, batch arrow.RecordBatch, at int, f arrow.Field) (arrow.Array, error) {
	ids := batch.Column(int(batch.NumCols()) - 1)
	switch number := o.from[at]; {
	case number >= 0:
		bound := o.plan.Columns[number]
		values, err := eval(ctx, bound, batch)
		return values, apierror.OfExpression("column "+f.Name, err)
	case f.Name == selection.SourceRowID && f.Type.ID() == arrow.INT64:
		data := ids.Data()
		return array.NewInt64Data(array.NewData(f.Type, data.Len(), data.Buffers(), nil, data.NullN(), data.Offset())), nil
	case f.Name == selection.SourceRowID:
		return ids, nil
	case f.Name == view.IsSet:
		set := array.NewBooleanBuilder(arrowmemory.DefaultAllocator)
		set.Reserve(int(batch.NumRows()))
		for range batch.NumRows() {
			set.UnsafeAppend(true)
		}
		return set.NewArray(), nil
	}
	return take.Nulls(f.Type, int(batch.NumRows())), nil
}
