package relation

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

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
	if j.nullsEqual {
		build += " nulls=equal"
	}
	return w.step("HashJoin: kind=%s on=[%s] in_memory=%s", j.kind, strings.Join(on, ", "), build)(ctx, j.left, j.right)
}

func (j *join) buildsLeft() bool { return !j.onlyLeft() && j.left.size() < j.right.size() }

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
		if r.nullsEqual && values.NullN() > 0 { // which a list does not find
			continue
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
