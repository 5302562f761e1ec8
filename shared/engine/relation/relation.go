package relation

import (
	"context"
	"iter"
	"maps"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// Tables opens the tables of a query.
type Tables interface {
	// Open returns a table at the version that a query reads it at.
	Open(ctx context.Context, t *syntax.Table) (Table, error)
}

// A Table is a version of a table or a view.
type Table interface {
	// Columns returns the columns of a simple query.
	Columns(ctx context.Context, q *syntax.Query) (*arrow.Schema, error)
	// Rows runs a simple query.
	Rows(ctx context.Context, q *syntax.Query) (*protocol.Rows, error)
	// Explain returns the plan of a simple query.
	Explain(ctx context.Context, q *syntax.Query) (string, error)
	// Count returns the number of rows of the table.
	Count(ctx context.Context) (int64, error)
}

// A Selecting table answers only simple queries that select columns and rows, without expressions, an order or a limit.
type Selecting interface {
	Table
	Selecting()
}

// A step makes rows. Its methods are called in the order in which they are declared; push may be called several times.
type step interface {
	// schema returns the columns of the batches. After prune, these are only the needed ones.
	schema() *arrow.Schema
	// size estimates the number of rows.
	size() int64
	// push makes the step drop the rows for which a condition over its columns is not true. If it cannot, it
	// returns false.
	push(condition syntax.Expr) (bool, error)
	// prune tells the names of the columns that the step above reads.
	prune(needed names)
	// rows yields batches of the needed columns. A batch is valid until the next one.
	rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error]
	// explain writes the step, and those below it.
	explain(ctx context.Context, w *writer) error
}

// names are names of columns.
type names map[string]bool

func namesOf(list ...string) names {
	n := names{}
	for _, name := range list {
		n[name] = true
	}
	return n
}

// with returns the names of both.
func (n names) with(list ...string) names {
	n = maps.Clone(n)
	for _, name := range list {
		n[name] = true
	}
	return n
}

