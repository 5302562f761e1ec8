package plan

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn/text"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/syntax"
)

// A Bound is a compiled expression over the columns of a schema. It is immutable and safe for concurrent
// use.
type Bound struct {
	root     *expr.Node
	schema   *arrow.Schema
	columns  []int // indices of the columns it reads, ascending
	nullable bool
	volatile string // a function with a different value in each evaluation
	slice    int    // most rows that are evaluated at once
}

// Bind compiles an expression for its value, such as a computed column. Its errors wrap
// sql.ErrUnknownColumn, sql.ErrType, sql.ErrUnsupported or, for a constant that cannot be computed,
// sql.ErrValue.
//
// The bare name of a column matches exactly, or otherwise without regard to the case of ASCII letters.
// Inside the arguments of functions, and in backticks, it matches only exactly. Columns that are not
// stored, such as _rowid, are ordinary columns of the schema.
//
// now is the value of now(), current_date and similar functions, for every row.
//
// Bind folds constants within limits. Their bytes stay accounted to the context's share until the share is
// closed, because a Bound keeps the constants.
func Bind(ctx context.Context, e syntax.Expr, s *arrow.Schema, now time.Time) (*Bound, error) {
	return bind(ctx, e, planner{schema: s, now: now}, asIs, asIs)
}

// BindAs compiles an expression whose value is cast to a type, such as the type of the column that it is
// assigned to. A value that does not fit is sql.ErrValue.
func BindAs(ctx context.Context, e syntax.Expr, s *arrow.Schema, now time.Time, typ arrow.DataType) (*Bound, error) {
	return bind(ctx, e, planner{schema: s, now: now}, asIs, func(n *expr.Node) (*expr.Node, error) { return convertTo(n, typ) })
}

func asIs(n *expr.Node) (*expr.Node, error) { return n, nil }

// BindFilter binds an expression of type bool that selects rows. A call of regexp_match counts as the test
// whether it matches.
func BindFilter(ctx context.Context, e syntax.Expr, s *arrow.Schema, now time.Time) (*Bound, error) {
	b, err := bind(ctx, e, planner{schema: s, now: now}, func(n *expr.Node) (*expr.Node, error) { return matchesAsTests(n), nil }, asIs)
	if err != nil {
		return nil, err
	}
	if id := b.Type().ID(); id != arrow.BOOL {
		return nil, sql.Errorf(sql.ErrType, e.Pos(), "a filter must be of type bool, not %s", b.Type())
	}
	return b, nil
}

// bind runs the stages from plan to prepare. adapt is the additional stage of filters between resolve and
// coerce; it comes before coerce because the result of regexp_match is a list, which cannot be an operand
// of AND. convert is applied to the root once its type is known.
func bind(ctx context.Context, e syntax.Expr, p planner, adapt, convert func(n *expr.Node) (*expr.Node, error)) (*Bound, error) {
	n, err := p.plan(e)
	if err != nil {
		return nil, err
	}
	return finish(ctx, n, p, resolve, adapt, coerce, convert)
}

// finish runs the given stages on a planned node, and then the common stages of all expressions.
func finish(ctx context.Context, n *expr.Node, p planner, stages ...func(n *expr.Node) (*expr.Node, error)) (*Bound, error) {
	m := meter.ForPlan(ctx)
	defer m.SettlePlan()
	simplify := func(n *expr.Node) (*expr.Node, error) { return simplify(m, n) }
	prepare := func(n *expr.Node) (*expr.Node, error) { return preparer{m, map[expr.Key]*expr.Node{}}.prepare(n) }
	for _, stage := range append(stages, simplify, prepare) {
		err := ctx.Err()
		if err != nil {
			return nil, err
		}
		if n, err = stage(n); err != nil {
			return nil, err
		}
		if err = n.CheckSize(); err != nil {
			return nil, err
		}
	}
	if n.Type.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "intervals other than to add and subtract")
	}
	return bound(n, p.schema, p.volatile), nil
}

