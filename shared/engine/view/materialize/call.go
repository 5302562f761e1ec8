package materialize

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A Call is a function that makes the rows of a view: any number from each row of the query or, if AllRows
// is set, any number from all rows together.
type Call struct {
	*view.Call
	AllRows bool
	// Open opens the function. It is called again for each attempt to commit.
	Open func(ctx context.Context, inputs, outputs []arrow.Field) (udf.Caller, error)
	// Failed is called for each failure of the function. at is the address of the source row or, if the
	// function is called with partitions, the number of the partition. Addresses ascend.
	Failed func(ctx context.Context, version, at uint64, f udf.Failure) error

	inputs *selection.Plan
	failed int64 // of the last attempt
}

// plan resolves the query of the function's input, and adds its columns to the columns that the main query
// reads.
func (c *Call) plan(ctx context.Context, source *arrow.Schema, beside *selection.Plan) (err error) {
	if c.inputs, err = c.Inputs.Plan(ctx, source); err != nil {
		return err
	}
	if c.AllRows {
		beside.Inputs = nil
	}
	for _, f := range source.Fields() {
		if slices.Contains(c.inputs.Inputs, f.Name) && !slices.Contains(beside.Inputs, f.Name) {
			beside.Inputs = append(beside.Inputs, f.Name)
		}
	}
	return nil
}

// rowsOfCall bounds the source rows per call, because the output of a call is held in memory.
const rowsOfCall = 1024

// A called is an output whose rows come from a function that is called with source rows.
type called struct {
	*output
	caller  udf.Caller
	outputs []int // for each column of the view, the number of the output; -1: none
}

// isProvenance reports whether a column of a view identifies the source of a row.
func isProvenance(name string) bool {
	return name == selection.SourceRowID || name == selection.ChildIndex || name == view.IsSet
}

// outputsOf returns the columns of a view that its function computes. from has the number of each column's
// query column, or -1.
func outputsOf(d *dataset.Dataset, from []int) (fields []arrow.Field, numbers []int, err error) {
	filled := computedFields(d)
	for i, f := range d.Schema().BlobValues().Fields() {
		numbers = append(numbers, -1)
		declared := d.Schema().Fields[i]
		if from[i] >= 0 || isProvenance(f.Name) || filled[declared.ID] {
			continue
		}
		if declared.HoldsBlobs() {
			return nil, nil, protocol.Errorf(protocol.Unsupported, "column %q of the view holds blobs, which functions cannot return", f.Name)
		}
		numbers[i] = len(fields)
		fields = append(fields, arrow.Field{Name: f.Name, Type: storedAs(f.Type), Nullable: f.Nullable})
	}
	return fields, numbers, nil
}

// storedAs returns the storage type of an extension type, because functions receive no extension
// types.
func storedAs(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return t
}

// inputFields returns the parameters of a function.
func (c *Call) inputFields() []arrow.Field {
	fields := slices.Clone(c.inputs.Schema.Fields())
	for i := range fields {
		fields[i].Metadata, fields[i].Type = arrow.Metadata{}, storedAs(fields[i].Type)
	}
	return fields
}

// calling returns the rows that the function makes from rows. The function stays open while they
// are read.
func (o *output) calling(ctx context.Context, d *dataset.Dataset, rows dataset.Rows) (dataset.Rows, error) {
	fields, numbers, err := outputsOf(d, o.from)
	if err != nil {
		return rows, err
	}
	batches := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		o.call.failed = 0
		caller, err := o.call.Open(ctx, o.call.inputFields(), fields)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = caller.Close() }() // the error is ignored, because all results have been received
		o.called = &called{output: o, caller: caller, outputs: numbers}
		batches(yield)
	}
	return rows, nil
}

