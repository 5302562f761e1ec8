package relation

import (
	"context"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A project makes columns of expressions.
type project struct {
	from  step
	items []item
	out   *arrow.Schema
}

// An item is a column of a project.
type item struct {
	name  string
	expr  syntax.Expr // over the columns of the step below
	bound *plan.Bound // nil if expr is a column, which passes unchanged
	from  string      // that column
	typed bool        // bound also casts expr to another type
}

// A named is an expression with the name of its column.
type named struct {
	name string
	expr syntax.Expr
}

// project puts a project above a step. One that only renames columns of another project takes its place.
func (p *planner) project(s step, columns []named) (*project, error) {
	if below, ok := s.(*project); ok {
		if made := below.renamed(columns); made != nil {
			return made, nil
		}
	}
	made := &project{from: s}
	var fields []arrow.Field
	for _, c := range columns {
		it := item{name: c.name, expr: c.expr}
		if path, ok := c.expr.(*syntax.Column); ok && len(path.Path) == 1 {
			it.from = path.Path[0].Text
			f := s.schema().Field(s.schema().FieldIndices(it.from)[0])
			fields = append(fields, arrow.Field{Name: c.name, Type: f.Type, Nullable: f.Nullable, Metadata: f.Metadata})
		} else {
			var err error
			if it.bound, err = plan.Bind(p.ctx, c.expr, s.schema(), p.now); err != nil {
				return nil, err
			}
			fields = append(fields, arrow.Field{Name: c.name, Type: it.bound.Type(), Nullable: it.bound.Nullable()})
		}
		made.items = append(made.items, it)
	}
	made.out = arrow.NewSchema(fields, nil)
	return made, nil
}

// renamed returns the project with only some of its columns, under other names, or nil if an expression is more than a column.
func (p *project) renamed(columns []named) *project {
	made := &project{from: p.from}
	var fields []arrow.Field
	for _, c := range columns {
		path, ok := c.expr.(*syntax.Column)
		if !ok || len(path.Path) > 1 {
			return nil
		}
		at := p.out.FieldIndices(path.Path[0].Text)[0]
		it, f := p.items[at], p.out.Field(at)
		it.name, f.Name = c.name, c.name
		made.items, fields = append(made.items, it), append(fields, f)
	}
	made.out = arrow.NewSchema(fields, nil)
	return made
}

func (p *project) schema() *arrow.Schema { return p.out }
func (p *project) size() int64           { return p.from.size() }

// push passes on a condition over the expressions of columns, unless they have another value each time.
func (p *project) push(condition syntax.Expr) (bool, error) {
	of := map[string]*item{}
	for i := range p.items {
		of[p.items[i].name] = &p.items[i]
	}
	fits := true
	below, err := syntax.Rewrite(condition, func(e syntax.Expr) (syntax.Expr, error) {
		c, ok := e.(*syntax.Column)
		if !ok {
			return nil, nil //nolint:nilnil // look inside
		}
		it := of[c.Path[0].Text]
		switch {
		case it == nil: // a column that no step above reads
			fits = false
			return e, nil
		case it.from != "":
			return c.At(append([]syntax.Name{{Text: it.from, Quoted: true}}, c.Path[1:]...)), nil
		case len(c.Path) > 1 || it.typed || it.bound.Volatile() != "":
			fits = false
			return e, nil
		}
		return it.expr, nil
	})
	if err != nil || !fits {
		return false, err
	}
	return p.from.push(below)
}

func (p *project) prune(needed names) {
	var items []item
	read := names{}
	for _, it := range p.items {
		if !needed[it.name] {
			continue
		}
		items = append(items, it)
		if it.bound == nil {
			read[it.from] = true
			continue
		}
		read = read.with(it.bound.Columns()...)
	}
	p.items, p.out = items, needed.of(p.out)
	p.from.prune(read)
}

func (p *project) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return each(batchesOf(ctx, p.from), func(batch arrow.RecordBatch) (arrow.RecordBatch, func(), error) {
		var exprs []*plan.Bound
		for _, it := range p.items {
			if it.bound != nil {
				exprs = append(exprs, it.bound)
			}
		}
		made, held, err := evaluated(ctx, exprs, batch)
		if err != nil {
			return nil, nil, err
		}
		columns := make([]arrow.Array, len(p.items))
		for i, it := range p.items {
			if it.bound == nil {
				columns[i] = batch.Column(batch.Schema().FieldIndices(it.from)[0])
			} else {
				columns[i], made = made[0], made[1:]
			}
		}
		return array.NewRecordBatch(p.out, columns, batch.NumRows()), held.Release, nil
	})
}

func (p *project) explain(ctx context.Context, w *writer) error {
	texts := make([]string, len(p.items))
	same := true
	for i, it := range p.items {
		texts[i] = it.expr.String()
		if it.bound != nil || it.from != it.name {
			texts[i] += " AS " + it.name
			same = false
		}
	}
	if same {
		return w.explain(ctx, p.from)
	}
	return w.step("Project: columns=[%s]", strings.Join(texts, ", "))(ctx, p.from)
}
