package syntax

import (
	"maps"
	"slices"
	"strconv"

	"tiltyard/shared/sql"
)

// A Statement is a parsed statement that reads rows:
//
//	[EXPLAIN [ANALYZE]] query
//
// A parameter, $name, may stand in place of any literal.
type Statement struct {
	Explain, Analyze bool // the answer is the plan, and with Analyze what was measured, not the rows
	Query            *Query
}

// A Query is a body with what precedes and follows it:
//
//	[WITH name [(column, …)] AS (query), …]
//	SELECT … | VALUES … | (query) | body {UNION [ALL] | EXCEPT | INTERSECT} body
//	[ORDER BY expr [ASC | DESC] [NULLS FIRST | NULLS LAST], …]
//	[LIMIT n] [OFFSET n]
type Query struct {
	With          []Common
	Body          Body
	Order         []OrderKey
	Limit, Offset *int64 // nil without
}

// A Common is a query that WITH gives a name.
type Common struct {
	Name    Name
	Columns []Name // nil: those of the query
	Query   *Query
}

// A Body is a *Block, *Values, *SetOperation or a *Query in parentheses.
type Body interface{ Pos() int }

// A Block is SELECT without what follows it in a query:
//
//	SELECT [DISTINCT] expr [AS name], … | * | source.*
//	[FROM source, …] [WHERE condition] [GROUP BY expr, …] [HAVING condition]
type Block struct {
	position
	Distinct bool
	Outputs  []Output
	From     Source // nil: one row without columns
	Where    Expr   // nil without condition
	Group    []Expr // nil without GROUP BY
	Having   Expr   // nil without condition
}

// An Output is a column of the answer, or all columns.
type Output struct {
	Name string // without AS: the last name of a path, or the text of another expression
	Expr Expr   // nil for *
	Of   []Name // the source of *; nil: all sources
}

// Values are rows of expressions without a table.
type Values struct {
	position
	Rows [][]Expr // at least one row of at least one column, all of the same length
}

// A SetOperation has rows of two bodies. Nulls are equal.
type SetOperation struct {
	position
	Op   SetOperator
	L, R Body
	All  bool // equal rows stay; only of UNION
}

// A SetOperator decides which rows of two bodies are in the result.
type SetOperator string

// The operators: the rows of both, those on both sides, and those on the left only. INTERSECT binds more strongly.
const (
	Union     SetOperator = "UNION"
	Intersect SetOperator = "INTERSECT"
	Except    SetOperator = "EXCEPT"
)

// Pos returns the byte offset of the body.
func (q *Query) Pos() int { return q.Body.Pos() }

// A Source is what FROM reads: a *Table, a *Derived or a *Join.
type Source interface{ Pos() int }

// A Table is a table, a view, or a query of WITH.
type Table struct {
	position
	Name    []Name
	Version *int64 // nil: the latest
	Branch  string // "" for main
	Tag     string // names a branch and a version; "" with Version or Branch, or without all three
	Alias   Alias
}

// A Derived is a query in parentheses.
type Derived struct {
	position
	Query *Query
	Alias Alias
}

// An Alias is the name by which expressions refer to a source.
type Alias struct {
	Name    *Name  // nil: the name of the table, or its last parts
	Columns []Name // the names of the columns; nil: those of the source
}

// A Join joins the rows of two sources.
type Join struct {
	position
	Kind  JoinKind
	L, R  Source
	On    Expr   // nil with Using, or if all rows match
	Using []Name // columns of both sides that are equal and occur once in the result
}

// A JoinKind decides which rows of a join are in its result.
type JoinKind string

// The kinds of joins.
const (
	InnerJoin JoinKind = "INNER"
	LeftJoin  JoinKind = "LEFT"
	RightJoin JoinKind = "RIGHT"
	FullJoin  JoinKind = "FULL"
	LeftSemi  JoinKind = "LEFT SEMI"
	LeftAnti  JoinKind = "LEFT ANTI"
)

// An InQuery is x [NOT] IN (query).
type InQuery struct {
	position
	X     Expr
	Query *Query
	Not   bool
}

