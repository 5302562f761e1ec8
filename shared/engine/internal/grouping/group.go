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
	// roomStep is the growth of groups in bytes after which the memory is checked.
	roomStep = 1 << 20
)

// A Table groups rows. The caller must close it.
type Table struct {
	of       *plan.Grouping
	keys     []sortkey.Append
	calls    []*sharing
	max      int64         // the limit of size: tableBytes or less
	share    *memory.Share // the memory account of the groups
	writings uint64

	found  map[string]*group
	short  bool              // a key is one number of at most 8 bytes
	words  map[uint64]*group // with short, groups whose key is no null
	order  []*group
	size   int64 // of the groups
	held   memory.Hold
	sorter *sortkey.Sorter // nil until memory was short
}

// A group is the state of a group of rows.
type group struct {
	key    string
	lowest uint64 // row id
	states []state
	size   int64 // memory of the states beyond stateBytes each
}

// groupBytes is the approximate memory of a group without its key and its states.
const groupBytes = 112

// New returns a table without groups. Its groups take memory from the context.
func New(ctx context.Context, of *plan.Grouping) *Table {
	t := &Table{of: of, max: tableBytes, share: memory.FromContext(ctx), found: map[string]*group{}, words: map[uint64]*group{}}
	t.short = len(of.Keys) == 1 && sortkey.HavePairs(of.Keys[0].Type())
	if limit := t.share.Limit(); limit > 0 {
		t.max = min(t.max, limit/tableShare)
	}
	for _, key := range of.Keys {
		t.keys = append(t.keys, sortkey.Of(key.Type(), true))
	}
	for _, call := range of.Calls {
		t.calls = append(t.calls, sharingOf(call))
	}
	return t
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
	var key []byte
	for i := range int(batch.NumRows()) {
		if i%look == 0 || t.size-t.held.Bytes() > roomStep {
			if err := t.makeRoom(ctx); err != nil {
				return err
			}
		}
		key = key[:0]
		for k, write := range t.keys {
			key = write(key, values.keys[k], i)
		}
		g := t.at(key, ids[i])
		for c, call := range values.calls {
			// The filter of a call decides which rows count.
			if call.counts == nil || call.counts.IsValid(i) && call.counts.Value(i) {
				grown := int64(g.states[c].add(call.args, i))
				g.size, t.size = g.size+grown, t.size+grown
			}
		}
	}
	return t.makeRoom(ctx)
}

// at returns the group with a key, and updates its lowest row id with id.
func (t *Table) at(key []byte, id uint64) *group {
	short := t.short && len(key) > 1
	var g *group
	if short {
		g = t.words[sortkey.Word(key)]
	} else {
		g = t.found[string(key)]
	}
	if g == nil {
		g = t.newGroup(string(key), id)
		if short {
			t.words[sortkey.Word(key)] = g
		} else {
			t.found[g.key] = g
		}
		t.order = append(t.order, g)
		t.size += groupBytes + int64(len(key)) + stateBytes*int64(len(g.states))
	}
	g.lowest = min(g.lowest, id)
	return g
}

// newGroup returns a group without rows.
func (t *Table) newGroup(key string, lowest uint64) *group {
	g := &group{key: key, lowest: lowest, states: make([]state, len(t.of.Calls))}
	for i, call := range t.calls {
		g.states[i] = newState(call)
	}
	return g
}

// values are the evaluated keys and arguments of a batch.
type values struct {
	keys  []arrow.Array
	calls []callValues
}

// callValues are the arguments of one function.
type callValues struct {
	args   []arrow.Array
	counts *array.Boolean // whether a row counts; nil: all rows count
}