// bound returns the compiled expression over the columns of a schema.
func bound(n *expr.Node, s *arrow.Schema, volatile string) *Bound {
	b := &Bound{root: n, schema: s, nullable: n.Nullable(true), volatile: volatile}
	b.collect(n)
	slices.Sort(b.columns)
	b.columns = slices.Compact(b.columns)
	bits, wide := rowBits(n)
	if b.slice = max(meter.SliceBytes/4*8/max(bits, 1), sliceRows); wide {
		b.slice = sliceRows
	}
	return b
}

// matchesAsTests turns calls of regexp_match into tests for NULL, at the top of a filter
// and below AND, OR and NOT there.
func matchesAsTests(n *expr.Node) *expr.Node {
	switch {
	case n.Op == expr.OpAnd || n.Op == expr.OpOr || n.Op == expr.OpNot:
		args := make([]*expr.Node, len(n.Args))
		for i, a := range n.Args {
			args[i] = matchesAsTests(a)
		}
		return n.With(args...)
	case n.Op == expr.OpCall && n.Func.Name == "regexp_match":
		return &expr.Node{Op: expr.OpIsNull, Not: true, Args: []*expr.Node{n}, Pos: n.Pos}
	}
	return n
}

// A preparer computes, once, all that depends on constant arguments only: sets of IN lists, patterns.
type preparer struct {
	m      *meter.Meter
	leaves map[expr.Key]*expr.Node
}

// prepare prepares a node after its arguments: it sets the leaf and whether the value is constant, and
// compiles constant lists and patterns.
func (p preparer) prepare(n *expr.Node) (*expr.Node, error) {
	if n.Op == expr.OpCol {
		return p.withLeaf(n.Copy()), nil
	}
	if len(n.Args) == 0 {
		return n, nil
	}
	args := make([]*expr.Node, len(n.Args))
	for i, a := range n.Args {
		var err error
		if args[i], err = p.prepare(a); err != nil {
			return nil, err
		}
	}
	n = p.withLeaf(n.With(args...))
	n.Fixed = isConstant(n)
	switch {
	case n.Op == expr.OpIn:
		if set := prepareIn(n); set != nil {
			n.Ready = set
		}
	case n.Op == expr.OpIsNull && args[0].Op == expr.OpCall && args[0].Func.Name == "regexp_match":
		n.Args[0] = text.MatchAsFound(args[0])
	case n.Op == expr.OpLike && args[1].Op == expr.OpLit && !args[1].IsNullLiteral() && args[1].Value.Bytes() <= maxPrepared:
		n.Ready = text.NewLikePattern(args[1].Value.Data.(column.Text).At(0), n.Fold)
	case n.Op == expr.OpCall && n.Func.Prepare != nil:
		ready, err := n.Func.Prepare(p.m, n)
		if err != nil {
			return nil, err
		}
		n.Ready = ready
	}
	return n, nil
}

// withLeaf sets the leaf of a node whose arguments already have leaves.
func (p preparer) withLeaf(n *expr.Node) *expr.Node {
	switch {
	case n.IsLeaf():
		key := n.Key()
		if p.leaves[key] == nil {
			p.leaves[key] = n
		}
		n.Leaf = p.leaves[key]
	case n.Op != expr.OpCall || n.Func.PerRow == nil:
		for _, a := range n.Args {
			if a.Op == expr.OpLit || a.Fixed {
				continue
			}
			if a.Leaf == nil || n.Leaf != nil && n.Leaf != a.Leaf {
				n.Leaf = nil
				break
			}
			n.Leaf = a.Leaf
		}
	}
	return n
}

// isConstant reports whether all arguments of an operation are constants. It is false without arguments.
func isConstant(n *expr.Node) bool {
	for _, a := range n.Args {
		if a.Op != expr.OpLit && !a.Fixed {
			return false
		}
	}
	return len(n.Args) > 0 && !(n.Op == expr.OpCall && n.Func.PerRow != nil)
}

// maxPrepared bounds the patterns of LIKE that Bind prepares.
const maxPrepared = 64 << 10