// An Exists is [NOT] EXISTS (query).
type Exists struct {
	position
	Query *Query
	Not   bool
}

// A Scalar is a query as a value: its only column in its only row, or null without a row.
type Scalar struct {
	position
	Query *Query
}

// An OrderKey is an expression of ORDER BY. Without NULLS FIRST or NULLS LAST, nulls count as larger than all values.
//
// Source: datafusion-sql 54, order_by.rs.
type OrderKey struct {
	Expr                   Expr
	Descending, NullsFirst bool
}

// ParseStatement parses a statement within the default limits, and puts the values of parameters, which are literals
// or lists of literals, in their places. Double quotes delimit names. A parameter without a value, or a value
// without a parameter, is an error. Errors wrap sql.ErrSyntax, sql.ErrUnsupported or sql.ErrTooLarge.
func ParseStatement(src string, parameters map[string]Expr) (*Statement, error) {
	return parseStatement(src, parameters, false)
}

// DescribeStatement parses a statement as ParseStatement does, for its columns only. Parameters without a value are
// null, also where null is otherwise refused.
func DescribeStatement(src string, parameters map[string]Expr) (*Statement, error) {
	return parseStatement(src, parameters, true)
}

func parseStatement(src string, parameters map[string]Expr, open bool) (*Statement, error) {
	p, err := Limits{}.parser(lexer{src: src, names: true})
	if err != nil {
		return nil, err
	}
	p.queries, p.aggregates, p.parameters, p.used, p.open = true, true, parameters, map[string]bool{}, open
	s := new(Statement)
	if p.takeWords("EXPLAIN") {
		s.Explain, s.Analyze = true, p.takeWords("ANALYZE")
	}
	if s.Query, err = p.query(); err != nil {
		return nil, err
	}
	for p.takeOp(";") {
	}
	if t := p.peek(); t.kind != tokEOF {
		return nil, unsupportedInStatement(t)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !p.used[name] {
			return nil, sql.Errorf(sql.ErrSyntax, sql.NoPos, "the statement has no parameter $%s", name)
		}
	}
	return s, nil
}

// parameter reads $name, and returns its value.
func (p *parser) parameter() (Expr, error) {
	t := p.take()
	if p.used == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "parameter $%s in a query that is stored", t.text)
	}
	value, ok := p.parameters[t.text]
	if !ok && p.open {
		return new(Null), nil
	}
	if !ok {
		return nil, sql.Errorf(sql.ErrSyntax, t.pos, "parameter $%s has no value", t.text)
	}
	p.used[t.text] = true
	return value, nil
}

// count reads a whole number after a clause, or a parameter with one.
func (p *parser) count(clause string) (*int64, error) {
	t := p.peek()
	e, err := p.primary()
	if err != nil {
		return nil, err
	}
	number, ok := e.(*Number)
	if ok && t.role != long {
		if n, err := strconv.ParseInt(number.Text, 10, 64); err == nil && n >= 0 {
			return &n, nil
		}
	}
	if _, ok := e.(*Null); ok && p.open && t.kind == tokParameter {
		return new(int64(1)), nil
	}
	return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "%s %s: it takes a whole number", clause, e)
}

// unsupportedInStatement returns the error for a clause that statements do not support here. Other engines read the same
// tables.
func unsupportedInStatement(t token) error {
	switch t.keyword() {
	case "OVER", "WINDOW", "QUALIFY", "LATERAL", "PIVOT", "UNPIVOT", "FETCH", "TABLESAMPLE", "NATURAL", "ROLLUP", "CUBE", "GROUPING", "RECURSIVE":
		return sql.Errorf(sql.ErrUnsupported, t.pos, "%s (DuckDB, DataFusion and Spark run such queries over the same table)", t.keyword())
	}
	return sql.Errorf(sql.ErrSyntax, t.pos, "%s: a query is [WITH …] SELECT [DISTINCT] columns FROM sources [WHERE condition] [GROUP BY …] [HAVING condition] [UNION | INTERSECT | EXCEPT …] [ORDER BY …] [LIMIT n] [OFFSET n]", t.describe())
}
