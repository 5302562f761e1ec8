package relation

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A joining is a run of a join.
type joining struct {
	*join
	build, probe         side
	leftBuilt            bool  // the build side is the left one
	keepBuild, keepProbe bool  // rows without a match are in the result
	most                 int64 // bytes of the build side in memory
	table                *hashTable
	rows                 arrow.RecordBatch // of the build side
	matched              []bool            // of the rows of the build side, with keepBuild
	held                 memory.Hold       // of rows
	divided              *division         // of a build side that is larger; nil
	hasRows, hasNulls    bool              // of the whole build side: it has rows, and nulls among its keys
}

// A side of a run.
type side struct {
	step step
	keys []*plan.Bound
}

func (j *join) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	left, right := side{j.left, j.leftKeys}, side{j.right, j.rightKeys}
	keepLeft, keepRight := j.kind == syntax.LeftJoin || j.kind == syntax.FullJoin, j.kind == syntax.RightJoin || j.kind == syntax.FullJoin
	r := &joining{join: j, build: right, probe: left, keepBuild: keepRight, keepProbe: keepLeft, most: memoryOf(ctx)}
	if j.buildsLeft() {
		r.build, r.probe, r.keepBuild, r.keepProbe, r.leftBuilt = left, right, keepLeft, keepRight, true
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer r.close()
		err := r.load(ctx)
		switch {
		case err != nil:
		case r.nulls && r.hasNulls: // NOT IN a list with a null is never true
		case !r.hasRows && !r.keepProbe && r.kind != syntax.LeftAnti: // no row can match
		case r.divided != nil:
			err = r.parts(ctx, yield)
		default:
			if err = r.narrow(ctx); err == nil {
				err = r.matchAll(ctx, batchesOf(ctx, r.probe.step), yield)
			}
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough means that no more rows are asked for.
var errEnough = errors.New("no more rows are asked for")

// close releases the memory and the scratch files.
func (r *joining) close() {
	r.clear()
	if r.divided != nil {
		r.divided.close()
	}
}

// clear drops the build side.
func (r *joining) clear() {
	if r.table != nil {
		r.table.held.Release()
	}
	r.held.Release()
	r.table, r.rows, r.matched = nil, nil, nil
}

// load reads the build side. If it does not fit into memory, it is divided.
func (r *joining) load(ctx context.Context) error {
	r.table = newHashTable(r.build.keys, r.nullsEqual)
	var batches []arrow.RecordBatch
	for batch, err := range batchesOf(ctx, r.build.step) {
		if err != nil {
			return err
		}
		r.hasRows = r.hasRows || batch.NumRows() > 0
		if r.divided == nil {
			kept, err := r.keep(ctx, batch)
			if err != nil {
				return err
			}
			if kept {
				batch.Retain()
				batches = append(batches, batch)
				continue
			}
			if err := r.divide(ctx, batches); err != nil {
				return err
			}
			batches = nil
		}
		if err := r.divided.build.add(ctx, batch); err != nil {
			return err
		}
	}
	if r.divided != nil {
		r.hasNulls = r.divided.build.nulls
		return r.divided.build.end()
	}
	r.hasNulls = r.table.nulls
	return r.index(ctx, batches)
}

// keep takes memory for a batch of the build side and adds its keys to the table, and reports whether there was enough.
func (r *joining) keep(ctx context.Context, batch arrow.RecordBatch) (bool, error) {
	before := r.held.Bytes()
	size := before + 2*take.BatchBytes(batch) // twice, for the rows of all batches as one
	divisible := len(r.build.keys) > 0
	if divisible && size+r.table.bytes() > r.most {
		return false, nil
	}
	err := r.held.Resize(ctx, size)
	if err == nil {
		if err = r.table.add(ctx, batch); err != nil {
			err = errors.Join(err, r.held.Resize(ctx, before))
		}
	}
	if divisible && memory.TooMuch(err) {
		return false, nil
	}
	return err == nil, err
}

// index makes the build side of its batches.
func (r *joining) index(ctx context.Context, batches []arrow.RecordBatch) (err error) {
	if r.rows, err = take.Concat(r.build.step.schema(), batches); err != nil {
		return err
	}
	if r.keepBuild {
		r.matched = make([]bool, r.table.len())
	}
	return r.held.Resize(ctx, r.held.Bytes()/2)
}

// matchAll yields the pairs with the rows of the probe side, and the rows without a match.
func (r *joining) matchAll(ctx context.Context, probe iter.Seq2[arrow.RecordBatch, error], yield func(arrow.RecordBatch, error) bool) error {
	for batch, err := range probe {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if !r.match(ctx, batch, yield) {
			return errEnough
		}
	}
	if r.keepBuild && !r.unmatched(ctx, yield) {
		return errEnough
	}
	return nil
}

// mostPairs bounds the rows of a batch of pairs.
const mostPairs = 8192

// match yields the rows that a batch of the probe side makes. It returns false when no more are asked for.
func (r *joining) match(ctx context.Context, batch arrow.RecordBatch, yield func(arrow.RecordBatch, error) bool) bool {
	keys, err := r.table.find(ctx, r.probe.keys, batch)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer keys.release()
	found := make([]bool, batch.NumRows())
	var probe, build []int32
	flush := func() bool {
		more := len(probe) == 0 || r.pairs(ctx, batch, probe, build, found, yield)
		probe, build = probe[:0], build[:0]
		return more
	}
	for i, number := range keys.numbers {
		for at := r.table.first(number); at >= 0; at = r.table.next[at] {
			if r.onlyLeft() && r.condition == nil {
				found[i] = true
				break
			}
			if probe, build = append(probe, int32(i)), append(build, at); len(probe) == mostPairs && !flush() {
				return false
			}
		}
	}
	if !flush() {
		return false
	}
	return r.alone(ctx, batch, keys, found, yield)
}

// pairs yields the pairs that meet the other conditions, and notes whose rows have a match.
func (r *joining) pairs(ctx context.Context, batch arrow.RecordBatch, probe, build []int32, found []bool, yield func(arrow.RecordBatch, error) bool) bool {
	if r.condition != nil {
		both, release, err := r.side(ctx, r.both, batch, probe, build)
		var passed []int32
		if err == nil {
			passed, err = r.condition.Select(ctx, both, nil)
			release()
		}
		if err != nil {
			yield(nil, err)
			return false
		}
		for i, at := range passed {
			probe[i], build[i] = probe[at], build[at]
		}
		probe, build = probe[:len(passed)], build[:len(passed)]
	}
	for i := range probe {
		found[probe[i]] = true
		if r.matched != nil {
			r.matched[build[i]] = true
		}
	}
	if r.onlyLeft() || len(probe) == 0 {
		return true
	}
	return r.yield(ctx, batch, probe, build, yield)
}

// alone yields the rows of the probe side that are in the result by having a match, or none.
func (r *joining) alone(ctx context.Context, batch arrow.RecordBatch, keys *rowKeys, found []bool, yield func(arrow.RecordBatch, error) bool) bool {
	var rows []int32
	for i, has := range found {
		switch {
		case r.nulls && keys.null(i) && r.hasRows: // null NOT IN (…) is null
		case r.kind == syntax.LeftSemi && has, r.kind == syntax.LeftAnti && !has, r.keepProbe && !has:
			rows = append(rows, int32(i))
		}
	}
	switch {
	case rows == nil:
		return true
	case r.onlyLeft():
		made, release, err := chosen(ctx, pick(r.out, batch), rows)
		if err != nil {
			yield(nil, err)
			return false
		}
		defer release()
		return yield(made, nil)
	}
	missing := make([]int32, len(rows))
	for i := range missing {
		missing[i] = take.Null
	}
	return r.yield(ctx, batch, rows, missing, yield)
}

// unmatched yields the rows of the build side that no row of the probe side has matched. It returns false when no more are
// asked for.
func (r *joining) unmatched(ctx context.Context, yield func(arrow.RecordBatch, error) bool) bool {
	var build []int32
	for i, has := range r.matched {
		if !has {
			build = append(build, int32(i))
		}
		if len(build) == mostPairs || len(build) > 0 && i == len(r.matched)-1 {
			if !r.yield(ctx, nil, nil, build, yield) {
				return false
			}
			build = build[:0]
		}
	}
	return true
}

// yield yields pairs of rows.
func (r *joining) yield(ctx context.Context, batch arrow.RecordBatch, probe, build []int32, yield func(arrow.RecordBatch, error) bool) bool {
	made, release, err := r.side(ctx, r.out, batch, probe, build)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer release()
	return yield(made, nil)
}

// side returns the columns of a schema of pairs of rows. Without a batch, the columns of the probe side are null.
func (r *joining) side(ctx context.Context, s *arrow.Schema, batch arrow.RecordBatch, probe, build []int32) (arrow.RecordBatch, func(), error) {
	var held memory.Hold
	columns := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		from, rows := r.rows, build
		if !r.rows.Schema().HasField(f.Name) {
			from, rows = batch, probe
		}
		var err error
		if from == nil {
			columns[i] = take.Nulls(f.Type, len(build))
		} else {
			c := from.Column(from.Schema().FieldIndices(f.Name)[0])
			if err = held.Resize(ctx, held.Bytes()+take.Bytes(c, rows)); err == nil {
				columns[i], err = take.Array(c, rows)
			}
		}
		if err != nil {
			held.Release()
			return nil, nil, err
		}
	}
	return array.NewRecordBatch(s, columns, int64(len(build))), held.Release, nil
}
