package executor

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/process/memory"
)

// gather joins the batches of a reply for shapes other than EachRow.
func (w wanted) gather(ctx context.Context, batches []arrow.RecordBatch, marks bool) (udf.Result, error) {
	var result udf.Result
	children := family{rows: w.rows, last: -1}
	for n, batch := range batches {
		columns := batch.Columns()
		kept := make([]int32, 0)
		if w.shape == udf.ManyRows {
			var errs *array.String
			if marks {
				errs = columns[len(columns)-1].(*array.String) //nolint:forcetypeassert // checkSchema has seen it
			}
			var err error
			if kept, err = children.add(&result, columns[0].(*array.Int32), errs); err != nil { //nolint:forcetypeassert // as above
				return result, err
			}
			columns = columns[1:]
		}
		whole := array.NewRecordBatch(arrow.NewSchema(nullable(w.outputs), nil), columns[:len(w.outputs)], batch.NumRows())
		if w.shape == udf.ManyRows && len(kept) < int(batch.NumRows()) {
			if err := memory.FromContext(ctx).Take(ctx, take.BatchBytes(whole)); err != nil {
				return result, err
			}
			var err error
			if whole, err = take.Batch(whole, kept); err != nil {
				return result, err
			}
		}
		for c, output := range w.outputs {
			if !output.Nullable && whole.Column(c).NullN() > 0 {
				return result, malformed("%d rows of the reply have no value of output %.80q", whole.Column(c).NullN(), output.Name)
			}
		}
		batches[n] = whole
	}
	var err error
	result.Outputs, err = join(ctx, batches, w.outputs)
	return result, err
}

// A family tracks the parents of the rows of a reply. A row with an error means that the function
// failed for its parent, which then must not have other rows.
type family struct {
	rows   int64 // of the call
	last   int32 // parent
	failed bool  // the last row was an error
}

// add adds the rows of a batch to a result, and returns the positions of the rows that are not errors.
func (f *family) add(to *udf.Result, parents *array.Int32, errs *array.String) ([]int32, error) {
	kept := make([]int32, 0, parents.Len())
	for i := range parents.Len() {
		parent, failed := parents.Value(i), errs != nil && errs.IsValid(i)
		switch {
		case parents.IsNull(i) || parent < max(f.last, 0) || int64(parent) >= f.rows:
			return nil, malformed("row %d of the reply has the parent %d after %d, of %d rows", i, parent, f.last, f.rows)
		case parent == f.last && (failed || f.failed):
			return nil, malformed("row %d of the call failed and has rows in the reply", parent)
		}
		if f.last, f.failed = parent, failed; failed {
			to.Failed = append(to.Failed, failureOf(int(parent), errs.Value(i)))
			continue
		}
		kept, to.Parents = append(kept, int32(i)), append(to.Parents, parent)
	}
	return kept, nil
}
