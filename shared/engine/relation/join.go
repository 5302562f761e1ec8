package relation

import (
	"context"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A join finds pairs of rows with equal keys. It keeps one side, the build side, in memory with a table of its keys, and
// reads the other, the probe side, once. The build side is the smaller one, or the right one of a join that only returns
// rows of the left.
type join struct {
	kind        syntax.JoinKind
	left, right step
	keys        []joinKey
	rest        []syntax.Expr // other conditions of a pair
	nullsEqual  bool          // a null in a key equals a null
	nulls       bool          // an anti join by NOT IN: no row passes beside a null on the right, nor a null on the left beside any row

	leftKeys, rightKeys []*plan.Bound // of equal types
	condition           *plan.Bound   // of rest, over the columns of both sides; nil without
	both, out           *arrow.Schema
}

// A joinKey is an equality between both sides.
type joinKey struct {
	left, right syntax.Expr
	exact       bool // both are of one type
}

// keyOf returns a condition as an equality between both sides, or nil.
func keyOf(c syntax.Expr, left, right *arrow.Schema) *joinKey {
	b, ok := c.(*syntax.Binary)
	if !ok || b.Op != syntax.Eq {
		return nil
	}
	l, r := namesIn(b.L), namesIn(b.R)
	switch {
	case len(l) == 0 || len(r) == 0:
		return nil
	case l.within(left) && r.within(right):
		return &joinKey{left: b.L, right: b.R}
	case l.within(right) && r.within(left):
		return &joinKey{left: b.R, right: b.L}
	}
	return nil
}

// join binds the keys and the conditions of a join.
func (p *planner) join(j *join) (step, error) {
	j.both = arrow.NewSchema(append(nullable(j.left.schema(), j.kind == syntax.RightJoin || j.kind == syntax.FullJoin),
		nullable(j.right.schema(), j.kind == syntax.LeftJoin || j.kind == syntax.FullJoin)...), nil)
	j.out = j.both
	if j.onlyLeft() {
		j.out = j.left.schema()
	}
	for i, key := range j.keys {
		left, err := plan.Bind(p.ctx, key.left, j.left.schema(), p.now)
		if err != nil {
			return nil, err
		}
		right, err := plan.Bind(p.ctx, key.right, j.right.schema(), p.now)
		if err != nil {
			return nil, err
		}
		j.keys[i].exact = arrow.TypeEqual(left.Type(), right.Type())
		typ, err := p.unify(left.Type(), right.Type(), key.left.Pos())
		if err != nil {
			return nil, err
		}
		if err := hashable(typ, key.left.Pos()); err != nil {
			return nil, err
		}
		if left, err = plan.BindAs(p.ctx, key.left, j.left.schema(), p.now, typ); err != nil {
			return nil, err
		}
		if right, err = plan.BindAs(p.ctx, key.right, j.right.schema(), p.now, typ); err != nil {
			return nil, err
		}
		j.leftKeys, j.rightKeys = append(j.leftKeys, left), append(j.rightKeys, right)
	}
	if condition := syntax.Conjunction(j.rest); condition != nil {
		var err error
		if j.condition, err = plan.BindFilter(p.ctx, condition, j.both, p.now); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// nullable returns the fields of a side, which may be null if all of the side's columns may be missing.
func nullable(s *arrow.Schema, missing bool) []arrow.Field {
	fields := s.Fields()
	for i := range fields {
		fields[i].Nullable = fields[i].Nullable || missing
	}
	return fields
}

// onlyLeft reports whether the rows are rows of the left side.
func (j *join) onlyLeft() bool { return j.kind == syntax.LeftSemi || j.kind == syntax.LeftAnti }

func (j *join) schema() *arrow.Schema { return j.out }

func (j *join) size() int64 {
	switch {
	case j.onlyLeft():
		return j.left.size()
	case len(j.keys) == 0:
		return j.left.size() * max(1, j.right.size())
	}
	return max(j.left.size(), j.right.size())
}

// push selects rows of the side that has the columns, if no other rows appear without them.
func (j *join) push(condition syntax.Expr) (bool, error) {
	of := namesIn(condition)
	switch {
	case of.within(j.left.schema()) && j.kind != syntax.RightJoin && j.kind != syntax.FullJoin:
		return j.left.push(condition)
	case of.within(j.right.schema()) && (j.kind == syntax.InnerJoin || j.kind == syntax.RightJoin):
		return j.right.push(condition)
	}
	return false, nil
}

func (j *join) prune(needed names) {
	j.out = needed.of(j.out)
	if j.condition != nil {
		needed = needed.with(j.condition.Columns()...)
	}
	j.both = needed.of(j.both)
	side := func(s step, keys []*plan.Bound) {
		needed := all(needed.of(s.schema()))
		for _, key := range keys {
			needed = needed.with(key.Columns()...)
		}
		s.prune(needed)
	}
	side(j.left, j.leftKeys)
	side(j.right, j.rightKeys)
}

func (j *join) explain(ctx context.Context, w *writer) error {
	on := make([]string, 0, len(j.keys)+len(j.rest))
	for _, key := range j.keys {
		on = append(on, key.left.String()+" = "+key.right.String())
	}
	for _, c := range j.rest {
		on = append(on, c.String())
	}
	build := "right"
	if j.buildsLeft() {
		build = "left"
	}
	return w.step("HashJoin: kind=%s on=[%s] in_memory=%s", j.kind, strings.Join(on, ", "), build)(ctx, j.left, j.right)
}

func (j *join) buildsLeft() bool { return !j.onlyLeft() && j.left.size() < j.right.size() }

// A joining is a run of a join.
type joining struct {
	*join
	build, probe         side
	leftBuilt            bool // the build side is the left one
	keepBuild, keepProbe bool // rows without a match are in the result
	table                *hashTable
	rows                 arrow.RecordBatch // of the build side
	matched              []bool            // of the rows of the build side, with keepBuild
}

// A side of a run.
type side struct {
	step step
	keys []*plan.Bound
}

func (j *join) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	left, right := side{j.left, j.leftKeys}, side{j.right, j.rightKeys}
	keepLeft, keepRight := j.kind == syntax.LeftJoin || j.kind == syntax.FullJoin, j.kind == syntax.RightJoin || j.kind == syntax.FullJoin
	r := &joining{join: j, build: right, probe: left, keepBuild: keepRight, keepProbe: keepLeft}
	if j.buildsLeft() {
		r.build, r.probe, r.keepBuild, r.keepProbe, r.leftBuilt = left, right, keepLeft, keepRight, true
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		if err := r.load(ctx); err != nil {
			yield(nil, err)
			return
		}
		if r.nulls && r.table.nulls { // NOT IN a list with a null is never true
			return
		}
		if err := r.narrow(ctx); err != nil {
			yield(nil, err)
			return
		}
		for batch, err := range r.probe.step.rows(ctx) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !r.match(ctx, batch, yield) {
				return
			}
		}
		if r.keepBuild {
			r.unmatched(ctx, yield)
		}
	}
}

// load reads the build side. Its rows stay in memory until the context's share is closed.
func (r *joining) load(ctx context.Context) error {
	r.table = newHashTable(r.build.keys, r.nullsEqual)
	var batches []arrow.RecordBatch
	for batch, err := range r.build.step.rows(ctx) {
		if err != nil {
			return err
		}
		if _, err := memory.Take(ctx, take.BatchBytes(batch)); err != nil {
			return err
		}
		batch.Retain()
		batches = append(batches, batch)
		if err := r.table.add(ctx, batch); err != nil {
			return err
		}
	}
	var err error
	if batches == nil {
		r.rows, err = take.Concat(r.build.step.schema(), nil)
	} else {
		r.rows, err = joined(ctx, r.build.step.schema(), batches)
	}
	if r.keepBuild {
		r.matched = make([]bool, r.table.len())
	}
	return err
}

// mostNarrow bounds the rows of a build side whose keys become a condition of the probe side.
const mostNarrow = 256

// narrow makes the probe side read only rows with a key of a small build side, by an index of the table if it has one.
func (r *joining) narrow(ctx context.Context) error {
	if r.keepProbe || r.kind == syntax.LeftAnti || r.table.len() > mostNarrow || r.table.len() == 0 {
		return nil
	}
	for i, key := range r.join.keys {
		if !key.exact {
			continue
		}
		values, err := r.build.keys[i].Eval(ctx, r.rows)
		if err != nil {
			return err
		}
		list := literals(values)
		if list == nil {
			continue
		}
		e := key.left
		if r.leftBuilt {
			e = key.right
		}
		if _, err := r.probe.step.push(&syntax.In{X: e, List: list}); err != nil {
			return err
		}
	}
	return nil
}

// literals returns the distinct values of an array of integers or texts, or nil for other types, or if all are null.
func literals(a arrow.Array) (list []syntax.Expr) {
	seen := names{}
	for i := range a.Len() {
		if a.IsNull(i) || seen[a.ValueStr(i)] {
			continue
		}
		seen[a.ValueStr(i)] = true
		switch {
		case arrow.IsInteger(a.DataType().ID()):
			list = append(list, &syntax.Number{Text: a.ValueStr(i)})
		case a.DataType().ID() == arrow.STRING || a.DataType().ID() == arrow.LARGE_STRING:
			list = append(list, &syntax.Text{Value: a.ValueStr(i)})
		default:
			return nil
		}
	}
	return list
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
		case r.nulls && keys.null(i) && r.table.len() > 0: // null NOT IN (…) is null
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

// unmatched yields the rows of the build side that no row of the probe side has matched.
func (r *joining) unmatched(ctx context.Context, yield func(arrow.RecordBatch, error) bool) {
	var build []int32
	for i, has := range r.matched {
		if !has {
			build = append(build, int32(i))
		}
		if len(build) == mostPairs || len(build) > 0 && i == len(r.matched)-1 {
			if !r.yield(ctx, nil, nil, build, yield) {
				return
			}
			build = build[:0]
		}
	}
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
