package relation

import (
	"context"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A single is one row, for a query without FROM.
type single struct{}

// singleSchema has a column, because a batch without columns has no rows to compute.
var singleSchema = arrow.NewSchema([]arrow.Field{{Name: "", Type: arrow.PrimitiveTypes.Int8}}, nil)

func (single) schema() *arrow.Schema                        { return singleSchema }
func (single) size() int64                                  { return 1 }
func (single) push(syntax.Expr) (bool, error)               { return false, nil }
func (single) prune(names)                                  {}
func (single) explain(ctx context.Context, w *writer) error { return w.step("OneRow")(ctx) }

func (single) rows(context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) { yield(oneRow(), nil) }
}

func oneRow() arrow.RecordBatch {
	b := array.NewInt8Builder(arrowmemory.DefaultAllocator)
	b.Append(0)
	return array.NewRecordBatch(singleSchema, []arrow.Array{b.NewArray()}, 1)
}

// values plans VALUES: a union of rows, whose columns are called column1, column2 and so on.
func (p *planner) values(v *syntax.Values) (*relation, error) {
	list := make([]*relation, len(v.Rows))
	for i, row := range v.Rows {
		r := &relation{}
		var columns []named
		for k, e := range row {
			e, err := r.scope.resolve(e)
			if err != nil {
				return nil, err
			}
			name := "column" + strconv.Itoa(k+1)
			columns = append(columns, named{name, e})
		}
		for _, c := range columns {
			r.scope = append(r.scope, field{name: c.name, column: c.name})
		}
		var err error
		if r.step, err = p.project(single{}, columns); err != nil {
			return nil, err
		}
		list[i] = r
	}
	return p.concat(list, v.Pos())
}

// union plans UNION. Bodies in a row become one union.
func (p *planner) union(u *syntax.SetOperation) (*relation, error) {
	var bodies []syntax.Body
	var flatten func(b syntax.Body)
	flatten = func(b syntax.Body) {
		if inner, ok := b.(*syntax.SetOperation); ok && inner.Op == syntax.Union && (inner.All || !u.All) {
			flatten(inner.L)
			flatten(inner.R)
			return
		}
		bodies = append(bodies, b)
	}
	flatten(u.L)
	flatten(u.R)
	list := make([]*relation, len(bodies))
	for i, b := range bodies {
		var err error
		if list[i], err = p.body(b); err != nil {
			return nil, err
		}
	}
	r, err := p.concat(list, u.Pos())
	if err != nil || u.All {
		return r, err
	}
	return r, p.distinct(r)
}

// intersection plans INTERSECT and EXCEPT: the distinct rows of the left body that are, or are not, rows of the right one.
func (p *planner) intersection(o *syntax.SetOperation) (*relation, error) {
	left, err := p.body(o.L)
	if err != nil {
		return nil, err
	}
	right, err := p.body(o.R)
	if err != nil {
		return nil, err
	}
	columns, out, err := p.alike([]*relation{left, right}, o.Op, o.Pos())
	if err != nil {
		return nil, err
	}
	j := &join{kind: syntax.LeftSemi, nullsEqual: true}
	if o.Op == syntax.Except {
		j.kind = syntax.LeftAnti
	}
	if j.left, err = p.cast(left, columns, o.Pos()); err != nil {
		return nil, err
	}
	others := columns.Fields()
	for i, f := range columns.Fields() {
		others[i].Name = p.unique(f.Name)
		j.keys = append(j.keys, joinKey{left: columnOf(f.Name), right: columnOf(others[i].Name)})
	}
	if j.right, err = p.cast(right, arrow.NewSchema(others, nil), o.Pos()); err != nil {
		return nil, err
	}
	r := &relation{scope: out}
	if r.step, err = p.join(j); err != nil {
		return nil, err
	}
	return r, p.distinct(r)
}

// concat returns the rows of relations.
func (p *planner) concat(list []*relation, pos int) (*relation, error) {
	if len(list) == 1 {
		return list[0], nil
	}
	columns, out, err := p.alike(list, syntax.Union, pos)
	if err != nil {
		return nil, err
	}
	c := &concat{out: columns}
	for _, r := range list {
		part, err := p.cast(r, columns, pos)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, part)
	}
	return &relation{step: c, scope: out}, nil
}

// alike returns columns with the names that the first relation has, and types that fit all.
func (p *planner) alike(list []*relation, op syntax.SetOperator, pos int) (*arrow.Schema, scope, error) {
	var out scope
	var fields []arrow.Field
	for k, f := range list[0].scope {
		typ, nullable, err := p.typeOf(list, k, op, pos)
		if err != nil {
			return nil, nil, err
		}
		name := p.unique(f.name)
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: nullable})
		out = append(out, field{name: f.name, column: name})
	}
	return arrow.NewSchema(fields, nil), out, nil
}

