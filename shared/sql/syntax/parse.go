package syntax

import "tiltyard/shared/sql"

// Parse parses one expression within the default limits. Errors wrap sql.ErrSyntax, sql.ErrUnsupported or
// sql.ErrTooLarge.
//
// Only semicolons may follow the expression. (Native Lance ignores any other text, so the filter "a = 1 b =
// 2" means "a = 1" there.)
func Parse(src string) (Expr, error) {
	return Limits{}.Parse(src)
}

// ParseGrouped parses an expression of a query with GROUP BY, which may call aggregate functions. Unquoted
// names are lowercased, because DataFusion plans such queries instead of Lance.
func ParseGrouped(src string) (Expr, error) {
	p, err := Limits{}.parser(lexer{src: src})
	if err != nil {
		return nil, err
	}
	p.aggregates, p.lower = true, true
	return p.whole()
}

// Parse parses one expression within the limits.
func (l Limits) Parse(src string) (Expr, error) {
	p, err := l.parser(lexer{src: src})
	if err != nil {
		return nil, err
	}
	return p.whole()
}

// parser returns a parser at the beginning of a text.
func (l Limits) parser(text lexer) (*parser, error) {
	l = l.withDefaults()
	if len(text.src) > l.Bytes {
		return nil, sql.Errorf(sql.ErrTooLarge, l.Bytes, "text has %d bytes, more than %d", len(text.src), l.Bytes)
	}
	tokens, err := text.tokens()
	return &parser{tokens: tokens, limits: l}, err
}

// whole parses one expression and the end of the text.
func (p *parser) whole() (Expr, error) {
	e, err := p.expr(precNone)
	if err != nil {
		return nil, err
	}
	for p.takeOp(";") {
	}
	if t := p.peek(); t.kind != tokEOF {
		if t.kind == tokOp && unknownOperator(t.text) {
			return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "operator %s", t.text)
		}
		return nil, sql.Errorf(sql.ErrSyntax, t.pos, "unexpected %s after the expression", t.describe())
	}
	return e, nil
}

// A precedence is the binding strength of an operator, weakest first. Only the order of the numbers
// matters.
//
//	OR
//	AND
//	NOT
//	IS NULL, IS TRUE, IS DISTINCT FROM, NOT NULL
//	LIKE, ILIKE
//	= != < <= > >=, IN, BETWEEN
//	|
//	^ << >>
//	&
//	+ -
//	* / % ||, the minus sign
//	::
//
// Operators of one line associate to the left. So a = b = c compares a bool with c, and a LIKE 'x' = b
// compares a with the bool 'x' = b.
//
// Source: sqlparser 0.62, dialect/mod.rs, get_next_precedence_default.
type precedence int

const (
	precNone precedence = iota
	precOr
	precAnd
	precNot
	precIs
	precLike
	precCompare // and IN, BETWEEN
	precBitOr
	precShift // and ^
	precBitAnd
	precSum
	precProduct // and ||
	precCast    // ::
)

var infix = map[string]struct {
	op   BinaryOp
	prec precedence
}{
	"OR": {Or, precOr}, "AND": {And, precAnd},
	"=": {Eq, precCompare}, "==": {Eq, precCompare}, "!=": {Ne, precCompare}, "<>": {Ne, precCompare},
	"<": {Lt, precCompare}, "<=": {Le, precCompare}, ">": {Gt, precCompare}, ">=": {Ge, precCompare},
	"|": {BitOr, precBitOr}, "^": {BitXor, precShift}, "<<": {ShiftLeft, precShift}, ">>": {ShiftRight, precShift},
	"&": {BitAnd, precBitAnd},
	"+": {Add, precSum}, "-": {Sub, precSum},
	"*": {Mul, precProduct}, "/": {Div, precProduct}, "%": {Mod, precProduct}, "||": {Concat, precProduct},
}

// unknownOperator reports whether op is an infix operator of SQL that is not implemented.
func unknownOperator(op string) bool {
	switch op {
	case "~", "!~", "~*", "!~*", "//", "->", "->>", "#>", "#>>", "<=>", "&&", "@>", "<@", ":":
		return true
	}
	return false
}

