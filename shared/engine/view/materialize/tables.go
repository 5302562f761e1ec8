package materialize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// tables computes the replacement for a view whose function is called with all rows, or with each partition
// of rows. Its rows have no source row ids, so all are replaced.
func (c *change) tables(ctx context.Context, s state) (mode string, r dataset.Replacement, err error) {
	if !c.order.all() && s.shows(c.mark()) {
		return "", r, errShown
	}
	schema := c.view.Schema().BlobValues()
	from := slices.Repeat([]int{-1}, schema.NumFields())
	fields, numbers, err := outputsOf(c.view, from)
	if err != nil {
		return "", r, err
	}
	if r.Delete, err = c.all(ctx); err != nil {
		return "", r, err
	}
	r.Insert = dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		c.call.failed = 0
		caller, err := c.call.Open(ctx, c.call.inputFields(), fields)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = caller.Close() }() // the error is ignored, because all results have been received
		maker := tableMaker{change: c, caller: caller, schema: schema, outputs: numbers}
		if err := maker.make(ctx, func(made arrow.RecordBatch) bool { return yield(made, nil) }); err != nil {
			yield(nil, err)
		}
	}}
	return modeRebuild, r, nil
}

// A tableMaker makes the rows of a view by calls with many rows.
type tableMaker struct {
	*change
	caller  udf.Caller
	schema  *arrow.Schema // of the view
	outputs []int         // for each column of the view, the number of the output; -1: none
	rows    int64         // made
}

// make passes the function's output for each partition to yield, until yield returns false.
func (m *tableMaker) make(ctx context.Context, yield func(arrow.RecordBatch) bool) error {
	parts := []*partition{{}}
	if m.call.PartitionBy != "" {
		var err error
		if parts, err = m.partitions(ctx); err != nil {
			return err
		}
		defer func() {
			for _, p := range parts {
				p.held.Release()
			}
		}()
	}
	for i, p := range parts {
		inPart, room, err := memory.Within(ctx)
		if err != nil {
			return err
		}
		made, err := m.callWith(inPart, p, uint64(i), int64(len(parts)))
		if err == nil && made != nil && made.NumRows() > 0 && !yield(made) {
			room.Close()
			return nil
		}
		room.Close()
		if err != nil {
			return err
		}
		m.order.Progress(int64(i+1), int64(len(parts)), m.rows)
	}
	return nil
}

// callWith calls the function for one partition. It returns nil for a skipped partition.
func (m *tableMaker) callWith(ctx context.Context, p *partition, number uint64, of int64) (arrow.RecordBatch, error) {
	in, err := m.gather(ctx, p)
	if err != nil {
		return nil, err
	}
	result, err := m.caller.Call(ctx, in)
	if err != nil {
		return nil, err
	}
	// Such a function has one result for all rows, so any failure is the failure of the whole call.
	if len(result.Failed) > 0 {
		return nil, m.fail(ctx, p, number, of, result.Failed[0])
	}
	if err := memory.FromContext(ctx).Take(ctx, take.BatchBytes(result.Outputs)); err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, len(m.outputs))
	for i, f := range m.schema.Fields() {
		if at := m.outputs[i]; at >= 0 {
			columns[i] = asType(result.Outputs.Column(at), f.Type)
		} else {
			columns[i] = take.Nulls(f.Type, int(result.Outputs.NumRows()))
		}
	}
	m.rows += result.Outputs.NumRows()
	return array.NewRecordBatch(m.schema, columns, result.Outputs.NumRows()), nil
}

// fail records that the function failed for a part. It returns an error unless the view may lack it.
func (m *tableMaker) fail(ctx context.Context, p *partition, number uint64, of int64, f udf.Failure) error {
	what := "its rows"
	if m.call.PartitionBy != "" {
		what = fmt.Sprintf("the rows whose %s is %.80q", m.call.PartitionBy, p.value)
	}
	f.Message = what + ": " + f.Message
	if err := m.call.Failed(ctx, m.version.Version(), number, f); err != nil {
		return err
	}
	m.call.failed++
	skips := m.call.Skips
	if skips == nil || skips.Most > 0 && m.call.failed > skips.Most || skips.Fraction > 0 && float64(m.call.failed) > skips.Fraction*float64(of) {
		return &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("function %.80s of the view failed for %.2000s: %s", m.call.Name, f.Message, f.Type),
			Detail: "error_handling in udtf_spec allows no, or no further, part to fail; the rows of the view are as before",
		}
	}
	return nil
}