// evaluate computes the keys, arguments and filters of a batch, and takes memory for them.
func (t *Table) evaluate(ctx context.Context, batch arrow.RecordBatch) (*values, error) {
	eval := func(what string, b *plan.Bound) (arrow.Array, error) {
		a, err := b.Eval(ctx, batch)
		if err != nil {
			return nil, apierror.OfExpression(what, err)
		}
		return a, memory.FromContext(ctx).Take(ctx, int64(a.Data().SizeInBytes()))
	}
	v := &values{}
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

// makeRoom takes memory for the growth of groups. If there is not enough, it writes all groups to
// the sorter.
func (t *Table) makeRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.size <= t.max && t.held.TryResize(memory.WithShare(ctx, t.share), t.size) {
		return nil
	}
	return t.write(ctx)
}

// write writes all groups to the sorter.
func (t *Table) write(ctx context.Context) error {
	ctx = memory.WithShare(ctx, t.share)
	if t.sorter == nil {
		t.sorter = sortkey.NewSorter(ctx, sortkey.NoLimit, sorterBytes)
	}
	// Records of an earlier write sort before those of later ones, so that lists keep their order.
	t.writings++
	for len(t.order) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := t.order[:min(len(t.order), look)]
		records := make([][]byte, len(some))
		written := int64(0)
		for i, g := range some {
			records[i] = t.record(g)
			written += int64(len(g.key)+len(records[i])) + groupBytes
			if t.short && len(g.key) > 1 {
				delete(t.words, sortkey.Word([]byte(g.key)))
			} else {
				delete(t.found, g.key)
			}
			some[i] = nil
		}
		t.order = t.order[len(some):]
		// Release the memory of the written groups step by step, because the sorter needs memory as well.
		t.held.TryResize(ctx, max(0, t.held.Bytes()-written))
		if err := t.sorter.Add(records); err != nil {
			return err
		}
	}
	t.found, t.words, t.order, t.size = map[string]*group{}, map[uint64]*group{}, nil, 0
	t.held.Release()
	return nil
}

// record encodes a group for the sorter.
func (t *Table) record(g *group) []byte {
	record := make([]byte, 0, len(g.key)+24+stateBytes*len(g.states))
	record = append(record, g.key...)
	record = binary.BigEndian.AppendUint64(record, t.writings)
	record = binary.BigEndian.AppendUint64(record, g.lowest)
	for _, s := range g.states {
		record = s.write(record)
	}
	return binary.BigEndian.AppendUint32(record, uint32(len(g.key)))
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
func (t *Table) all(ctx context.Context) iter.Seq2[*group, error] {
	if t.sorter == nil {
		if len(t.of.Keys) == 0 && len(t.order) == 0 { // no rows are one group then
			t.order = append(t.order, t.newGroup("", 0))
		}
		return func(yield func(*group, error) bool) {
			for i, g := range t.order {
				if i%look == 0 && ctx.Err() != nil {
					yield(nil, ctx.Err())
					return
				}
				if !yield(g, nil) {
					return
				}
			}
		}
	}
	return func(yield func(*group, error) bool) {
		// The groups in memory become the last records, so that the sorter has all of them.
		if err := t.write(ctx); err != nil {
			yield(nil, err)
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
				yield(nil, err)
				return
			}
			key := record[:binary.BigEndian.Uint32(record[len(record)-4:])]
			// A new key means that the open group is complete.
			if open == nil || !bytes.Equal(key, []byte(open.key)) {
				if open != nil && !yield(open, nil) {
					return
				}
				open = t.newGroup(string(key), ^uint64(0))
			}
			part := record[len(key)+8:]
			// Merging needs memory for the record in addition to the group.
			if err := t.held.Resize(ctx, open.size+appendFactor*int64(len(part))); err != nil {
				yield(nil, err)
				return
			}
			open.merge(part)
			if err := t.held.Resize(ctx, open.size); err != nil {
				yield(nil, err)
				return
			}
		}
		if open != nil {
			yield(open, nil)
		}
	}
}

// merge adds the state of another record of the group. part is the record without its key and write
// number.
func (g *group) merge(part []byte) {
	g.lowest = min(g.lowest, binary.BigEndian.Uint64(part))
	part = part[8:]
	for _, s := range g.states {
		var more int
		part, more = s.merge(part)
		g.size += int64(more)
	}
}
