package materialize

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/internal/grouping"
)

// groups yields the rows of a view with GROUP BY. total is the number of source rows. A group may have rows
// anywhere in the source, so all rows are read before the first group is yielded.
func (o *output) groups(ctx context.Context, batches iter.Seq2[arrow.RecordBatch, error], total int64, yield func(arrow.RecordBatch, error) bool) {
	table := grouping.New(ctx, o.plan.Groups)
	// All rows are grouped before the first group is known to be complete.
	defer table.Close()
	add := func(ctx context.Context, rows arrow.RecordBatch, _ int64) (arrow.RecordBatch, error) {
		rows, err := o.chosen(ctx, rows)
		if err != nil {
			return nil, err
		}
		return rows, table.Add(ctx, rows)
	}
	read, made := int64(0), int64(0)
	for batch, err := range batches {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, err := range rowchunks.Of(ctx, batch, add) {
			if err != nil {
				yield(nil, err)
				return
			}
		}
		read += batch.NumRows()
		o.progress(read, total, made)
	}
	for groups, err := range table.Groups(ctx) {
		if err != nil {
			yield(nil, err)
			return
		}
		for rows, err := range rowchunks.Of(ctx, groups, o.ofGroups) {
			if err != nil {
				yield(nil, err)
				return
			}
			if made += rows.NumRows(); !yield(rows, nil) {
				return
			}
		}
		o.progress(read, total, made)
	}
}

// ofGroups returns the view rows for groups.
func (o *output) ofGroups(ctx context.Context, groups arrow.RecordBatch, _ int64) (arrow.RecordBatch, error) {
	rows, err := o.columns(ctx, groups)
	if err != nil {
		return nil, err
	}
	for i, f := range o.schema.Fields() {
		if !f.Nullable && rows.Column(i).NullN() > 0 {
			return nil, errSchema("column %q cannot be NULL, and the query gives NULL", f.Name)
		}
	}
	return rows, nil
}
