package grouping

import (
	"context"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
)

const (
	// most and mostBytes bound the number of groups in a batch and their size.
	most      = 8192
	mostBytes = 4 << 20
	// resultFactor bounds the memory for the result of a group, relative to the size of the group.
	resultFactor = 2
)

// results collects the rows of groups for the next batch.
type results struct {
	ctx     context.Context //nolint:containedctx // results live as long as one call of Groups
	schema  *arrow.Schema
	keys    []*sortkey.Values
	columns []column
	lowest  *array.Uint64Builder
	held    memory.Hold
}

func newResults(ctx context.Context, of *plan.Grouping) *results {
	r := &results{ctx: ctx, lowest: array.NewUint64Builder(arrowmemory.DefaultAllocator)}
	for _, key := range of.Keys {
		r.keys = append(r.keys, sortkey.NewValues(key.Type()))
	}
	for _, call := range of.Calls {
		r.columns = append(r.columns, columnOf(call))
	}
	r.schema = arrow.NewSchema(append(of.Rows.Fields(), arrow.Field{Name: snapshot.RowID, Type: arrow.PrimitiveTypes.Uint64}), nil)
	return r
}

// add adds a group. It returns a batch if it is full, and nil otherwise.
func (r *results) add(g group) (arrow.RecordBatch, error) {
	if err := r.held.Resize(r.ctx, 2*r.bytes()+resultFactor*g.of.size(g.at)); err != nil {
		return nil, err
	}
	key := g.key
	for _, values := range r.keys {
		key = values.Append(key)
	}
	for i, s := range g.of.calls {
		if err := s.result(g.at, r.columns[i]); err != nil {
			return nil, apierror.OfExpression("the result of an aggregate function", err)
		}
	}
	r.lowest.Append(g.of.lowest[g.at])
	size := r.bytes()
	if err := r.held.Resize(r.ctx, 2*size); err != nil { // twice, because the columns are copied into arrays
		return nil, err
	}
	if size < mostBytes && r.lowest.Len() < most {
		return nil, nil //nolint:nilnil // no batch yet
	}
	return r.rest(), nil
}

// bytes returns the size of the collected rows.
func (r *results) bytes() int64 {
	size := int64(8 * r.lowest.Len())
	for _, values := range r.keys {
		size += values.Bytes()
	}
	for _, c := range r.columns {
		size += c.bytes()
	}
	return size
}

// rest returns the rows since the last batch, or nil if there are none.
func (r *results) rest() arrow.RecordBatch {
	n := int64(r.lowest.Len())
	if n == 0 {
		return nil
	}
	var columns []arrow.Array
	for _, values := range r.keys {
		columns = append(columns, values.Array())
	}
	for _, c := range r.columns {
		columns = append(columns, c.array())
	}
	return array.NewRecordBatch(r.schema, append(columns, r.lowest.NewArray()), n)
}

// A column collects the results of one function.
type column interface {
	integer(value uint64, valid bool) error
	float(value float64, valid bool) error
	decimal(sum decimal128.Num, n uint64, valid bool) error // sum / n
	key(key []byte) error                                   // of package sortkey; nil means NULL
	keys(keys []byte, n uint64) error                       // of a list; n = 0 means NULL
	bytes() int64
	array() arrow.Array
}

// columnOf returns an empty column for the result type of a call.
func columnOf(c *plan.Aggregate) column {
	base := unused{string(c.Function)}
	switch t := c.Type.(type) {
	case *arrow.ListType:
		return &listColumn{unused: base, items: sortkey.NewValues(t.Elem()), of: t, ends: []int32{0}}
	default:
		return &flatColumn{unused: base, of: c.Type, builder: array.NewBuilder(arrowmemory.DefaultAllocator, c.Type), values: sortkey.NewValues(c.Type), call: c}
	}
}

// unused implements the methods of column for other types of results. They return an error.
type unused struct{ function string }

func (u unused) wrong() error {
	return sql.Errorf(sql.ErrUnsupported, sql.NoPos, "function %s gives a value of another type than planned", u.function)
}
func (u unused) integer(uint64, bool) error                 { return u.wrong() }
func (u unused) float(float64, bool) error                  { return u.wrong() }
func (u unused) decimal(decimal128.Num, uint64, bool) error { return u.wrong() }
func (u unused) key([]byte) error                           { return u.wrong() }
func (u unused) keys([]byte, uint64) error                  { return u.wrong() }

