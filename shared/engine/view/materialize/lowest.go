package materialize

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/process/memory"
)

// A lowest keeps up to most view rows, from the source rows with the lowest ids. Rows of one source
// row keep their order.
type lowest struct {
	most  int64
	at    int // the column of the ids
	rows  []arrow.RecordBatch
	count int64
	held  memory.Hold
	// below is an upper bound: once there are enough rows, source rows with this id or a higher one are
	// not needed.
	below uint64
}

// idsOf returns a column of row ids, which has type uint64 or int64.
func idsOf(column arrow.Array) []uint64 {
	switch column := column.(type) {
	case *array.Uint64:
		return column.Uint64Values()
	case *array.Int64:
		ids := make([]uint64, column.Len())
		for i, id := range column.Int64Values() {
			ids[i] = uint64(id)
		}
		return ids
	}
	return nil
}

// add adds rows, and drops the surplus once there are far too many.
func (l *lowest) add(ctx context.Context, rows arrow.RecordBatch) error {
	if err := l.held.Resize(ctx, l.held.Bytes()+take.BatchBytes(rows)+16*rows.NumRows()); err != nil {
		return err
	}
	l.rows = append(l.rows, rows)
	l.count += rows.NumRows()
	if l.count >= l.most && l.below == math.MaxUint64 || l.count-l.most >= max(l.most, 8192) {
		return l.trim(ctx)
	}
	return nil
}

// trim drops the rows that are too many.
func (l *lowest) trim(ctx context.Context) error {
	if l.count < l.most {
		return nil
	}
	all := make([]uint64, 0, l.count)
	for _, rows := range l.rows {
		all = append(all, idsOf(rows.Column(l.at))...)
	}
	slices.Sort(all)
	l.below = all[l.most-1]
	first, _ := slices.BinarySearch(all, l.below)
	last := l.most - int64(first) // rows of the last row of the source
	var kept []arrow.RecordBatch
	bytes := int64(0)
	l.count = 0
	for _, rows := range l.rows {
		var places []int32
		for i, id := range idsOf(rows.Column(l.at)) {
			if id == l.below {
				last--
			}
			if id < l.below || id == l.below && last >= 0 {
				places = append(places, int32(i))
			}
		}
		if len(places) == 0 {
			continue
		}
		size := take.BatchBytes(rows)
		if err := l.held.Resize(ctx, l.held.Bytes()+size); err != nil {
			return err
		}
		some, err := take.Batch(rows, places)
		if err != nil {
			return err
		}
		kept = append(kept, some)
		bytes += size + 16*some.NumRows()
		l.count += some.NumRows()
	}
	l.rows = kept
	return l.held.Resize(ctx, bytes)
}

// lowest yields up to most rows, from the source rows with the lowest ids. It reads the source in
// storage order, and skips rows whose ids are too high.
func (o *output) lowest(ctx context.Context, most int64, batches iter.Seq2[arrow.RecordBatch, error], yield func(arrow.RecordBatch, error) bool) {
	l := lowest{most: most, at: o.schema.FieldIndices(selection.SourceRowID)[0], below: math.MaxUint64}
	defer l.held.Release()
	if err := o.keepLowest(ctx, &l, batches); err != nil {
		yield(nil, err)
		return
	}
	for _, rows := range l.rows {
		if !yield(rows, nil) {
			return
		}
	}
}

// keepLowest reads the source and keeps the rows with the lowest ids. It stops when no later
// fragment has an id lower than the kept ones.
func (o *output) keepLowest(ctx context.Context, l *lowest, batches iter.Seq2[arrow.RecordBatch, error]) error {
	lows := o.lows
	read, total := int64(0), o.version.CountRows()
	for batch, err := range batches {
		if err != nil {
			return err
		}
		read += batch.NumRows()
		var places []int32
		for i, id := range idsOf(batch.Column(int(batch.NumCols()) - 1)) {
			if id < l.below {
				places = append(places, int32(i))
			}
		}
		if len(places) > 0 {
			if err := o.makeLowest(ctx, l, batch, places); err != nil {
				return err
			}
		}
		o.progress(read, total, min(l.count, l.most))
		// Fragments that were read completely no longer matter.
		for len(lows) > 0 && lows[0].behind <= read {
			lows = lows[1:]
		}
		if !slices.ContainsFunc(lows, func(f low) bool { return f.id < l.below }) {
			break
		}
	}
	return l.trim(ctx)
}

// makeLowest makes the view rows for the rows of a batch at the given positions.
func (o *output) makeLowest(ctx context.Context, l *lowest, batch arrow.RecordBatch, places []int32) error {
	if int64(len(places)) < batch.NumRows() {
		held, err := memory.Take(ctx, take.BatchBytes(batch))
		if err != nil {
			return err
		}
		defer held.Release()
		if batch, err = take.Batch(batch, places); err != nil {
			return err
		}
	}
	for rows, err := range o.made(ctx, batch) {
		if err == nil && rows.NumRows() > 0 {
			err = l.add(ctx, rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A low is the lowest row id of a fragment, with the number of rows up to the end of the fragment.
type low struct {
	id     uint64
	behind int64
}

// lows returns the lowest ids of the fragments of the source, or nil if all ids ascend in storage order.
func (t *target) lows(ctx context.Context) ([]low, error) {
	var lows []low
	ascend, next, behind := true, uint64(0), int64(0)
	for _, f := range t.version.Fragments() {
		ids, err := f.StableIDs(ctx)
		if err != nil {
			return nil, err
		}
		behind += f.LiveRows()
		// Without stable ids, the ids of rows are their addresses.
		fragment := low{math.MaxUint64, behind}
		if ids == nil {
			ids = rowid.Range(f.Address(0), f.Address(f.Rows))
		}
		for first, last := range ids.Runs(0, ids.Len()) {
			ascend, next = ascend && first >= next, last+1
			fragment.id = min(fragment.id, first)
		}
		lows = append(lows, fragment)
	}
	if ascend {
		return nil, nil
	}
	return lows, nil
}