// of returns the fields of a schema that have these names.
func (n names) of(s *arrow.Schema) *arrow.Schema {
	var fields []arrow.Field
	for _, f := range s.Fields() {
		if n[f.Name] {
			fields = append(fields, f)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// all returns the names of all columns of a schema.
func all(s *arrow.Schema) names {
	n := names{}
	for _, f := range s.Fields() {
		n[f.Name] = true
	}
	return n
}

// A Plan is a query that is ready to run.
type Plan struct{ top step }

// Make plans a query. It reads the schemas of tables, and no rows. now is the value of now() and similar functions. Errors
// wrap those of package sql, or are the tables' own.
func Make(ctx context.Context, q *syntax.Query, tables Tables, now time.Time) (*Plan, error) {
	p := &planner{ctx: ctx, tables: tables, now: now, taken: names{}}
	r, err := p.query(q)
	if err != nil {
		return nil, err
	}
	columns := make([]named, len(r.scope))
	for i, f := range r.scope {
		columns[i] = named{f.name, columnOf(f.column)}
	}
	top, err := p.project(r.step, columns)
	if err != nil {
		return nil, err
	}
	top.prune(all(top.schema()))
	return &Plan{top}, nil
}

// Rows runs the query.
func (p *Plan) Rows(ctx context.Context) *protocol.Rows {
	return &protocol.Rows{Schema: p.top.schema(), Batches: batchesOf(ctx, p.top)}
}

// A planner plans one query.
type planner struct {
	ctx     context.Context //nolint:containedctx // a planner lives as long as one call of Make
	tables  Tables
	now     time.Time
	taken   names   // the names of columns that steps have
	with    *common // the named queries that are visible, innermost first
	queries int     // planned so far
}

// A common is a query that WITH names.
type common struct {
	name    string
	columns []syntax.Name
	query   *syntax.Query
	outer   *common // those that it may name itself
}

// A relation is a step whose columns can be named.
type relation struct {
	step  step
	scope scope
}

// maxQueries bounds the queries of a plan: a query of WITH is planned each time that it is named, so that few of them that
// name each other twice would become very many.
const maxQueries = 500

// query plans a query. Its columns have the names of the answer.
func (p *planner) query(q *syntax.Query) (*relation, error) {
	if p.queries++; p.queries > maxQueries {
		return nil, sql.Errorf(sql.ErrTooLarge, q.Pos(), "more than %d queries; one of WITH counts each time that it is named", maxQueries)
	}
	defer func(with *common) { p.with = with }(p.with)
	for _, c := range q.With {
		p.with = &common{name: c.Name.Text, columns: c.Columns, query: c.Query, outer: p.with}
	}
	if b, ok := q.Body.(*syntax.Block); ok {
		return p.block(q, b)
	}
	r, err := p.body(q.Body)
	if err != nil {
		return nil, err
	}
	return p.ordered(q, r)
}

// body plans a body that is not a block, which query plans together with its order.
func (p *planner) body(b syntax.Body) (*relation, error) {
	switch b := b.(type) {
	case *syntax.Query:
		return p.query(b)
	case *syntax.Values:
		return p.values(b)
	case *syntax.SetOperation:
		if b.Op == syntax.Union {
			return p.union(b)
		}
		return p.intersection(b)
	case *syntax.Block:
		return p.query(&syntax.Query{Body: b})
	}
	return nil, sql.Errorf(sql.ErrUnsupported, b.Pos(), "a query of %T", b)
}

// ordered adds the order and the limit of a query whose order can only name columns of the answer.
func (p *planner) ordered(q *syntax.Query, r *relation) (*relation, error) {
	var keys []sortKey
	for _, key := range q.Order {
		at, err := ordinal(key.Expr, len(r.scope), "ORDER BY")
		if err != nil {
			return nil, err
		}
		column, ok := key.Expr.(*syntax.Column)
		switch {
		case at >= 0:
			keys = append(keys, sortKey{r.scope[at].column, key.Descending, key.NullsFirst})
			continue
		case !ok || len(column.Path) != 1:
			return nil, sql.Errorf(sql.ErrUnsupported, key.Expr.Pos(), "ORDER BY an expression behind UNION, INTERSECT, EXCEPT or VALUES (name a column of the answer)")
		}
		f, _, err := r.scope.find(column)
		if err != nil {
			return nil, err
		}
		keys = append(keys, sortKey{f.column, key.Descending, key.NullsFirst})
	}
	if err := p.sort(r, keys, q); err != nil {
		return nil, err
	}
	return r, nil
}

// unique returns a name for a column that no other column has.
func (p *planner) unique(name string) string {
	for p.taken[name] {
		name += "'"
	}
	p.taken[name] = true
	return name
}

// columnOf returns the expression for a column of a step.
func columnOf(name string) *syntax.Column {
	return &syntax.Column{Path: []syntax.Name{{Text: name, Quoted: true}}}
}

// namesIn returns the columns that an expression over the columns of steps reads.
func namesIn(e syntax.Expr) names {
	n := names{}
	_, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		if c, ok := e.(*syntax.Column); ok {
			n[c.Path[0].Text] = true
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return n
}

// within reports whether a schema has all of the names.
func (n names) within(s *arrow.Schema) bool {
	for name := range n {
		if !s.HasField(name) {
			return false
		}
	}
	return true
}

// pick returns the columns of a batch that a schema has, by their names.
func pick(s *arrow.Schema, batch arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		columns[i] = batch.Column(batch.Schema().FieldIndices(f.Name)[0])
	}
	return array.NewRecordBatch(s, columns, batch.NumRows())
}

// evaluated computes expressions over a batch. The caller releases the memory of the columns.
func evaluated(ctx context.Context, exprs []*plan.Bound, batch arrow.RecordBatch) (columns []arrow.Array, held memory.Hold, err error) {
	columns = make([]arrow.Array, len(exprs))
	for i, e := range exprs {
		if columns[i], err = e.Eval(ctx, batch); err == nil {
			err = held.Resize(ctx, held.Bytes()+int64(columns[i].Data().SizeInBytes()))
		}
		if err != nil {
			held.Release()
			return nil, held, err
		}
	}
	return columns, held, nil
}
