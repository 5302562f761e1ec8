// Package grouping groups rows with equal keys, and computes one row per group: its keys, the results of aggregate
// functions, and the lowest row id.
//
// A [Table] keeps the state of each function for each group in memory. If memory is short, it writes its groups to a
// sorter, which may use a temporary file, and starts with no groups. A group can then be in several records, which become
// adjacent when the sorter returns them in the order of their keys:
//
//	key     bytes of package sortkey, never a prefix of another key
//	u64     number of the write, most significant byte first: lists keep their order
//	u64     lowest row id
//	states  one for each function
//	u32     length of key
//
// The order of the groups is arbitrary.
package grouping

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/numbering"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
)

const (
	// tableBytes bounds the memory of the groups of a table. They also take at most 1/tableShare of the
	// request's memory, because writing them to the sorter needs memory for records.
	tableBytes = 256 << 20
	tableShare = 8
	// sorterBytes bounds the memory of records in the sorter.
	sorterBytes = 64 << 20
	// look is the number of rows or groups between two checks of the memory and the context.
	look = 1024
	// roomStep bounds the bytes of the values that are added between two checks of the memory, unless one row has more.
	roomStep = 1 << 20
)

// A Table groups rows. The caller must close it.
type Table struct {
	of       *plan.Grouping
	max      int64         // the limit of bytes: tableBytes or less
	share    *memory.Share // the memory account of the groups
	writings uint64

	keys   *numbering.Keys // a group is the number of its key
	states groups
	held   memory.Hold
	sorter *sortkey.Sorter // nil until memory was short
	space  []uint32        // for the groups of some rows
}

// New returns a table without groups. Its groups take memory from the context.
func New(ctx context.Context, of *plan.Grouping) *Table {
	t := &Table{of: of, max: tableBytes, share: memory.FromContext(ctx), space: make([]uint32, 2*look)}
	if limit := t.share.Limit(); limit > 0 {
		t.max = min(t.max, limit/tableShare)
	}
	t.clear()
	return t
}

// clear drops all groups.
func (t *Table) clear() {
	var types []arrow.DataType
	for _, key := range t.of.Keys {
		types = append(types, key.Type())
	}
	t.keys, t.states = numbering.New(types, true), newGroups(t.of)
}

// Close releases the memory and the temporary file.
func (t *Table) Close() {
	t.held.Release()
	if t.sorter != nil {
		t.sorter.Close()
	}
}

// Add adds the rows of a batch, whose last column must be the row ids. Memory for the values of
// keys and arguments is taken from the context.
func (t *Table) Add(ctx context.Context, batch arrow.RecordBatch) error {
	ids := batch.Column(int(batch.NumCols()) - 1).(*array.Uint64).Uint64Values()
	values, err := t.evaluate(ctx, batch)
	if err != nil {
		return err
	}
	// Some rows at a time, so that the memory can be taken before the groups grow.
	step := look
	if values.bytes > 0 {
		step = int(min(look, max(1, batch.NumRows()*roomStep/values.bytes)))
	}
	for from := 0; from < len(ids); from += step {
		to := min(from+step, len(ids))
		some := values.slice(int64(from), int64(to))
		if err := t.makeRoom(ctx, some.keys, to-from); err != nil {
			return err
		}
		numbers := t.space[:to-from]
		t.keys.Number(some.keys, numbers)
		t.states.grow(t.keys.Len())
		t.states.add(numbers, ids[from:to], some.calls, t.space[look:])
	}
	return t.makeRoom(ctx, nil, 0)
}

// values are the evaluated keys and arguments of some rows.
type values struct {
	keys  []arrow.Array
	calls []callValues
	bytes int64
}

// slice returns the values of the rows from one to another.
func (v *values) slice(from, to int64) *values {
	of := func(arrays []arrow.Array) []arrow.Array {
		some := make([]arrow.Array, len(arrays))
		for i, a := range arrays {
			some[i] = array.NewSlice(a, from, to)
		}
		return some
	}
	some := &values{keys: of(v.keys), calls: make([]callValues, len(v.calls))}
	for i, call := range v.calls {
		some.calls[i].args = of(call.args)
		if call.counts != nil {
			some.calls[i].counts = array.NewSlice(call.counts, from, to).(*array.Boolean)
		}
	}
	return some
}

// callValues are the arguments of one function.
type callValues struct {
	args   []arrow.Array
	counts *array.Boolean // whether a row counts; nil: all rows count
}

// evaluate computes the keys, arguments and filters of a batch, and takes memory for them.
func (t *Table) evaluate(ctx context.Context, batch arrow.RecordBatch) (*values, error) {
	v := &values{}
	eval := func(what string, b *plan.Bound) (arrow.Array, error) {
		a, err := b.Eval(ctx, batch)
		if err != nil {
			return nil, apierror.OfExpression(what, err)
		}
		size := int64(a.Data().SizeInBytes())
		v.bytes += size
		return a, memory.FromContext(ctx).Take(ctx, size)
	}
	for _, key := range t.of.Keys {
		a, err := eval("GROUP BY", key)
		if err != nil {
			return nil, err
		}
		v.keys = append(v.keys, a)
	}
	for _, call := range t.of.Calls {
		var c callValues
		what := "the argument of " + string(call.Function)
		for _, arg := range call.Args {
			a, err := eval(what, arg)
			if err != nil {
				return nil, err
			}
			c.args = append(c.args, a)
		}
		if call.Filter != nil {
			a, err := eval("the filter of "+string(call.Function), call.Filter)
			if err != nil {
				return nil, err
			}
			c.counts = a.(*array.Boolean)
		}
		v.calls = append(v.calls, c)
	}
	return v, nil
}