// A parser parses by precedence climbing: expr reads an operand, and then every infix
// operator that binds more strongly than that of its caller.
type parser struct {
	tokens []token
	next   int
	limits Limits
	depth  int
	nodes  int

	queries    bool // queries within expressions are allowed
	aggregates bool // calls of aggregate functions are allowed
	lower      bool // names without quotes are in lower case

	parameters map[string]Expr // the values of the parameters of a statement, by name
	open       bool            // parameters may lack values, as the statement is only described
	used       map[string]bool // those that occur; nil if the text is not a statement
}

func (p *parser) peek() token { return p.tokens[p.next] }

// peekAt returns the token n places ahead.
func (p *parser) peekAt(n int) token {
	return p.tokens[min(p.next+n, len(p.tokens)-1)]
}

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokEOF {
		p.next++
	}
	return t
}

// takeOp skips the operator if it comes next, and reports whether it does.
func (p *parser) takeOp(op string) bool {
	if p.peek().isOp(op) {
		p.next++
		return true
	}
	return false
}

// takeWords skips the given keywords if they all come next, and reports whether it did.
func (p *parser) takeWords(words ...string) bool {
	for i, w := range words {
		if p.peekAt(i).keyword() != w {
			return false
		}
	}
	for range words {
		p.mark(keyword)
		p.next++
	}
	return true
}

// mark sets the role of the next token.
func (p *parser) mark(r role) { p.tokens[p.next].role = r }

func (p *parser) expectOp(op string) error {
	if !p.takeOp(op) {
		return p.unexpected("\"" + op + "\"")
	}
	return nil
}

func (p *parser) expectWord(word string) error {
	if !p.takeWords(word) {
		return p.unexpected(word)
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	t := p.peek()
	return sql.Errorf(sql.ErrSyntax, t.pos, "expected %s, found %s", want, t.describe())
}

// node counts one node, for the limit on the size of an expression.
func (p *parser) node(pos int) error {
	p.nodes++
	if p.nodes > p.limits.Nodes {
		return sql.Errorf(sql.ErrTooLarge, pos, "more than %d operators and operands", p.limits.Nodes)
	}
	return nil
}

// expr reads an expression of operators that bind more strongly than prec.
func (p *parser) expr(prec precedence) (Expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > p.limits.Depth {
		return nil, sql.Errorf(sql.ErrTooLarge, p.peek().pos, "nested more than %d deep", p.limits.Depth)
	}
	e, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		next := p.infixPrecedence()
		if next <= prec {
			return e, nil
		}
		if err := p.node(p.peek().pos); err != nil {
			return nil, err
		}
		if e, err = p.infix(e, next); err != nil {
			return nil, err
		}
	}
}

// infixPrecedence returns the precedence of the next token, or precNone if it is not an infix operator.
func (p *parser) infixPrecedence() precedence {
	t := p.peek()
	if t.kind == tokOp {
		if t.text == "::" {
			return precCast
		}
		return infix[t.text].prec
	}
	switch w := t.keyword(); w {
	case "OR", "AND":
		return infix[w].prec
	case "IS":
		return precIs
	case "IN", "BETWEEN":
		return precCompare
	case "LIKE", "ILIKE", "RLIKE", "REGEXP", "SIMILAR":
		return precLike
	case "NOT":
		switch p.peekAt(1).keyword() {
		case "IN", "BETWEEN":
			return precCompare
		case "LIKE", "ILIKE", "RLIKE", "REGEXP", "SIMILAR":
			return precLike
		case "NULL":
			return precIs
		}
	}
	return precNone
}