// made returns the view rows that the function makes from a batch of the source.
func (c *called) made(ctx context.Context, batch arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for from := int64(0); from < batch.NumRows(); from += rowsOfCall {
			some := batch.NewSlice(from, min(from+rowsOfCall, batch.NumRows()))
			for made, err := range rowchunks.Of(ctx, some, c.compute) {
				if !yield(made, err) || err != nil {
					return
				}
			}
		}
	}
}

// compute calls the function with the rows of a batch that the query chooses.
func (c *called) compute(ctx context.Context, batch arrow.RecordBatch, _ int64) (arrow.RecordBatch, error) {
	batch, err := c.chosen(ctx, batch)
	if err != nil {
		return nil, err
	}
	in, err := c.call.arguments(ctx, batch)
	if err != nil {
		return nil, err
	}
	result, err := c.caller.Call(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := memory.FromContext(ctx).Take(ctx, take.BatchBytes(result.Outputs)+8*result.Outputs.NumRows()); err != nil {
		return nil, err
	}
	made, err := c.rows(ctx, batch, result)
	if err != nil {
		return nil, err
	}
	for _, f := range result.Failed { // counted once the rows cannot be recomputed in pieces
		addresses := batch.Column(int(batch.NumCols()) - 2).(*array.Uint64) //nolint:forcetypeassert // the type of addresses
		if err := c.call.Failed(ctx, c.version.Version(), addresses.Value(f.Row), f); err != nil {
			return nil, err
		}
		c.call.failed++
	}
	return made, nil
}

// arguments returns the input of the function for source rows.
func (c *Call) arguments(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields := c.inputFields()
	columns := make([]arrow.Array, len(fields))
	for i, bound := range c.inputs.Columns {
		var err error
		if columns[i], err = eval(ctx, bound, batch); err != nil {
			return nil, apierror.OfExpression("input "+fields[i].Name, err)
		}
		if err := rowchunks.TakeMade(ctx, batch, columns[i]); err != nil {
			return nil, err
		}
		if e, ok := columns[i].(array.ExtensionArray); ok {
			columns[i] = e.Storage()
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), nil
}

// rows assembles the columns of the view: for each output row the query columns of its parent, and the
// columns of the function.
func (c *called) rows(ctx context.Context, batch arrow.RecordBatch, result udf.Result) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(c.from))
	for i, f := range c.schema.Fields() {
		switch number := c.outputs[i]; {
		case number >= 0:
			columns[i] = asType(result.Outputs.Column(number), f.Type)
			continue
		case f.Name == selection.ChildIndex:
			columns[i] = childIndices(result.Parents)
			continue
		}
		// Other columns have the value of the parent row in each of its rows.
		values, err := c.column(ctx, batch, i, f)
		if err != nil {
			return nil, err
		}
		if err := memory.FromContext(ctx).Take(ctx, take.Bytes(values, result.Parents)); err != nil {
			return nil, err
		}
		if columns[i], err = take.Array(values, result.Parents); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(c.schema, columns, int64(len(result.Parents))), nil
}

// childIndices numbers the rows of each parent from 0.
func childIndices(parents []int32) arrow.Array {
	b := array.NewInt32Builder(arrowmemory.DefaultAllocator)
	b.Reserve(len(parents))
	index := int32(0)
	for i, parent := range parents {
		if i > 0 && parents[i-1] == parent {
			index++
		} else {
			index = 0
		}
		b.UnsafeAppend(index)
	}
	return b.NewArray()
}

// asType returns values with the type of a column. The types differ at most in item names and extensions.
func asType(values arrow.Array, t arrow.DataType) arrow.Array {
	if e, ok := t.(arrow.ExtensionType); ok {
		return array.NewExtensionArrayWithStorage(e, values)
	}
	return values
}

// reads returns the columns of the source that are read.
func (o *output) reads() []string {
	columns := slices.Clone(o.plan.Inputs)
	if o.call != nil {
		columns = append(columns, snapshot.RowAddr)
	}
	return append(columns, snapshot.RowID)
}