// gather returns the input of the function for a partition.
func (m *tableMaker) gather(ctx context.Context, p *partition) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	left := int64(math.MaxInt64)
	if limit := m.call.inputs.Query.Limit; limit != nil && p.rows == nil {
		left = int64(*limit)
	}
	err := m.scan(ctx, m.call.inputs, nil, p.rows, func(batch arrow.RecordBatch) (bool, error) {
		batch = batch.NewSlice(0, min(left, batch.NumRows()))
		left -= batch.NumRows()
		in, err := m.call.arguments(ctx, batch)
		if err != nil {
			return false, err
		}
		all = append(all, in)
		return left > 0, memory.FromContext(ctx).Take(ctx, 2*take.BatchBytes(in)) // until the batches are concatenated
	})
	if err != nil {
		return nil, err
	}
	return take.Concat(arrow.NewSchema(m.call.inputFields(), nil), all)
}

// scan passes the source rows that a query selects to use, until use returns false. extra names additional
// columns, which are appended.
func (c *change) scan(ctx context.Context, plan *selection.Plan, extra []string, rows *rowset.Set, use func(arrow.RecordBatch) (bool, error)) error {
	columns := append(slices.Clone(plan.Inputs), extra...)
	// A scan needs at least one column.
	if len(columns) == 0 {
		columns = []string{snapshot.RowID}
	}
	_, batches, err := c.version.ScanValues(ctx, snapshot.ScanOptions{Columns: columns, Rows: rows})
	if err != nil {
		return c.source.Failure(ctx, c.version, err)
	}
	// Only the condition of the query is applied here.
	filter := &output{target: &target{plan: plan}}
	for batch, err := range c.source.Reading(ctx, c.version, batches) {
		if err != nil {
			return err
		}
		if batch, err = filter.chosen(ctx, batch); err != nil {
			return err
		}
		if more, err := use(batch); err != nil || !more {
			return err
		}
	}
	return nil
}

// A partition holds the source rows with one value in a column.
type partition struct {
	value string
	rows  *rowset.Set // nil: all
	held  memory.Hold
}

// maxPartitions bounds the number of distinct values in the partition column.
const maxPartitions = 10_000

// partitions divides the source rows by value, in the order of first occurrence.
func (m *tableMaker) partitions(ctx context.Context) ([]*partition, error) {
	query := *m.call.inputs.Query
	expr, ok := view.Expression(m.call.PartitionBy)
	if !ok {
		return nil, errSchema("partition_by, %.80q, is not a path", m.call.PartitionBy)
	}
	query.Columns = []selection.Column{{Name: "value", Expr: expr}}
	plan, err := query.Plan(ctx, m.version.Schema().BlobValues())
	if err != nil {
		return nil, errSchema("partition_by, %.80q: %v", m.call.PartitionBy, err)
	}
	if t := plan.Schema.Field(0).Type; arrow.IsNested(t.ID()) || t.ID() == arrow.EXTENSION || t.ID() == arrow.DICTIONARY {
		return nil, errSchema("partition_by, %.80q, is of type %s; rows are divided by plain values", m.call.PartitionBy, t)
	}
	left := int64(math.MaxInt64)
	if plan.Query.Limit != nil {
		left = int64(*plan.Query.Limit)
	}
	var parts []*partition
	byValue := map[string]*partition{}
	err = m.scan(ctx, plan, []string{snapshot.RowAddr}, nil, func(batch arrow.RecordBatch) (bool, error) {
		batch = batch.NewSlice(0, min(left, batch.NumRows()))
		left -= batch.NumRows()
		values, err := plan.Columns[0].Eval(ctx, batch)
		if err != nil {
			return false, err
		}
		addresses := batch.Column(int(batch.NumCols()) - 1).(*array.Uint64).Uint64Values() //nolint:forcetypeassert // the type of addresses
		found := map[*partition][]uint64{}
		for i := range values.Len() {
			key := "null"
			if values.IsValid(i) {
				key = "=" + values.ValueStr(i)
			}
			p := byValue[key]
			if p == nil {
				if len(parts) == maxPartitions {
					return false, errSchema("partition_by, %.80q, has more than %d values", m.call.PartitionBy, maxPartitions)
				}
				if _, err := memory.Take(ctx, int64(2*len(key))+256); err != nil {
					return false, err
				}
				p = &partition{value: values.ValueStr(i), rows: rowset.At()}
				parts, byValue[key] = append(parts, p), p
			}
			found[p] = append(found[p], addresses[i])
		}
		for p, rows := range found {
			if err := p.rows.AddHeld(ctx, &p.held, rows); err != nil {
				return false, err
			}
		}
		return left > 0, nil
	})
	return parts, err
}
