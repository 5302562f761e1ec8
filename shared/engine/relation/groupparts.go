package relation

import (
	"context"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/query"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A Grouping table makes groups of very many rows in parts that run elsewhere.
type Grouping interface {
	Table
	// Groups returns groups of the rows of a simple query, each once for each part that has rows of it. It returns nil if
	// the query is not divided. At the end, tell is called with what the parts took.
	Groups(ctx context.Context, q *syntax.Query, g *query.Groups, tell func(string)) (*protocol.Rows, error)
}

// parted is how groups are made of those that parts make. A part computes results that can be joined, such as sum(x)
// and count(x) for avg(x).
type parted struct {
	columns []named // of the rows, over the columns of the scan
	groups  query.Groups
	schema  *arrow.Schema // of the groups of a part
	merge   *plan.Grouping
}

// parted plans groups of parts. It returns nil if the rows are not those of a table, or if a function has no results that
// can be joined.
func (a *aggregation) parted(g *group, items []syntax.Expr) (*parted, error) {
	s, ok := g.from.from.(*scan)
	if !ok || s.query != nil || slices.ContainsFunc(s.plain, func(b *plan.Bound) bool { return b != nil }) {
		return nil, nil //nolint:nilnil // not in parts
	}
	if _, ok := s.table.(Grouping); !ok {
		return nil, nil //nolint:nilnil // not in parts
	}
	made := &parted{}
	for _, it := range g.from.items {
		if it.typed || it.bound != nil && it.bound.Volatile() != "" {
			return nil, nil //nolint:nilnil // not in parts
		}
		made.columns = append(made.columns, named{it.name, it.expr})
	}
	fields := g.from.out.Fields()
	var keys, merged []syntax.Expr
	for i := range a.keys {
		made.groups.Keys = append(made.groups.Keys, i)
		keys = append(keys, columnOf(partColumn(i)))
	}
	merged = slices.Clone(keys)
	for _, item := range items[len(keys):] {
		result, err := made.call(item.(*syntax.Call), &fields)
		if result == nil || err != nil {
			return nil, err
		}
		merged = append(merged, result)
	}
	var err error
	if _, made.schema, err = made.groups.Bind(a.p.ctx, arrow.NewSchema(fields, nil)); err != nil {
		return nil, err
	}
	if made.merge, err = plan.BindGroups(a.p.ctx, keys, merged, made.schema); err != nil {
		return nil, err
	}
	for i, item := range made.merge.Items {
		if !arrow.TypeEqual(item.Type(), g.out.Field(i).Type) {
			return nil, nil //nolint:nilnil // not in parts
		}
	}
	return made, nil
}

// partColumn is the name of a column of the groups of parts.
func partColumn(i int) string { return "column" + strconv.Itoa(i) }

// call adds the results that parts compute for a call over the columns of fields. It returns the expression that joins
// them, or nil.
func (d *parted) call(c *syntax.Call, fields *[]arrow.Field) (syntax.Expr, error) {
	at := func(e syntax.Expr) int {
		name := e.(*syntax.Column).Path[0].Text
		return slices.IndexFunc(*fields, func(f arrow.Field) bool { return f.Name == name })
	}
	one := query.Call{}
	var types []arrow.DataType
	for _, arg := range c.Args {
		one.Args = append(one.Args, at(arg))
		types = append(types, (*fields)[at(arg)].Type)
	}
	if c.Filter != nil {
		one.Filter = new(at(c.Filter))
	}
	add := func(function aggregate.Function, args []int) syntax.Expr {
		d.groups.Calls = append(d.groups.Calls, query.Call{Function: string(function), Args: args, Filter: one.Filter})
		return columnOf(partColumn(len(d.groups.Keys) + len(d.groups.Calls) - 1))
	}
	over := func(function aggregate.Function, of syntax.Expr) syntax.Expr {
		return &syntax.Call{Name: string(function), Args: []syntax.Expr{of}}
	}
	known, err := aggregate.Of(c.Name, types, c.Distinct)
	switch {
	case err != nil:
		return nil, err
	case c.Distinct:
		return nil, nil //nolint:nilnil // not in parts
	case known.Function == aggregate.Count:
		return over(aggregate.Sum, add(aggregate.Count, one.Args)), nil
	}
	isDecimal := types[0].ID() == arrow.DECIMAL128
	switch f := known.Function; f {
	case aggregate.Sum:
		if isDecimal { // the type of a sum of sums has more digits
			return nil, nil //nolint:nilnil // not in parts
		}
		return over(f, add(f, one.Args)), nil
	case aggregate.Min, aggregate.Max, aggregate.BoolAnd, aggregate.BoolOr, aggregate.BitAnd, aggregate.BitOr, aggregate.BitXor:
		return over(f, add(f, one.Args)), nil
	case aggregate.Avg:
		if isDecimal {
			return nil, nil //nolint:nilnil // not in parts
		}
		double := named{"double" + strconv.Itoa(len(d.columns)), &syntax.Cast{X: d.columns[one.Args[0]].expr, Type: syntax.TypeName{Name: "double"}}}
		d.columns = append(d.columns, double)
		*fields = append(*fields, arrow.Field{Name: double.name, Type: known.Args[0], Nullable: true})
		sum := over(aggregate.Sum, add(aggregate.Sum, []int{len(*fields) - 1}))
		return &syntax.Binary{Op: syntax.Div, L: sum, R: over(aggregate.Sum, add(aggregate.Count, one.Args))}, nil
	}
	return nil, nil //nolint:nilnil // not in parts
}

// elsewhere returns the groups that parts make, or nil if the rows are grouped here.
func (g *group) elsewhere(ctx context.Context) (*protocol.Rows, error) {
	if g.parted == nil {
		return nil, nil //nolint:nilnil // here
	}
	s := g.from.from.(*scan)
	b := &syntax.Block{From: s.source, Where: syntax.Conjunction(s.where)}
	taken := names{}
	for _, c := range g.parted.columns {
		e := s.ofTable(c.expr)
		name := e.String() // as errors of a part tell it
		for taken[name] {
			name += "'"
		}
		taken[name] = true
		b.Outputs = append(b.Outputs, syntax.Output{Name: name, Expr: e})
	}
	rows, err := s.table.(Grouping).Groups(ctx, &syntax.Query{Body: b}, &g.parted.groups, func(note string) { tell(ctx, g, note) })
	if rows == nil || err != nil || !rows.Schema.Equal(g.parted.schema) {
		return nil, err
	}
	return rows, nil
}
