package computed

import (
	"context"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A Column is a computed column of one version of a table, together with the columns of the same
// binding.
type Column struct {
	Name       string                     // the first of the columns; its metadata has the stamp of all
	Definition string                     // digest of the expression, or of the binding
	Inputs     staleness.Inputs           // the columns that determine the values
	Binding    *schemaapi.FunctionBinding // nil for an expression
	Envelope   *Envelope                  // the function of a virtual column, in addition to its binding; else nil

	dataset *dataset.Dataset
	values  evaluator
	names   []string // of the columns
	types   []arrow.DataType
	witness string      // a column that is not null in any computed row
	where   *plan.Bound // the rows to compute; nil: those without an up-to-date value
}

// An evaluator computes columns for rows.
type evaluator interface {
	reads() []string
	compute(ctx context.Context, rows arrow.RecordBatch, types []arrow.DataType) (outcome, error)
}

// An outcome is the result of an evaluator.
type outcome struct {
	columns []arrow.Array
	chosen  int64         // number of computed rows
	gained  int64         // rows with a new value
	failed  []udf.Failure // rows for which a function failed, in ascending order
}

// Open returns a computed column of a version. where is a condition on the rows to compute; ""
// chooses the rows without a value, and all rows of stale fragments. The errors are protocol
// errors.
func Open(ctx context.Context, d *dataset.Dataset, name, where string) (*Column, error) {
	declared, field, err := find(d, name)
	if err != nil {
		return nil, err
	}
	c := &Column{dataset: d}
	switch declared.Kind {
	case kindFunction:
		err = c.openFunction(ctx, field)
	case kindVirtual:
		err = c.openVirtual(ctx, field)
	default:
		err = c.openExpression(ctx, declared)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range c.names {
		at := d.ArrowSchema().FieldIndices(name)
		if len(at) == 0 {
			return nil, apierror.NoColumn(d.NoColumn(name))
		}
		c.types = append(c.types, d.ArrowSchema().Field(at[0]).Type)
	}
	// Expressions cannot read blobs. Functions get their bytes by other means, see blobinputs.go.
	for _, read := range c.values.reads() {
		if f := d.Schema().Field(read); f != nil && f.HoldsBlobs() {
			return nil, protocol.Errorf(protocol.Unsupported, "column %q is computed from the blobs of %q, which is not supported", c.Name, read)
		}
	}
	if where != "" {
		c.where, err = condition.Bind(ctx, "where", where, d, d.ArrowSchema(), plan.BindFilter)
	}
	return c, apierror.OfFilter(err)
}

// openExpression binds the expression in the column's declaration.
func (c *Column) openExpression(ctx context.Context, declared *Declaration) error {
	d, name := c.dataset, declared.Column
	c.Name, c.names, c.witness = name, []string{name}, name
	c.Definition = staleness.Definition(declared.Expression)
	x := expression{what: "the expression of column " + name}
	typ := d.ArrowSchema().Field(d.ArrowSchema().FieldIndices(name)[0]).Type
	var err error
	x.value, err = condition.Bind(ctx, x.what, declared.Expression, d, d.ArrowSchema(), func(ctx context.Context, e syntax.Expr, _ *arrow.Schema, now time.Time) (*plan.Bound, error) {
		c.Inputs = staleness.NewInputs(d.Schema(), inputsOf(e))
		return plan.BindAs(ctx, e, d.ArrowSchema(), now, typ)
	})
	c.values = x
	return err
}

// openFunction opens the binding in the column's declaration.
func (c *Column) openFunction(ctx context.Context, f *schema.Field) error {
	d := c.dataset
	b, err := bindingOf(d.Schema(), f)
	if err != nil {
		return err
	}
	a, err := newApplication(ctx, d, b)
	if err != nil {
		return err
	}
	c.Binding, c.values, c.names = b, a, a.columns()
	c.Name, c.witness, c.Definition = c.names[0], c.names[a.witness()], staleness.Definition(b.ID)
	return c.readsOf(b)
}

// readsOf sets the inputs of the column to the inputs of a binding.
func (c *Column) readsOf(b *schemaapi.FunctionBinding) error {
	paths := make([][]string, len(b.Inputs))
	for i, in := range b.Inputs {
		chain, err := c.dataset.Schema().Resolve(in.FieldPath)
		if err != nil {
			return apierror.NoColumn(c.dataset.NoColumn(in.FieldPath))
		}
		for _, f := range chain {
			paths[i] = append(paths[i], f.Name)
		}
	}
	c.Inputs = staleness.NewInputs(c.dataset.Schema(), paths)
	return nil
}

// Use sets the function that Fill calls, and its declared parameters. The column must have a
// binding.
func (c *Column) Use(caller udf.Caller, params []arrow.Field) {
	a := c.values.(*application) //nolint:forcetypeassert // columns with a binding have one
	a.caller, a.fields = caller, params
}

// An expression is an evaluator of one column.
type expression struct {
	what  string
	value *plan.Bound // cast to the type of the column
}

func (x expression) reads() []string { return x.value.Columns() }

// compute evaluates the expression. Its error ends the backfill.
func (x expression) compute(ctx context.Context, rows arrow.RecordBatch, _ []arrow.DataType) (outcome, error) {
	values, err := x.value.Eval(ctx, rows)
	if err != nil {
		return outcome{}, apierror.OfExpression(x.what, err)
	}
	if err := rowchunks.TakeMade(ctx, rows, values); err != nil {
		return outcome{}, err
	}
	return outcome{columns: []arrow.Array{values}, gained: int64(values.Len() - values.NullN())}, nil
}

// CheckInputs returns an error if some of the rows lack a value of a computed input column that a
// backfill would give them. The expression would otherwise compute with nulls.
func (c *Column) CheckInputs(ctx context.Context, rows []fragment.Span) error {
	for _, name := range c.values.reads() {
		if Of(c.dataset.Schema().Field(name)) == nil {
			continue
		}
		input, err := Open(ctx, c.dataset, name, "")
		if err != nil {
			return err
		}
		missing := int64(0)
		for _, r := range rows {
			n, err := input.gains(ctx, r)
			if err != nil {
				return err
			}
			missing += n
		}
		if missing > 0 {
			return protocol.Errorf(protocol.InvalidInput, "column %q reads %q, which has %d rows without a value; backfill %q first", c.Name, name, missing, name)
		}
	}
	return nil
}

// Count returns the number of rows of a fragment that Fill would compute.
func (c *Column) Count(ctx context.Context, at *fragment.Fragment, stale bool) (n int64, err error) {
	return c.count(ctx, fragment.Span{At: at, To: at.Rows}, stale)
}

// count returns the number of rows that Fill would compute.
func (c *Column) count(ctx context.Context, rows fragment.Span, stale bool) (n int64, err error) {
	if stale && c.where == nil {
		return rows.Live(ctx)
	}
	err = c.each(ctx, rows, c.choosing(), func(batch arrow.RecordBatch) error {
		rows, err := c.chosen(ctx, batch, false)
		n += int64(len(rows))
		return err
	})
	return n, err
}

// Filled is the result of computing consecutive rows of a fragment.
type Filled struct {
	alter.ColumnPiece
	Assigned int64 // rows with a new value
	Failed   int64 // rows for which the function failed
	Whole    bool  // all rows that are not deleted were computed, even if some failed
}

// A Filling selects the rows to compute.
type Filling struct {
	fragment.Span
	Stale bool // all values of the fragment are out of date
	// Enough is called repeatedly; if it returns true, Fill stops after the rows computed so far. It
	// may be nil.
	Enough func() bool
	// Failed is called with the offset in the fragment of each row for which the function failed. It
	// may be nil.
	Failed func(offset uint32, f udf.Failure)
}

// Fill computes values and writes them to a file, which it does not commit.
func (c *Column) Fill(ctx context.Context, o Filling) (Filled, error) {
	filled := Filled{ColumnPiece: alter.ColumnPiece{From: o.From, To: o.To}}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return filled, err
	}
	defer room.Close()
	n, err := c.count(ctx, o.Span, o.Stale)
	if err != nil {
		return filled, err
	}
	chosen := int64(0)
	if n > 0 {
		reads := c.reads()
		if c.Binding != nil {
			reads = append(reads, snapshot.RowAddr)
		}
		values := alter.ColumnValues{Columns: c.names, Read: reads, Enough: o.Enough, Once: c.Binding != nil}
		if o.Enough != nil && c.Binding != nil {
			values.AtOnce = callRows
		}
		values.Values = func(ctx context.Context, batch arrow.RecordBatch) ([]arrow.Array, int64, error) {
			made, err := c.compute(ctx, batch, o.Stale)
			if err != nil {
				return nil, 0, err
			}
			chosen += made.chosen
			filled.Assigned += made.gained
			filled.Failed += int64(len(made.failed))
			if o.Failed != nil && len(made.failed) > 0 {
				addresses := batch.Column(batch.Schema().FieldIndices(snapshot.RowAddr)[0]).(*array.Uint64) //nolint:forcetypeassert // the type of addresses
				for _, f := range made.failed {
					o.Failed(uint32(addresses.Value(f.Row)), f)
				}
			}
			if o.Stale || c.where != nil { // an existing value may become null
				return made.columns, batch.NumRows(), nil
			}
			return made.columns, made.gained, nil
		}
		if filled.ColumnPiece, err = alter.StageColumns(ctx, c.dataset, o.At, values, o.From, o.To); err != nil {
			return filled, err
		}
	}
	live, err := fragment.Span{At: o.At, From: filled.From, To: filled.To}.Live(ctx)
	filled.Whole = chosen == live
	return filled, err
}

// Join joins consecutive pieces of a fragment.
func (c *Column) Join(ctx context.Context, at *fragment.Fragment, pieces []alter.ColumnPiece) (alter.ColumnPiece, error) {
	return alter.JoinColumns(ctx, c.dataset, at, c.names, pieces)
}

// gains returns the number of rows without a value that a backfill would give one.
func (c *Column) gains(ctx context.Context, rows fragment.Span) (n int64, err error) {
	if missing, err := c.count(ctx, rows, false); err != nil || missing == 0 {
		return 0, err
	}
	err = c.each(ctx, rows, c.reads(), func(batch arrow.RecordBatch) error {
		made, err := c.compute(ctx, batch, false)
		n += made.gained
		return err
	})
	return n, err
}

// Columns returns the columns that a fill reads, including the computed ones.
func (c *Column) Columns() []string { return c.reads() }

// choosing returns the columns that chosen reads.
func (c *Column) choosing() []string {
	if c.where == nil {
		return []string{c.witness}
	}
	return distinct(append(c.where.Columns(), c.witness))
}

// Outputs returns the names of the columns that are computed together.
func (c *Column) Outputs() []string { return c.names }

// Reads returns the names of the columns from which the values are computed.
func (c *Column) Reads() []string { return c.values.reads() }

// reads returns the columns that compute reads.
func (c *Column) reads() []string {
	return distinct(slices.Concat(c.choosing(), c.names, c.values.reads()))
}

// distinct sorts names and removes duplicates.
func distinct(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
}

// each calls work with batches of the rows that are not deleted.
func (c *Column) each(ctx context.Context, rows fragment.Span, columns []string, work func(arrow.RecordBatch) error) error {
	p, err := c.dataset.Project(columns)
	if err != nil {
		return err
	}
	for stretch, err := range c.dataset.StretchesOf(ctx, rows.At, p, rows.From, rows.To) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && stretch.Batch != nil {
			err = work(stretch.Batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chosen returns the positions of the rows of a batch to compute.
func (c *Column) chosen(ctx context.Context, batch arrow.RecordBatch, stale bool) ([]int32, error) {
	if c.where != nil {
		rows, err := c.where.Select(ctx, batch, nil)
		return rows, apierror.OfExpression("where", err)
	}
	values := column(batch, c.witness)
	var rows []int32
	for i := range values.Len() {
		if stale || values.IsNull(i) {
			rows = append(rows, int32(i))
		}
	}
	return rows, nil
}

// column returns a column of a batch by name.
func column(batch arrow.RecordBatch, name string) arrow.Array {
	return batch.Column(batch.Schema().FieldIndices(name)[0])
}

// compute returns the columns of a batch with new values in the chosen rows. The evaluator gets
// only these rows, so other rows cannot cause an error.
func (c *Column) compute(ctx context.Context, batch arrow.RecordBatch, stale bool) (outcome, error) {
	was := outcome{columns: make([]arrow.Array, len(c.names))}
	for i, name := range c.names {
		was.columns[i] = column(batch, name)
	}
	rows, err := c.chosen(ctx, batch, stale)
	if err != nil || len(rows) == 0 {
		return was, err
	}
	all := len(rows) == int(batch.NumRows())
	if !all {
		held, err := memory.Take(ctx, take.BatchBytes(batch))
		if err != nil {
			return outcome{}, err
		}
		defer held.Release()
		if batch, err = take.Batch(batch, rows); err != nil {
			return outcome{}, err
		}
	}
	made, err := c.values.compute(ctx, batch, c.types)
	made.chosen = int64(len(rows))
	if err != nil || all {
		return made, err
	}
	for i, values := range made.columns {
		if made.columns[i], err = c.put(ctx, was.columns[i], values, rows); err != nil {
			return outcome{}, err
		}
	}
	// The evaluator has numbered the failures among the chosen rows.
	for i := range made.failed {
		made.failed[i].Row = int(rows[made.failed[i].Row])
	}
	return made, nil
}

// put returns a column with new values at some positions.
func (c *Column) put(ctx context.Context, was, values arrow.Array, at []int32) (arrow.Array, error) {
	held, err := memory.Take(ctx, int64(was.Data().SizeInBytes()+values.Data().SizeInBytes()))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	s := arrow.NewSchema([]arrow.Field{{Name: c.Name, Type: was.DataType(), Nullable: true}}, nil)
	both, err := take.Concat(s, []arrow.RecordBatch{
		array.NewRecordBatch(s, []arrow.Array{was}, int64(was.Len())),
		array.NewRecordBatch(s, []arrow.Array{values}, int64(values.Len())),
	})
	if err != nil {
		return nil, err
	}
	// Append the new values to the old ones, and take each row from one or the other.
	from := make([]int32, was.Len())
	for i := range from {
		from[i] = int32(i)
	}
	for i, row := range at {
		from[row] = int32(was.Len() + i)
	}
	return take.Array(both.Column(0), from)
}
