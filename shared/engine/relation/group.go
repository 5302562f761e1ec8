package relation

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/grouping"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A group makes one row of each group of rows with equal keys: the keys, and the results of aggregate functions. Without
// keys all rows are one group, also if there are none. The rows below it have one column for each key and each argument.
type group struct {
	from *project
	of   *plan.Grouping
	text string
	out  *arrow.Schema

	parted *parted // nil if parts cannot make the groups
}

// An aggregation finds keys and calls of aggregate functions in expressions, and replaces them by columns.
type aggregation struct {
	p     *planner
	keys  []named
	calls []named
}

// key adds a key of GROUP BY.
func (a *aggregation) key(e syntax.Expr) {
	if a.find(a.keys, e) == nil {
		a.keys = append(a.keys, named{a.p.unique(legible(e)), e})
	}
}

// legible returns an expression without the quotes around the names of columns, for the name of a column in plans.
func legible(e syntax.Expr) string { return strings.ReplaceAll(e.String(), "`", "") }

func (a *aggregation) find(in []named, e syntax.Expr) *named {
	for i := range in {
		if in[i].expr.String() == e.String() {
			return &in[i]
		}
	}
	return nil
}

// over returns an expression over the columns of the groups.
func (a *aggregation) over(e syntax.Expr) (syntax.Expr, error) {
	return syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		if key := a.find(a.keys, e); key != nil {
			return columnOf(key.name), nil
		}
		switch e := e.(type) {
		case *syntax.Call:
			if !aggregates(e) {
				return nil, nil //nolint:nilnil // look inside
			}
			if call := a.find(a.calls, e); call != nil {
				return columnOf(call.name), nil
			}
			a.calls = append(a.calls, named{a.p.unique(legible(e)), e})
			return columnOf(a.calls[len(a.calls)-1].name), nil
		case *syntax.Column:
			for n := len(e.Path) - 1; n > 0; n-- {
				if key := a.find(a.keys, e.At(e.Path[:n])); key != nil {
					return e.At(append([]syntax.Name{{Text: key.name, Quoted: true}}, e.Path[n:]...)), nil
				}
			}
			return nil, sql.Errorf(sql.ErrUnknownColumn, e.Pos(), "column %s has no value for a group: it must be in GROUP BY or in an aggregate function", e.Path[0].Text)
		}
		return nil, nil //nolint:nilnil // look inside
	})
}

// step puts the groups above a step.
func (a *aggregation) step(from step) (*group, error) {
	var below []named
	var texts []string
	column := func(prefix string, e syntax.Expr) syntax.Expr {
		name := prefix + strconv.Itoa(len(below))
		below = append(below, named{name, e})
		return columnOf(name)
	}
	var keys, items []syntax.Expr
	for _, key := range a.keys {
		keys = append(keys, column("key", key.expr))
		texts = append(texts, key.expr.String())
	}
	items = append(items, keys...)
	for _, call := range a.calls {
		e := *call.expr.(*syntax.Call)
		e.Args = nil
		for _, arg := range call.expr.(*syntax.Call).Args {
			e.Args = append(e.Args, column("arg", arg))
		}
		if e.Filter != nil {
			e.Filter = column("filter", e.Filter)
		}
		items = append(items, &e)
	}
	below, err := a.plain(from, below)
	if err != nil {
		return nil, err
	}
	g := &group{text: strings.Join(texts, ", ")}
	if g.from, err = a.p.project(from, below); err != nil {
		return nil, err
	}
	if g.of, err = plan.BindGroups(a.p.ctx, keys, items, g.from.schema()); err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for i, c := range append(append([]named{}, a.keys...), a.calls...) {
		fields = append(fields, arrow.Field{Name: c.name, Type: g.of.Items[i].Type(), Nullable: g.of.Items[i].Nullable()})
	}
	g.out = arrow.NewSchema(fields, nil)
	g.parted, err = a.parted(g, items)
	return g, err
}

// plain adds a column if there is none, as for count(*), so that batches have rows.
func (a *aggregation) plain(from step, below []named) ([]named, error) {
	if len(below) > 0 {
		return below, nil
	}
	s := from.schema()
	if s.NumFields() == 0 {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "groups of rows without columns")
	}
	return []named{{"row", columnOf(s.Field(smallest(s)).Name)}}, nil
}

func (g *group) schema() *arrow.Schema { return g.out }

func (g *group) size() int64 {
	if len(g.of.Keys) == 0 {
		return 1
	}
	return g.from.size()/10 + 1
}

// push selects rows by conditions over keys, which all rows of a group share.
func (g *group) push(condition syntax.Expr) (bool, error) {
	keys := names{}
	for i := range g.of.Keys {
		keys[g.out.Field(i).Name] = true
	}
	for name := range namesIn(condition) {
		if !keys[name] {
			return false, nil
		}
	}
	if len(namesIn(condition)) == 0 {
		return false, nil
	}
	return g.from.push(renamed(condition, func(name string) string {
		return g.from.out.Field(g.out.FieldIndices(name)[0]).Name
	}))
}

// prune keeps all results: a query seldom has one that it does not show.
func (g *group) prune(names) { g.from.prune(all(g.from.schema())) }

func (g *group) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		of, from := g.of, batchesOf(ctx, g.from)
		parts, err := g.elsewhere(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if parts != nil {
			of, from = g.parted.merge, parts.Batches
		}
		for batch, err := range grouping.Rows(ctx, of, g.out, from) {
			if !yield(batch, err) {
				return
			}
		}
	}
}

func (g *group) explain(ctx context.Context, w *writer) error {
	calls := make([]string, 0, len(g.of.Calls))
	for _, f := range g.out.Fields()[len(g.of.Keys):] {
		calls = append(calls, f.Name)
	}
	return w.step("Group: by=[%s] calls=[%s]%s", g.text, strings.Join(calls, ", "), w.note(g))(ctx, g.from)
}
