package plan

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/syntax"
)

// A Grouping groups rows with equal keys, and computes the columns of each group.
type Grouping struct {
	Keys  []*Bound      // over the rows
	Calls []*Aggregate  // over the rows of a group
	Rows  *arrow.Schema // schema of the groups: the keys, then the calls
	Items []*Bound      // over Rows
	// Declared is the declared nullability of each item, as in native LanceDB: before its constants were
	// folded.
	Declared []bool
	Volatile string // as in Bound
}

// An Aggregate is a call of an aggregate function.
type Aggregate struct {
	aggregate.Call
	Args   []*Bound
	Filter *Bound // selects the rows that count; nil for all
}

// BindGroups binds the GROUP BY expressions and the output columns of a query that syntax.ParseGrouped has
// parsed. An output column is composed of aggregate functions and keys: other source columns have no value
// for a group. Names and types follow DataFusion's rules, as inside calls.
func BindGroups(ctx context.Context, keys, items []syntax.Expr, s *arrow.Schema) (*Grouping, error) {
	g := &Grouping{}
	t := &tally{ctx: ctx, schema: s, of: g, keys: map[string]int{}, calls: map[string]int{}}
	for _, key := range keys {
		if _, ok := t.keys[key.String()]; ok {
			continue
		}
		bound, err := t.bind(key, asIs)
		if err != nil {
			return nil, err
		}
		if !aggregate.Flat(bound.Type()) || t.isDictionary(bound) {
			return nil, sql.Errorf(sql.ErrUnsupported, key.Pos(), "GROUP BY a value of type %s", bound.Type())
		}
		t.keys[key.String()] = len(g.Keys)
		g.Keys = append(g.Keys, bound)
	}
	planned := make([]*expr.Node, len(items))
	over := planner{inCall: true, grouped: true, groups: t}
	for i, item := range items {
		var err error
		if planned[i], err = over.plan(item); err != nil {
			return nil, err
		}
	}
	g.Rows = t.rows()
	over.schema = g.Rows
	g.note(over.volatile)
	for _, n := range planned {
		declared := func(n *expr.Node) (*expr.Node, error) {
			g.Declared = append(g.Declared, n.Nullable(true))
			return n, nil
		}
		bound, err := finish(ctx, n, over, coerce, declared)
		if err != nil {
			return nil, err
		}
		g.Items = append(g.Items, bound)
	}
	return g, nil
}

// note records the first volatile function.
func (g *Grouping) note(volatile string) {
	if g.Volatile == "" {
		g.Volatile = volatile
	}
}

// Columns returns the names of the columns that keys and aggregates read, in the order of a schema.
func (g *Grouping) Columns(s *arrow.Schema) []string {
	read := map[string]bool{}
	note := func(b *Bound) {
		if b != nil {
			for _, name := range b.Columns() {
				read[name] = true
			}
		}
	}
	for _, key := range g.Keys {
		note(key)
	}
	for _, call := range g.Calls {
		note(call.Filter)
		for _, arg := range call.Args {
			note(arg)
		}
	}
	var names []string
	for _, f := range s.Fields() {
		if read[f.Name] {
			names = append(names, f.Name)
		}
	}
	return names
}

// A tally finds the keys and the aggregates in the columns of a query.
type tally struct {
	ctx    context.Context
	schema *arrow.Schema // of the source
	of     *Grouping
	keys   map[string]int // the numbers of keys by their text
	calls  map[string]int
}

// bind binds an expression over the rows of the source.
func (t *tally) bind(e syntax.Expr, convert func(n *expr.Node) (*expr.Node, error)) (*Bound, error) {
	p := planner{schema: t.schema, inCall: true, grouped: true}
	n, err := p.plan(e)
	if err != nil {
		return nil, err
	}
	bound, err := finish(t.ctx, n, p, coerce, convert)
	if err == nil {
		t.of.note(bound.volatile)
	}
	return bound, err
}

// isDictionary reports whether an expression is a column of a dictionary.
func (t *tally) isDictionary(b *Bound) bool {
	return b.root.Op == expr.OpCol && t.schema.Field(b.root.Index).Type.ID() == arrow.DICTIONARY
}

// node returns the group column for an expression that is a key or an aggregate call, or nil for a compound
// expression.
func (t *tally) node(e syntax.Expr) (*expr.Node, error) {
	if i, ok := t.keys[e.String()]; ok {
		return t.key(i, e.Pos()), nil
	}
	switch e := e.(type) {
	case *syntax.Column:
		return t.member(e)
	case *syntax.Call:
		if aggregate.Named(e.Name) {
			return t.call(e)
		}
	}
	return nil, nil //nolint:nilnil // made of others
}