// infix reads the next operator and its right operand.
func (p *parser) infix(left Expr, prec precedence) (Expr, error) {
	p.mark(keyword)
	t := p.take()
	pos := position(t.pos)
	if t.isOp("::") {
		p.tokens[p.next-1].role = tight
		typ, err := p.typeName()
		return &Cast{position: pos, X: left, Type: typ}, err
	}
	key := t.text
	if t.kind == tokWord {
		key = t.keyword()
	}
	if op, ok := infix[key]; ok {
		if w := p.peek().keyword(); (w == "ANY" || w == "ALL" || w == "SOME") && p.peekAt(1).isOp("(") {
			return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "%s after an operator", w)
		}
		right, err := p.expr(prec)
		return &Binary{position: pos, Op: op.op, L: left, R: right}, err
	}
	not := false
	if key == "NOT" {
		not = true
		p.mark(keyword)
		key = p.take().keyword()
	}
	switch key {
	case "NULL": // x NOT NULL
		p.tokens[p.next-2].role = isNot
		return &Is{position: pos, X: left, Test: IsNull, Not: true}, nil
	case "IS":
		return p.is(left, pos)
	case "IN":
		return p.in(left, pos, not)
	case "BETWEEN":
		return p.between(left, pos, not)
	case "LIKE", "ILIKE":
		return p.like(left, pos, not, key == "ILIKE")
	}
	return nil, sql.Errorf(sql.ErrUnsupported, t.pos, "operator %s", key)
}

// is reads the part after IS.
func (p *parser) is(left Expr, pos position) (Expr, error) {
	not := p.takeWords("NOT")
	for _, test := range []IsTest{IsNull, IsTrue, IsFalse} {
		if p.takeWords(string(test)) {
			return &Is{position: pos, X: left, Test: test, Not: not}, nil
		}
	}
	if p.takeWords("DISTINCT", "FROM") {
		op := Distinct
		if not {
			op = NotDistinct
		}
		// The right side extends as far as it can: a IS DISTINCT FROM b AND c compares a
		// with (b AND c).
		right, err := p.expr(precNone)
		return &Binary{position: pos, Op: op, L: left, R: right}, err
	}
	if w := p.peek().keyword(); w == "UNKNOWN" {
		return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "IS UNKNOWN (use IS NULL)")
	}
	return nil, p.unexpected("NULL, TRUE, FALSE or DISTINCT FROM")
}

// in reads the list. An empty list is an error, as in native Lance.
func (p *parser) in(left Expr, pos position, not bool) (Expr, error) {
	if err := p.expectOp("("); err != nil {
		return nil, err
	}
	if p.beginsQuery() {
		if !p.queries {
			return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "subqueries")
		}
		q, err := p.query()
		if err != nil {
			return nil, err
		}
		return &InQuery{position: pos, X: left, Query: q, Not: not}, p.expectOp(")")
	}
	nodes := p.nodes
	in := &In{position: pos, X: left, Not: not}
	for {
		e, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		if isLiteral(e) {
			p.nodes = nodes // literals of the list have a limit of their own
		}
		nodes = p.nodes
		in.List = append(in.List, e)
		if len(in.List) > p.limits.InList {
			return nil, sql.Errorf(sql.ErrTooLarge, e.Pos(), "list of IN has more than %d elements", p.limits.InList)
		}
		if !p.takeOp(",") {
			return in, p.expectOp(")")
		}
	}
}

func isLiteral(e Expr) bool {
	switch e.(type) {
	case *Number, *Text, *Bytes, *Bool, *Null, *TypedText:
		return true
	}
	return false
}

// between parses the bounds with a precedence above AND, so that the AND between them is not taken for an
// operator.
func (p *parser) between(left Expr, pos position, not bool) (Expr, error) {
	low, err := p.expr(precCompare)
	if err != nil {
		return nil, err
	}
	if err := p.expectWord("AND"); err != nil {
		return nil, err
	}
	high, err := p.expr(precCompare)
	return &Between{position: pos, X: left, Low: low, High: high, Not: not}, err
}

// like parses the pattern and the optional escape character.
func (p *parser) like(left Expr, pos position, not, fold bool) (Expr, error) {
	if w := p.peek().keyword(); (w == "ANY" || w == "ALL") && p.peekAt(1).isOp("(") {
		return nil, sql.Errorf(sql.ErrUnsupported, p.peek().pos, "LIKE %s", w)
	}
	pattern, err := p.expr(precLike)
	if err != nil {
		return nil, err
	}
	l := &Like{position: pos, X: left, Pattern: pattern, Fold: fold, Not: not}
	if p.takeWords("ESCAPE") {
		t := p.take()
		if t.kind != tokString || len([]rune(t.text)) != 1 {
			return nil, sql.Errorf(sql.ErrSyntax, t.pos, "ESCAPE needs a string of one character")
		}
		l.Escape = t.text
	}
	return l, nil
}
