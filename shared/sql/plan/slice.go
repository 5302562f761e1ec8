package plan

import (
	"context"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// sliceRows bounds the rows of a slice for expressions that make texts, lists or structs.
const sliceRows = 8192

// rowBits estimates the bits per row that an operation and its arguments use. wide is true if some values
// have variable width.
func rowBits(n *expr.Node) (bits int, wide bool) {
	bits, fixed := column.SlotBits(n.Type)
	switch n.Op {
	case expr.OpLit:
		return 0, false
	case expr.OpCol, expr.OpMember:
		wide = column.IsNested(n.Type)
	default:
		wide = !fixed
	}
	for _, a := range n.Args {
		more, alsoWide := rowBits(a)
		bits, wide = min(bits+more, 1<<30), wide || alsoWide
	}
	return bits, wide
}

// slices evaluates the expression in slices of the given rows, and calls f with the values of the n rows
// beginning with row from. Nil selects all rows. A slice that needs too much memory is divided and
// evaluated again.
func (b *Bound) slices(m *meter.Meter, rec arrow.RecordBatch, rows column.Bitset, f func(from, n int, v column.Vec) error) error {
	columns, err := b.read(rec)
	if err != nil {
		return err
	}
	total := int(rec.NumRows())
	most, limit := b.slice, int64(meter.SliceBytes)
	size, consts := most, constants{}
	for from := 0; from < total; {
		if err := m.Err(); err != nil {
			return err
		}
		n := min(size, total-from)
		among := rows
		if rows != nil && n < total {
			if among = rows.Slice(from, n); among.Empty() {
				from += n
				continue
			}
		}
		m.Begin(n, limit)
		v, err := b.evalSlice(m, consts, columns, from, n, total, among)
		if err == nil {
			err = f(from, n, v)
		}
		if n > 1 && errors.Is(err, meter.ErrNarrow) {
			limit = min(limit, max(m.Peak(), meter.TakeBytes))
			size = max(n/8, 1)
			continue
		}
		if err != nil {
			return err
		}
		from += n
		if m.Peak() < limit/4 {
			size = min(2*size, most)
		}
	}
	return nil
}

// evalSlice computes the expression for a slice.
func (b *Bound) evalSlice(m *meter.Meter, consts constants, columns []arrow.Array, from, n, total int, among column.Bitset) (column.Vec, error) {
	f := frame{m: m, n: n, arrs: columns, cols: map[int]column.Vec{}, consts: consts}
	if n < total {
		f.arrs = make([]arrow.Array, len(columns))
		for _, c := range b.columns {
			f.arrs[c] = array.NewSlice(columns[c], int64(from), int64(from+n))
		}
	}
	return f.eval(b.root, among)
}

// read finds the columns of a batch by name, because their order need not be that of the
// schema. Columns that the expression does not read are nil.
func (b *Bound) read(rec arrow.RecordBatch) ([]arrow.Array, error) {
	columns := make([]arrow.Array, b.schema.NumFields())
	for _, c := range b.columns {
		field := b.schema.Field(c)
		found := rec.Schema().FieldIndices(field.Name)
		if len(found) == 0 {
			return nil, sql.Errorf(sql.ErrUnknownColumn, b.root.Pos, "no column %q in the batch; there are %s", field.Name, fieldNames(rec.Schema().Fields()))
		}
		columns[c] = rec.Column(found[0])
		if got := columns[c].DataType(); !column.SameType(column.ValueType(got), column.ValueType(field.Type)) {
			return nil, sql.Errorf(sql.ErrType, b.root.Pos, "column %q of the batch is %s, not %s", field.Name, got, field.Type)
		}
	}
	return columns, nil
}

// A collected concatenates the values of slices to one array.
type collected struct {
	m     *meter.Meter
	typ   arrow.DataType
	total int // rows of all slices
	parts []arrow.Array
	bytes int
}

// add adds the values of a slice. Their bytes stay in use.
func (c *collected) add(n int, v column.Vec) error {
	if _, ok := v.Data.(column.Text); ok {
		v.Type = c.typ
	}
	before := c.m.Mark()
	arr, err := v.Array(c.m, n)
	if err != nil {
		return err
	}
	c.parts = append(c.parts, arr)
	if n < c.total {
		bytes := max(v.Bytes(), int(c.m.Mark()-before))
		c.bytes += bytes
		c.m.Retain(bytes)
	}
	return nil
}

// array joins the slices.
func (c *collected) array() (arrow.Array, error) {
	if len(c.parts) == 1 {
		return c.parts[0], nil
	}
	c.m.Begin(1, math.MaxInt64)
	if err := c.m.Take(c.bytes); err != nil {
		return nil, err
	}
	arr, err := array.Concatenate(c.parts, column.Allocator)
	if err != nil {
		return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "values of a batch that are too many for their type: %v", err)
	}
	return arr, nil
}

// evaluate returns the values of all rows of a non-empty batch.
func (b *Bound) evaluate(ctx context.Context, rec arrow.RecordBatch) (arrow.Array, error) {
	m := meter.New(ctx)
	defer m.End()
	all := collected{m: m, typ: b.root.Type, total: int(rec.NumRows())}
	if err := b.slices(m, rec, nil, func(_, n int, v column.Vec) error { return all.add(n, v) }); err != nil {
		return nil, err
	}
	return all.array()
}