// flatColumn collects values that are not lists: in builder or, if they are keys, in values.
type flatColumn struct {
	unused
	of      arrow.DataType
	call    *plan.Aggregate
	builder array.Builder
	values  *sortkey.Values
}

// integer appends an integer or a bool in the type of the column.
func (c *flatColumn) integer(value uint64, valid bool) error {
	if !valid {
		c.builder.AppendNull()
		return nil
	}
	switch b := c.builder.(type) {
	case *array.Int8Builder:
		b.Append(int8(value))
	case *array.Int16Builder:
		b.Append(int16(value))
	case *array.Int32Builder:
		b.Append(int32(value))
	case *array.Int64Builder:
		b.Append(int64(value))
	case *array.Uint8Builder:
		b.Append(uint8(value))
	case *array.Uint16Builder:
		b.Append(uint16(value))
	case *array.Uint32Builder:
		b.Append(uint32(value))
	case *array.Uint64Builder:
		b.Append(value)
	case *array.BooleanBuilder:
		b.Append(value != 0)
	default:
		return c.wrong()
	}
	return nil
}

func (c *flatColumn) float(value float64, valid bool) error {
	if !valid {
		c.builder.AppendNull()
		return nil
	}
	b, ok := c.builder.(*array.Float64Builder)
	if !ok {
		return c.wrong()
	}
	b.Append(value)
	return nil
}

// decimal appends the quotient sum / n, with the additional decimal places of the result type.
// Further digits are cut off.
func (c *flatColumn) decimal(sum decimal128.Num, n uint64, valid bool) error {
	b, ok := c.builder.(*array.Decimal128Builder)
	if !ok {
		return c.wrong()
	}
	if !valid {
		b.AppendNull()
		return nil
	}
	to := c.of.(*arrow.Decimal128Type)
	from := c.call.Args[0].Type().(*arrow.Decimal128Type)
	if n == 1 && to.Scale == from.Scale {
		b.Append(sum)
		return nil
	}
	// The scaled sum may exceed 128 bits, so the quotient is computed with big integers.
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to.Scale-from.Scale)), nil)
	value := scale.Mul(scale, sum.BigInt())
	value.Quo(value, new(big.Int).SetUint64(n))
	if limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to.Precision)), nil); value.CmpAbs(limit) >= 0 {
		return sql.Errorf(sql.ErrValue, sql.NoPos, "the result of %s does not fit into %s", c.function, to)
	}
	b.Append(decimal128.FromBigInt(value))
	return nil
}

// key appends a value by its sort key.
func (c *flatColumn) key(key []byte) error {
	if key == nil {
		key = nullKey
	}
	c.values.Append(key)
	return nil
}

// nullKey is the key of NULL.
var nullKey = []byte{0}

func (c *flatColumn) bytes() int64 { return c.values.Bytes() + 16*int64(c.builder.Len()) }

func (c *flatColumn) array() arrow.Array {
	if c.values.Len() > 0 {
		return c.values.Array()
	}
	return c.builder.NewArray()
}

// listColumn collects lists of values.
type listColumn struct {
	unused
	of    *arrow.ListType
	items *sortkey.Values
	ends  []int32
	nulls []bool
}

// keys appends a list of n values, or null if n is 0: array_agg without rows is NULL.
func (c *listColumn) keys(keys []byte, n uint64) error {
	for range n {
		keys = c.items.Append(keys)
	}
	c.ends = append(c.ends, int32(c.items.Len()))
	c.nulls = append(c.nulls, n == 0)
	return nil
}

func (c *listColumn) bytes() int64 { return c.items.Bytes() + 5*int64(len(c.ends)) }

func (c *listColumn) array() arrow.Array {
	n := len(c.nulls)
	valid := make([]byte, (n+7)/8)
	nulls := 0
	for i, null := range c.nulls {
		if null {
			nulls++
		} else {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	buffers := []*arrowmemory.Buffer{arrowmemory.NewBufferBytes(valid), arrowmemory.NewBufferBytes(arrow.GetBytes(c.ends))}
	data := array.NewData(c.of, n, buffers, []arrow.ArrayData{c.items.Array().Data()}, nulls, 0)
	c.ends, c.nulls = []int32{0}, nil
	return array.NewListData(data)
}