// makeRoom takes memory for the groups and for the growth by a number of rows with the given keys. If there is not enough,
// it writes all groups to the sorter.
func (t *Table) makeRoom(ctx context.Context, keys []arrow.Array, rows int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.hold(ctx, keys, rows) || t.keys.Len() == 0 {
		return nil
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	t.hold(ctx, keys, rows) // so few rows may exceed the memory
	return nil
}

// hold takes memory for the groups after some more rows, and reports whether it was available.
func (t *Table) hold(ctx context.Context, keys []arrow.Array, rows int) bool {
	size := t.keys.Bytes() + t.states.bytes()
	if rows > 0 {
		size += t.keys.Growth(keys, rows) + t.states.growth(t.keys.Len()+rows)
	}
	return size <= t.max && t.held.TryResize(memory.WithShare(ctx, t.share), size)
}

// write writes all groups to the sorter.
func (t *Table) write(ctx context.Context) error {
	ctx = memory.WithShare(ctx, t.share)
	if t.sorter == nil {
		t.sorter = sortkey.NewSorter(ctx, sortkey.NoLimit, sorterBytes)
	}
	// Records of an earlier write sort before those of later ones, so that lists keep their order.
	t.writings++
	for from := 0; from < t.keys.Len(); from += look {
		if err := ctx.Err(); err != nil {
			return err
		}
		records := make([][]byte, min(look, t.keys.Len()-from))
		for i := range records {
			records[i] = t.record(from + i)
		}
		if err := t.sorter.Add(records); err != nil {
			return err
		}
	}
	t.clear()
	t.held.Release()
	return nil
}

// record encodes a group for the sorter.
func (t *Table) record(g int) []byte {
	record := t.keys.Key(nil, g)
	size := len(record)
	record = binary.BigEndian.AppendUint64(record, t.writings)
	record = t.states.write(g, record)
	return binary.BigEndian.AppendUint32(record, uint32(size))
}

// A group is one of some groups, with its key.
type group struct {
	key []byte
	of  *groups
	at  int
}

// Groups yields a row for each group: the columns of the grouping, and the lowest row id. The memory of a batch is charged
// to the context until the next one.
func (t *Table) Groups(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		out := newResults(ctx, t.of)
		defer out.held.Release()
		for g, err := range t.all(ctx) {
			var batch arrow.RecordBatch
			if err == nil {
				batch, err = out.add(g)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if batch != nil && !yield(batch, nil) {
				return
			}
		}
		if batch := out.rest(); batch != nil {
			yield(batch, nil)
		}
	}
}

// all yields the groups. Each is valid until the next one.
func (t *Table) all(ctx context.Context) iter.Seq2[group, error] {
	if t.sorter != nil {
		return t.merged(ctx)
	}
	return func(yield func(group, error) bool) {
		if len(t.of.Keys) == 0 && t.keys.Len() == 0 { // no rows are one group then
			t.states.grow(1)
			t.states.lowest[0] = 0
			yield(group{of: &t.states}, nil)
			return
		}
		var key []byte
		for i := range t.keys.Len() {
			if i%look == 0 && ctx.Err() != nil {
				yield(group{}, ctx.Err())
				return
			}
			key = t.keys.Key(key[:0], i)
			if !yield(group{key, &t.states, i}, nil) {
				return
			}
		}
	}
}

// merged yields the groups of all records.
func (t *Table) merged(ctx context.Context) iter.Seq2[group, error] {
	return func(yield func(group, error) bool) {
		// The groups in memory become the last records, so that the sorter has all of them.
		if err := t.write(ctx); err != nil {
			yield(group{}, err)
			return
		}
		defer t.held.Release()
		var open *group
		read := 0
		for record, err := range t.sorter.Sorted() {
			if read++; err == nil && read%look == 0 {
				err = ctx.Err()
			}
			if err != nil {
				yield(group{}, err)
				return
			}
			key := record[:binary.BigEndian.Uint32(record[len(record)-4:])]
			// A new key means that the open group is complete.
			if open == nil || !bytes.Equal(key, open.key) {
				if open != nil && !yield(*open, nil) {
					return
				}
				one := newGroups(t.of)
				one.grow(1)
				open = &group{key: bytes.Clone(key), of: &one}
			}
			part := record[len(key)+8:]
			// Merging needs memory for the record in addition to the group.
			if err := t.held.Resize(ctx, open.of.size(0)+appendFactor*int64(len(part))); err != nil {
				yield(group{}, err)
				return
			}
			open.of.merge(0, part)
			if err := t.held.Resize(ctx, open.of.size(0)); err != nil {
				yield(group{}, err)
				return
			}
		}
		if open != nil {
			yield(*open, nil)
		}
	}
}
