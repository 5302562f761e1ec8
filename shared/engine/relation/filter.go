package relation

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A filter drops rows.
type filter struct {
	from      step
	condition syntax.Expr
	bound     *plan.Bound
	out       *arrow.Schema
}

// keep makes a step drop the rows for which a condition is not true, or puts a filter above it.
func (p *planner) keep(s step, condition syntax.Expr) (step, error) {
	done, err := s.push(condition)
	if done || err != nil {
		return s, err
	}
	bound, err := plan.BindFilter(p.ctx, condition, s.schema(), p.now)
	if err != nil {
		return nil, err
	}
	return &filter{from: s, condition: condition, bound: bound, out: s.schema()}, nil
}

func (f *filter) schema() *arrow.Schema { return f.out }
func (f *filter) size() int64           { return f.from.size()/3 + 1 }

// push passes a condition on; if the step below takes none, a second filter is above this one.
func (f *filter) push(condition syntax.Expr) (bool, error) { return f.from.push(condition) }

func (f *filter) prune(needed names) {
	f.out = needed.of(f.out)
	f.from.prune(needed.with(f.bound.Columns()...))
}

func (f *filter) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return each(batchesOf(ctx, f.from), func(batch arrow.RecordBatch) (arrow.RecordBatch, func(), error) {
		rows, err := f.bound.Select(ctx, batch, nil)
		if err != nil {
			return nil, nil, err
		}
		return chosen(ctx, pick(f.out, batch), rows)
	})
}

func (f *filter) explain(ctx context.Context, w *writer) error {
	return w.step("Filter: condition=%s", f.condition)(ctx, f.from)
}

// chosen returns rows of a batch, and what releases their memory.
func chosen(ctx context.Context, batch arrow.RecordBatch, rows []int32) (arrow.RecordBatch, func(), error) {
	if len(rows) == int(batch.NumRows()) {
		return batch, func() {}, nil
	}
	bytes := int64(0)
	for _, c := range batch.Columns() {
		bytes += take.Bytes(c, rows)
	}
	held, err := memory.Take(ctx, bytes)
	if err != nil {
		return nil, nil, err
	}
	batch, err = take.Batch(batch, rows)
	if err != nil {
		held.Release()
	}
	return batch, held.Release, err
}

// each yields what work makes of batches, without those that become empty, and releases it after the next step has used it.
func each(batches iter.Seq2[arrow.RecordBatch, error], work func(arrow.RecordBatch) (arrow.RecordBatch, func(), error)) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			var release func()
			if err == nil {
				batch, release, err = work(batch)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			more := batch.NumRows() == 0 || yield(batch, nil)
			release()
			if !more {
				return
			}
		}
	}
}
