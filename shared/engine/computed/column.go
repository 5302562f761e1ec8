package computed

import (
	"context"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/condition"
	"tiltyard/shared/engine/failure"
	"tiltyard/shared/engine/freshness"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/take"
)

// A Column is a computed column of one version of a table.
type Column struct {
	Name       string
	Definition string           // digest of the expression
	Inputs     freshness.Inputs // what the values depend on

	dataset *dataset.Dataset
	what    string
	value   *plan.Bound // in the type of the column
	where   *plan.Bound // chooses the rows to compute; nil: those that need it
}

// Open returns a computed column of a version. where is a condition on the rows to compute; "" chooses
// those without a value, and all of stale fragments. The errors are protocol errors.
func Open(ctx context.Context, d *dataset.Dataset, name, where string) (*Column, error) {
	declared, field, err := find(d, name)
	if err != nil {
		return nil, err
	}
	c := &Column{Name: name, Definition: freshness.Definition(declared.Expression), dataset: d, what: "the expression of column " + name}
	typ := d.ArrowSchema().Field(d.ArrowSchema().FieldIndices(field.Name)[0]).Type
	c.value, err = condition.Bind(ctx, c.what, declared.Expression, d, d.ArrowSchema(), func(ctx context.Context, e syntax.Expr, _ *arrow.Schema, now time.Time) (*plan.Bound, error) {
		c.Inputs = freshness.NewInputs(d.Schema(), inputsOf(e))
		return plan.BindAs(ctx, e, d.ArrowSchema(), now, typ)
	})
	if err != nil {
		return nil, err
	}
	for _, read := range c.value.Columns() {
		if d.Schema().Field(read).HoldsBlobs() {
			return nil, protocol.Errorf(protocol.Unsupported, "%s reads the blobs of %q, which is not supported", c.what, read)
		}
	}
	if where != "" {
		c.where, err = condition.Bind(ctx, "where", where, d, d.ArrowSchema(), plan.BindFilter)
	}
	return c, failure.OfFilter(err)
}

// CheckInputs returns an error if an input is a computed column with rows that would get a value if it
// were filled: the expression would take their nulls for values.
func (c *Column) CheckInputs(ctx context.Context) error {
	for _, name := range c.value.Columns() {
		if Of(c.dataset.Schema().Field(name)) == nil {
			continue
		}
		input, err := Open(ctx, c.dataset, name, "")
		if err != nil {
			return err
		}
		missing := int64(0)
		for _, at := range c.dataset.Fragments() {
			n, err := input.gains(ctx, at)
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

// Count returns how many rows of a fragment Fill computes.
func (c *Column) Count(ctx context.Context, at *fragment.Fragment, stale bool) (n int64, err error) {
	if stale && c.where == nil {
		return fragment.LiveRows(at.Meta), nil
	}
	err = c.each(ctx, at, c.choosing(), func(batch arrow.RecordBatch) error {
		rows, err := c.chosen(ctx, batch, false)
		n += int64(len(rows))
		return err
	})
	return n, err
}

// Filled is what Fill has made of a fragment.
type Filled struct {
	File     *pb.FileReplacement // nil if no value changes
	Assigned int64               // rows that have got a value
	Whole    bool                // all rows that are not deleted were computed
}

// Fill writes a file with the new values of a fragment. stale means that its values do not count.
func (c *Column) Fill(ctx context.Context, at *fragment.Fragment, stale bool) (Filled, error) {
	var filled Filled
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return filled, err
	}
	defer room.Close()
	live := fragment.LiveRows(at.Meta)
	n, err := c.Count(ctx, at, stale)
	if err != nil || n == 0 {
		return Filled{Whole: live == 0}, err
	}
	filled.Whole = n == live
	filled.File, _, err = c.dataset.StageColumn(ctx, at, dataset.ColumnValues{
		Column: c.Name, Read: c.reads(),
		Values: func(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, int64, error) {
			values, gained, err := c.values(ctx, batch, stale)
			filled.Assigned += gained
			if stale || c.where != nil { // a value may become null, too
				return values, batch.NumRows(), err
			}
			return values, gained, err
		},
	})
	return filled, err
}

// gains returns how many rows of a fragment without a value would get one.
func (c *Column) gains(ctx context.Context, at *fragment.Fragment) (n int64, err error) {
	if missing, err := c.Count(ctx, at, false); err != nil || missing == 0 {
		return 0, err
	}
	err = c.each(ctx, at, c.reads(), func(batch arrow.RecordBatch) error {
		_, gained, err := c.values(ctx, batch, false)
		n += gained
		return err
	})
	return n, err
}

// choosing returns the columns that chosen looks at.
func (c *Column) choosing() []string {
	if c.where == nil {
		return []string{c.Name}
	}
	return distinct(append(c.where.Columns(), c.Name))
}

// reads returns the columns that values looks at.
func (c *Column) reads() []string { return distinct(append(c.choosing(), c.value.Columns()...)) }

func distinct(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return slices.Compact(names)
}

// each calls work with the rows of a fragment that are not deleted.
func (c *Column) each(ctx context.Context, at *fragment.Fragment, columns []string, work func(arrow.RecordBatch) error) error {
	p, err := c.dataset.Project(columns)
	if err != nil {
		return err
	}
	for stretch, err := range c.dataset.Stretches(ctx, at, p) {
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

// chosen returns the positions of the rows of a batch whose values are computed.
func (c *Column) chosen(ctx context.Context, batch arrow.RecordBatch, stale bool) ([]int32, error) {
	if c.where != nil {
		rows, err := c.where.Select(ctx, batch, nil)
		return rows, failure.OfExpression("where", err)
	}
	values := c.of(batch)
	var rows []int32
	for i := range values.Len() {
		if stale || values.IsNull(i) {
			rows = append(rows, int32(i))
		}
	}
	return rows, nil
}

// of returns the column as it is in a batch.
func (c *Column) of(batch arrow.RecordBatch) arrow.Array {
	return batch.Column(batch.Schema().FieldIndices(c.Name)[0])
}

// values returns the column of a batch with the chosen rows computed, and how many of them have got a
// value. The expression sees no other row, so a row that is not computed cannot fail it.
func (c *Column) values(ctx context.Context, batch arrow.RecordBatch, stale bool) (arrow.Array, int64, error) {
	was := c.of(batch)
	rows, err := c.chosen(ctx, batch, stale)
	if err != nil || len(rows) == 0 {
		return was, 0, err
	}
	all := len(rows) == was.Len()
	if !all {
		held, err := memory.Take(ctx, take.BatchBytes(batch))
		if err != nil {
			return nil, 0, err
		}
		defer held.Release()
		if batch, err = take.Batch(batch, rows); err != nil {
			return nil, 0, err
		}
	}
	values, err := c.value.Eval(ctx, batch)
	if err != nil {
		return nil, 0, failure.OfExpression(c.what, err)
	}
	gained := int64(values.Len() - values.NullN())
	if !all {
		values, err = c.put(ctx, was, values, rows)
	}
	return values, gained, err
}

// put returns the column with other values at some positions.
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
	from := make([]int32, was.Len())
	for i := range from {
		from[i] = int32(i)
	}
	for i, row := range at {
		from[row] = int32(was.Len() + i)
	}
	return take.Array(both.Column(0), from)
}