// cast returns the rows of a relation with other names and types of their columns.
func (p *planner) cast(r *relation, to *arrow.Schema, pos int) (*project, error) {
	made := &project{from: r.step, out: to}
	for k, f := range r.scope {
		it := item{name: to.Field(k).Name, expr: columnOf(f.column)}
		from := r.step.schema().Field(r.step.schema().FieldIndices(f.column)[0])
		if arrow.TypeEqual(from.Type, to.Field(k).Type) {
			it.from = f.column
		} else {
			var err error
			it.typed = true
			if it.bound, err = plan.BindAs(p.ctx, it.expr, r.step.schema(), p.now, to.Field(k).Type); err != nil {
				return nil, sql.At(err, pos)
			}
		}
		made.items = append(made.items, it)
	}
	return made, nil
}

// typeOf returns the type of column k of all relations, and whether it may be null.
func (p *planner) typeOf(list []*relation, k int, op syntax.SetOperator, pos int) (arrow.DataType, bool, error) {
	var typ arrow.DataType
	nullable := false
	for i, r := range list {
		if len(r.scope) != len(list[0].scope) {
			return nil, false, sql.Errorf(sql.ErrSyntax, pos, "%s of %d and %d columns", op, len(list[0].scope), len(r.scope))
		}
		f := r.step.schema().Field(r.step.schema().FieldIndices(r.scope[k].column)[0])
		nullable = nullable || f.Nullable
		if i == 0 {
			typ = f.Type
			continue
		}
		var err error
		if typ, err = p.unify(typ, f.Type, pos); err != nil {
			return nil, false, err
		}
	}
	return typ, nullable, nil
}

// unify returns the type to which values of two types are cast.
func (p *planner) unify(a, b arrow.DataType, pos int) (arrow.DataType, error) {
	if arrow.TypeEqual(a, b) {
		return a, nil
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: a, Nullable: true}, {Name: "b", Type: b, Nullable: true}}, nil)
	both, err := plan.Bind(p.ctx, &syntax.Call{Name: "coalesce", Args: []syntax.Expr{columnOf("a"), columnOf("b")}}, s, p.now)
	if err != nil {
		return nil, sql.Errorf(sql.ErrType, pos, "values of types %s and %s have no common type", a, b)
	}
	return both.Type(), nil
}

// A concat yields the rows of its parts, one part after the other.
type concat struct {
	parts []step
	out   *arrow.Schema
}

func (c *concat) schema() *arrow.Schema { return c.out }

func (c *concat) size() (n int64) {
	for _, part := range c.parts {
		n += part.size()
	}
	return n
}

func (c *concat) push(syntax.Expr) (bool, error) { return false, nil }

func (c *concat) prune(needed names) {
	c.out = needed.of(c.out)
	for _, part := range c.parts {
		part.prune(needed)
	}
}

func (c *concat) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, part := range c.parts {
			for batch, err := range batchesOf(ctx, part) {
				if err == nil {
					batch = pick(c.out, batch)
				}
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
	}
}

func (c *concat) explain(ctx context.Context, w *writer) error {
	return w.step("Union")(ctx, c.parts...)
}

// A limit yields some of the rows.
type limit struct {
	from         step
	offset, most int64 // most is -1 without a limit
}

func (l *limit) schema() *arrow.Schema          { return l.from.schema() }
func (l *limit) push(syntax.Expr) (bool, error) { return false, nil }
func (l *limit) prune(needed names)             { l.from.prune(needed) }

func (l *limit) size() int64 {
	if l.most >= 0 {
		return min(l.most, l.from.size())
	}
	return l.from.size()
}

func (l *limit) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		skip, left := l.offset, l.most
		if left == 0 {
			return
		}
		for batch, err := range batchesOf(ctx, l.from) {
			if err != nil {
				yield(nil, err)
				return
			}
			from := min(skip, batch.NumRows())
			skip -= from
			to := batch.NumRows()
			if left >= 0 {
				to = min(to, from+left)
				left -= to - from
			}
			if to > from && !yield(batch.NewSlice(from, to), nil) || left == 0 {
				return
			}
		}
	}
}

func (l *limit) explain(ctx context.Context, w *writer) error {
	if l.most < 0 {
		return w.step("Limit: offset=%d", l.offset)(ctx, l.from)
	}
	return w.step("Limit: offset=%d limit=%d", l.offset, l.most)(ctx, l.from)
}