func (t *tally) key(i, pos int) *expr.Node {
	k := t.of.Keys[i]
	return &expr.Node{Op: expr.OpCol, Type: k.Type(), Index: i, Name: keyName(i), Null: k.nullable, Pos: pos}
}

// member returns the member of a key.
func (t *tally) member(e *syntax.Column) (*expr.Node, error) {
	for n := len(e.Path) - 1; n > 0; n-- {
		i, ok := t.keys[(&syntax.Column{Path: e.Path[:n]}).String()]
		if !ok {
			continue
		}
		node := t.key(i, e.Pos())
		for _, name := range e.Path[n:] {
			var err error
			if node, err = member(node, name.Text, e.Pos()); err != nil {
				return nil, err
			}
		}
		return node, nil
	}
	return nil, sql.Errorf(sql.ErrUnknownColumn, e.Pos(), "column %s has no value for a group: it must be in GROUP BY or in an aggregate function", e)
}

// call returns the column of the results of an aggregate.
func (t *tally) call(e *syntax.Call) (*expr.Node, error) {
	i, ok := t.calls[e.String()]
	if !ok {
		bound, err := t.aggregate(e)
		if err != nil {
			return nil, err
		}
		i = len(t.of.Calls)
		t.calls[e.String()], t.of.Calls = i, append(t.of.Calls, bound)
	}
	c := t.of.Calls[i]
	at := len(t.of.Keys) + i
	return &expr.Node{Op: expr.OpCol, Type: c.Type, Index: at, Name: callName(i), Null: c.Nullable, Pos: e.Pos()}, nil
}

// aggregate binds a call of an aggregate function. Its arguments are bound twice: for their types, and then
// with a cast to the types of the function.
func (t *tally) aggregate(e *syntax.Call) (*Aggregate, error) {
	var types []arrow.DataType
	if e.Star && aggregate.Named(e.Name) && !isCount(e) {
		return nil, sql.Errorf(sql.ErrType, e.Pos(), "%s(*): only count takes *", e.Name)
	}
	for _, arg := range e.Args {
		bound, err := t.bind(arg, asIs)
		if err != nil {
			return nil, err
		}
		if t.isDictionary(bound) {
			return nil, sql.Errorf(sql.ErrUnsupported, arg.Pos(), "function %s of a dictionary", e.Name)
		}
		types = append(types, bound.Type())
	}
	call, err := aggregate.Of(e.Name, types, e.Distinct)
	if err != nil {
		return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "%v", err)
	}
	a := &Aggregate{Call: *call}
	for i, arg := range e.Args {
		bound, err := t.bind(arg, func(n *expr.Node) (*expr.Node, error) { return expr.CastTo(n, call.Args[i]) })
		if err != nil {
			return nil, err
		}
		a.Args = append(a.Args, bound)
	}
	if e.Filter != nil {
		if a.Filter, err = t.bind(e.Filter, asIs); err != nil {
			return nil, err
		}
		if a.Filter.Type().ID() != arrow.BOOL {
			return nil, sql.Errorf(sql.ErrType, e.Filter.Pos(), "a filter must be of type bool, not %s", a.Filter.Type())
		}
	}
	return a, nil
}

func isCount(e *syntax.Call) bool {
	call, err := aggregate.Of(e.Name, nil, false)
	return err == nil && call.Function == aggregate.Count
}

// rows returns the schema of the groups.
func (t *tally) rows() *arrow.Schema {
	var fields []arrow.Field
	for i, k := range t.of.Keys {
		fields = append(fields, arrow.Field{Name: keyName(i), Type: k.Type(), Nullable: k.nullable})
	}
	for i, c := range t.of.Calls {
		fields = append(fields, arrow.Field{Name: callName(i), Type: c.Type, Nullable: c.Nullable})
	}
	return arrow.NewSchema(fields, nil)
}

// Key returns the index of the key that an item consists of. ok is false for other items.
func (g *Grouping) Key(item int) (key int, ok bool) {
	root := g.Items[item].root
	return root.Index, root.Op == expr.OpCol && root.Index < len(g.Keys)
}

// Names of the columns of groups, which no expression uses.
func keyName(i int) string  { return "key" + strconv.Itoa(i) }
func callName(i int) string { return "call" + strconv.Itoa(i) }
