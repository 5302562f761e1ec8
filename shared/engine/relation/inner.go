package relation

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// inner replaces the queries in the expressions of a block by columns of further sources, which have one row each.
func (p *planner) inner(q *syntax.Query, b *syntax.Block) (*syntax.Query, *syntax.Block, []*relation, error) {
	var made []*relation
	replace := func(e syntax.Expr) (syntax.Expr, error) {
		return syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
			var r *relation
			var err error
			switch e := e.(type) {
			case *syntax.Scalar:
				r, err = p.scalar(e)
			case *syntax.Exists:
				r, err = p.exists(e)
			default:
				return nil, nil //nolint:nilnil // look inside
			}
			if err != nil {
				return nil, correlated(err, func() scope { return p.visible(b) })
			}
			made = append(made, r)
			return columnOf(r.scope[0].name), nil
		})
	}
	query, block := *q, *b
	var err error
	if block.Where, err = replace(b.Where); err != nil {
		return nil, nil, nil, err
	}
	block.Outputs = nil
	for _, out := range b.Outputs {
		if out.Expr, err = replace(out.Expr); err != nil {
			return nil, nil, nil, err
		}
		block.Outputs = append(block.Outputs, out)
	}
	query.Order = nil
	for _, key := range q.Order {
		if key.Expr, err = replace(key.Expr); err != nil {
			return nil, nil, nil, err
		}
		query.Order = append(query.Order, key)
	}
	return &query, &block, made, nil
}

// correlated returns the error of a query inside an expression. If that names a column of the query around it, the error
// says so. around returns the columns there.
func correlated(err error, around func() scope) error {
	var u *unseen
	if !errors.As(err, &u) {
		return err
	}
	if f, _, _ := around().find(u.column); f == nil {
		return err
	}
	return sql.Errorf(sql.ErrUnsupported, u.column.Pos(), "column %s of the query around this one (a correlated query): use a join", u.column)
}

// visible returns the columns of the sources of a block.
func (p *planner) visible(b *syntax.Block) scope {
	all := new(pool)
	if b.From != nil && p.gather(all, b.From) != nil {
		return nil
	}
	return all.scope()
}

// scalar plans a query as a value.
func (p *planner) scalar(s *syntax.Scalar) (*relation, error) {
	r, err := p.query(s.Query)
	if err != nil {
		return nil, err
	}
	if len(r.scope) != 1 {
		return nil, sql.Errorf(sql.ErrSyntax, s.Pos(), "a query as a value has %d columns; it has one", len(r.scope))
	}
	name := p.unique("(query)")
	below, err := p.project(r.step, []named{{name, columnOf(r.scope[0].column)}})
	if err != nil {
		return nil, err
	}
	return &relation{step: &value{from: below, pos: s.Pos()}, scope: scope{{name: name, column: name, inner: true}}}, nil
}

// A value is one row: that of the step below, or a null. More rows are an error.
type value struct {
	from step
	pos  int
}

func (v *value) schema() *arrow.Schema          { return arrow.NewSchema(nullable(v.from.schema(), true), nil) }
func (v *value) size() int64                    { return 1 }
func (v *value) push(syntax.Expr) (bool, error) { return false, nil }
func (v *value) prune(names)                    { v.from.prune(all(v.from.schema())) }

func (v *value) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var row arrow.RecordBatch
		for batch, err := range batchesOf(ctx, v.from) {
			if err == nil && batch.NumRows() > 0 && (row != nil || batch.NumRows() > 1) {
				err = sql.Errorf(sql.ErrValue, v.pos, "a query as a value has more than one row")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if batch.NumRows() > 0 {
				batch.Retain()
				row = batch
			}
		}
		s := v.schema()
		if row == nil {
			row = array.NewRecordBatch(s, []arrow.Array{take.Nulls(s.Field(0).Type, 1)}, 1)
		}
		yield(array.NewRecordBatch(s, row.Columns(), 1), nil)
	}
}

func (v *value) explain(ctx context.Context, w *writer) error {
	return w.step("%s", fmt.Sprint("Value: ", v.from.schema().Field(0).Name))(ctx, v.from)
}

// exists plans EXISTS. The query ends at its first row.
func (p *planner) exists(e *syntax.Exists) (*relation, error) {
	q := *e.Query
	if q.Limit == nil || *q.Limit > 1 {
		q.Limit = new(int64(1))
	}
	r, err := p.query(&q)
	if err != nil {
		return nil, err
	}
	name := p.unique("(exists)")
	out := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.FixedWidthTypes.Boolean}}, nil)
	return &relation{step: &existence{from: r.step, not: e.Not, out: out}, scope: scope{{name: name, column: name, inner: true}}}, nil
}

// An existence is one row: whether the step below has rows, or with not, whether it has none.
type existence struct {
	from step
	not  bool
	out  *arrow.Schema
}

func (e *existence) schema() *arrow.Schema          { return e.out }
func (e *existence) size() int64                    { return 1 }
func (e *existence) push(syntax.Expr) (bool, error) { return false, nil }

// prune reads one column, which is enough to find rows.
func (e *existence) prune(names) {
	s := e.from.schema()
	e.from.prune(namesOf(s.Field(smallest(s)).Name))
}

func (e *existence) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		found := false
		for batch, err := range batchesOf(ctx, e.from) {
			if err != nil {
				yield(nil, err)
				return
			}
			if found = batch.NumRows() > 0; found {
				break
			}
		}
		b := array.NewBooleanBuilder(arrowmemory.DefaultAllocator)
		b.Append(found != e.not)
		yield(array.NewRecordBatch(e.out, []arrow.Array{b.NewArray()}, 1), nil)
	}
}

func (e *existence) explain(ctx context.Context, w *writer) error {
	return w.step("Exists: %s", e.out.Field(0).Name)(ctx, e.from)
}