// collect records the columns below a node. It runs after simplify, which may have removed some columns.
func (b *Bound) collect(n *expr.Node) {
	if n.Op == expr.OpCol {
		b.columns = append(b.columns, n.Index)
	}
	for _, a := range n.Args {
		b.collect(a)
	}
}

// Type returns the type of the values. A dictionary counts as the type of its items.
func (b *Bound) Type() arrow.DataType { return b.root.Type }

// Column returns the name of the column if the expression is a single column.
func (b *Bound) Column() (name string, ok bool) {
	if b.root.Op != expr.OpCol {
		return "", false
	}
	return b.schema.Field(b.root.Index).Name, true
}

// Path returns the names of a column and its struct members, if the expression consists only of them.
func (b *Bound) Path() (path []string, ok bool) { return pathOf(b.root, b.schema) }

// pathOf returns the path of a node that is a column or a member of one.
func pathOf(n *expr.Node, s *arrow.Schema) (path []string, ok bool) {
	for ; n.Op == expr.OpMember; n = n.Args[0] {
		path = append(path, n.Name)
	}
	if n.Op != expr.OpCol {
		return nil, false
	}
	path = append(path, s.Field(n.Index).Name)
	slices.Reverse(path)
	return path, true
}

// Volatile returns the name of a function in the expression whose value does not depend on its arguments
// alone, such as now or random, and "" if there is none.
func (b *Bound) Volatile() string { return b.volatile }

// Nullable reports whether the values may be NULL, by the nullability in the schema.
func (b *Bound) Nullable() bool { return b.nullable }

// Columns returns the names of the top-level columns that the expression reads, in the
// order of the schema. A column that cannot change the value may be missing.
func (b *Bound) Columns() []string {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = b.schema.Field(c).Name
	}
	return names
}

// Eval computes the expression for every row of a batch. It finds the batch's columns by name; they must
// have the types of the schema. Errors wrap sql.ErrValue, sql.ErrUnsupported, sql.ErrUnknownColumn,
// sql.ErrType or sql.ErrTooLarge, or are *memory.Error or the error of the context.
//
// During Eval, intermediate values are accounted to the context's share. The caller accounts for the
// returned values.
func (b *Bound) Eval(ctx context.Context, rec arrow.RecordBatch) (arrow.Array, error) {
	if rec.NumRows() == 0 {
		return column.Empty(b.root.Type), nil
	}
	arr, err := b.evaluate(ctx, rec)
	return arr, sql.At(err, b.root.Pos)
}

// Select returns the numbers of the rows for which the expression, of type bool, is TRUE, in ascending
// order. It considers only the rows in among, which has one bit per row, the first row in the lowest bit of
// the first word; nil selects all rows. Its errors are the same as those of Eval.
func (b *Bound) Select(ctx context.Context, rec arrow.RecordBatch, among []uint64) ([]int32, error) {
	if b.root.Type.ID() != arrow.BOOL {
		return nil, sql.Errorf(sql.ErrType, b.root.Pos, "only a bool selects rows, not %s", b.root.Type)
	}
	if rec.NumRows() == 0 {
		return nil, nil
	}
	m := meter.New(ctx)
	defer m.End()
	var dst []int32
	err := b.slices(m, rec, among, func(from, n int, v column.Vec) error {
		selected := compute.Truth(compute.Spread(v, n), true)
		if among != nil {
			selected = column.And(selected, column.Bitset(among).Slice(from, n))
		}
		count := selected.Count()
		if err := m.Take(4 * count); err != nil {
			return err
		}
		m.Retain(4 * count)
		if len(dst)+count > cap(dst) { // extrapolated from the slices so far
			dst = slices.Grow(dst, count*int(rec.NumRows()-int64(from))/n+1)
		}
		out := dst
		for w, word := range selected {
			for ; word != 0; word &= word - 1 {
				out = append(out, int32(from+w<<6+bits.TrailingZeros64(word)))
			}
		}
		dst = out
		return nil
	})
	if dst == nil && err == nil {
		dst = []int32{}
	}
	return dst, sql.At(err, b.root.Pos)
}
