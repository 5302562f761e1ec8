package plan

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn"
	"tiltyard/shared/sql/internal/fn/calendar"
	"tiltyard/shared/sql/internal/fn/list"
	"tiltyard/shared/sql/syntax"
)

// A planner turns an Expr into nodes over the columns of a schema. It resolves columns, functions and type
// names, but does not check operands yet.
//
// Inside a call DataFusion's rules apply instead of Lance's: column names are case-sensitive, and types
// have other names.
type planner struct {
	schema   *arrow.Schema
	now      time.Time
	inCall   bool
	volatile string // the first function that is not determined by its arguments alone

	grouped bool   // a part of a query with GROUP BY
	groups  *tally // of a GROUP BY query whose columns are resolved to groups; else nil
}

// plan plans an expression. It plans arguments in order, so that it reports the first error in the text.
func (p *planner) plan(e syntax.Expr) (*expr.Node, error) {
	pos := e.Pos()
	if p.groups != nil {
		if n, err := p.groups.node(e); n != nil || err != nil {
			return n, err
		}
	}
	switch e := e.(type) {
	case *syntax.Number:
		v, err := p.number(e)
		return expr.Literal(v, pos), err
	case *syntax.Text:
		return expr.Literal(column.TextConstant(column.TypeString, e.Value), pos), nil
	case *syntax.Bytes:
		return expr.Literal(bytesConstant(e.Digits), pos), nil
	case *syntax.Bool:
		return expr.Literal(column.BoolConstant(e.Value), pos), nil
	case *syntax.Null:
		return expr.Literal(column.Null(column.TypeNull), pos), nil
	case *syntax.Interval:
		v, err := expr.IntervalConstant(e.Value)
		return expr.Literal(v, pos), sql.At(err, pos)
	case *syntax.TypedText:
		return p.cast(expr.Literal(column.TextConstant(column.TypeString, e.Value), pos), e.Type, false, pos)
	case *syntax.Column:
		return p.column(e)
	case *syntax.Member:
		x, err := p.plan(e.X)
		if err != nil {
			return nil, err
		}
		return member(x, e.Name, pos)
	case *syntax.Unary:
		op := expr.OpNot
		if e.Op == syntax.Neg {
			op = expr.OpNeg
		}
		return p.node(expr.Node{Op: op, Pos: pos}, e.X)
	case *syntax.Binary:
		return p.binary(e)
	case *syntax.Is:
		op := map[syntax.IsTest]expr.Op{syntax.IsNull: expr.OpIsNull, syntax.IsTrue: expr.OpIsTrue, syntax.IsFalse: expr.OpIsFalse}[e.Test]
		return p.node(expr.Node{Op: op, Not: e.Not, Pos: pos}, e.X)
	case *syntax.In:
		return p.node(expr.Node{Op: expr.OpIn, Not: e.Not, Pos: pos}, append([]syntax.Expr{e.X}, e.List...)...)
	case *syntax.Between:
		return p.node(expr.Node{Op: expr.OpBetween, Not: e.Not, Pos: pos}, e.X, e.Low, e.High)
	case *syntax.Like:
		if e.Escape != "" && e.Escape != `\` {
			return nil, sql.Errorf(sql.ErrUnsupported, pos, `ESCAPE with another character than \`)
		}
		return p.node(expr.Node{Op: expr.OpLike, Not: e.Not, Fold: e.Fold, Given: e.Escape != "", Pos: pos}, e.X, e.Pattern)
	case *syntax.Cast:
		x, err := p.plan(e.X)
		if err != nil {
			return nil, err
		}
		return p.cast(x, e.Type, e.Try, pos)
	case *syntax.Case:
		return p.caseExpr(e)
	case *syntax.Call:
		return p.call(e)
	case *syntax.Array:
		return p.node(expr.Node{Op: expr.OpListLit, Pos: pos}, e.Elems...)
	}
	return nil, sql.Errorf(sql.ErrUnsupported, pos, "expression %T", e)
}

// node adds the planned arguments to n.
func (p *planner) node(n expr.Node, args ...syntax.Expr) (*expr.Node, error) {
	n.Args = make([]*expr.Node, len(args))
	for i, a := range args {
		var err error
		if n.Args[i], err = p.plan(a); err != nil {
			return nil, err
		}
	}
	return &n, nil
}

// number returns an int64, uint64 or float64, the first of these types that can represent the number.
func (p *planner) number(e *syntax.Number) (column.Vec, error) {
	digits, negative := strings.CutPrefix(e.Text, "-")
	// Lance parses the digits without their sign, so outside of a call the smallest int64
	// is a float64.
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		if negative {
			n = -n
		}
		return column.Constant(column.TypeInt64, []int64{n}), nil
	}
	if n, err := strconv.ParseInt(e.Text, 10, 64); err == nil && p.inCall {
		return column.Constant(column.TypeInt64, []int64{n}), nil
	}
	if n, err := strconv.ParseUint(digits, 10, 64); err == nil && !negative {
		return column.Constant(column.TypeUint64, []uint64{n}), nil
	}
	f, err := strconv.ParseFloat(e.Text, 64)
	if err != nil && f == 0 {
		return column.Vec{}, sql.Errorf(sql.ErrSyntax, e.Pos(), "%s is not a number", e.Text)
	}
	return column.Constant(column.TypeFloat64, []float64{f}), nil // infinity if too large
}

// bytesConstant decodes hexadecimal digits. If their number is odd, the first digit is a
// byte of its own.
func bytesConstant(digits string) column.Vec {
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	b, _ := hex.DecodeString(digits) // the lexer saw to the digits
	return column.TextConstant(column.TypeBinary, string(b))
}

// column resolves a path. The first name ignores the case of ASCII letters, unless it is the only name and
// in backticks. Names of struct members are case-sensitive.
func (p *planner) column(e *syntax.Column) (*expr.Node, error) {
	first := e.Path[0]
	index := p.fieldIndex(first.Text, !p.inCall && (len(e.Path) > 1 || !first.Quoted))
	if index < 0 {
		return nil, sql.Errorf(sql.ErrUnknownColumn, e.Pos(), "no column %q; there are %s", first.Text, fieldNames(p.schema.Fields()))
	}
	f := p.schema.Field(index)
	if !column.Loadable(f.Type) {
		return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "column %q of type %s", f.Name, f.Type)
	}
	n := &expr.Node{Op: expr.OpCol, Type: column.ValueType(f.Type), Index: index, Name: f.Name, Null: f.Nullable, Pos: e.Pos()}
	for _, name := range e.Path[1:] {
		var err error
		if n, err = member(n, name.Text, e.Pos()); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// fieldIndex returns the index of the column with a name, or -1. With fold, if no name is equal, it returns
// the first one that differs only in case.
func (p *planner) fieldIndex(name string, fold bool) int {
	if at := p.schema.FieldIndices(name); at != nil {
		return at[0]
	}
	folded := -1
	for i := range p.schema.NumFields() {
		f := p.schema.Field(i)
		if fold && folded < 0 && equalFoldASCII(f.Name, name) {
			folded = i
		}
	}
	return folded
}

func equalFoldASCII(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// fieldNames lists the names of the first hundred fields for messages.
func fieldNames(fields []arrow.Field) string {
	const most = 100
	names := make([]string, 0, min(len(fields), most))
	for i, f := range fields {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(fields)-most))
			break
		}
		names = append(names, strconv.Quote(f.Name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// member selects a member of a struct, or the value of a key of a map.
func member(x *expr.Node, name string, pos int) (*expr.Node, error) {
	if x.Type == nil { // for example a call; coerce checks it once the type is set
		return &expr.Node{Op: expr.OpMember, Index: -1, Name: name, Args: []*expr.Node{x}, Pos: pos}, nil
	}
	if column.IsMap(x.Type) {
		return list.MapElement(x, expr.Literal(column.TextConstant(column.TypeString, name), pos), pos)
	}
	st, ok := x.Type.(*arrow.StructType)
	if !ok {
		return nil, sql.Errorf(sql.ErrType, pos, "member %q of something that is not a struct", name)
	}
	i, ok := st.FieldIdx(name)
	if !ok {
		of := ""
		if x.Op == expr.OpCol || x.Op == expr.OpMember {
			of = " of " + x.Name
		}
		return nil, sql.Errorf(sql.ErrUnknownColumn, pos, "no member %q%s; there are %s", name, of, fieldNames(st.Fields()))
	}
	f := st.Field(i)
	if !column.Loadable(f.Type) {
		return nil, sql.Errorf(sql.ErrUnsupported, pos, "member %q of type %s", name, f.Type)
	}
	return &expr.Node{Op: expr.OpMember, Type: column.ValueType(f.Type), Index: i, Name: name, Null: f.Nullable, Args: []*expr.Node{x}, Pos: pos}, nil
}

var binaryOps = map[syntax.BinaryOp]expr.Op{
	syntax.Or: expr.OpOr, syntax.And: expr.OpAnd, syntax.Eq: expr.OpEq, syntax.Ne: expr.OpNe, syntax.Lt: expr.OpLt, syntax.Le: expr.OpLe, syntax.Gt: expr.OpGt, syntax.Ge: expr.OpGe,
	syntax.Distinct: expr.OpDistinct, syntax.NotDistinct: expr.OpNotDistinct,
	syntax.Add: expr.OpAdd, syntax.Sub: expr.OpSub, syntax.Mul: expr.OpMul, syntax.Div: expr.OpDiv, syntax.Mod: expr.OpMod, syntax.Concat: expr.OpConcat,
	syntax.BitAnd: expr.OpBitAnd, syntax.BitOr: expr.OpBitOr, syntax.BitXor: expr.OpBitXor, syntax.ShiftLeft: expr.OpShiftLeft, syntax.ShiftRight: expr.OpShiftRight,
}

// binary plans an infix operator.
func (p *planner) binary(e *syntax.Binary) (*expr.Node, error) {
	op := binaryOps[e.Op]
	if op != expr.OpAnd && op != expr.OpOr || p.inCall {
		return p.node(expr.Node{Op: op, Pos: e.Pos()}, e.L, e.R)
	}
	// A chain of one logical operator becomes a balanced tree. Programs generate long chains, and a tree
	// with a thousand levels would be slow.
	nodes, err := p.chain(nil, e.Op, e.L)
	if err != nil {
		return nil, err
	}
	if nodes, err = p.chain(nodes, e.Op, e.R); err != nil {
		return nil, err
	}
	for len(nodes) > 1 {
		level := nodes[:0]
		for i := 0; i+1 < len(nodes); i += 2 {
			level = append(level, &expr.Node{Op: op, Args: []*expr.Node{nodes[i], nodes[i+1]}, Pos: e.Pos()})
		}
		if len(nodes)%2 != 0 {
			level = append(level, nodes[len(nodes)-1])
		}
		nodes = level
	}
	return nodes[0], nil
}

// chain plans the operands of a chain of one operator, in order. An operation in parentheses is a single
// operand.
func (p *planner) chain(nodes []*expr.Node, op syntax.BinaryOp, e syntax.Expr) ([]*expr.Node, error) {
	if b, ok := e.(*syntax.Binary); ok && b.Op == op && !b.Grouped {
		nodes, err := p.chain(nodes, op, b.L)
		if err != nil {
			return nil, err
		}
		return p.chain(nodes, op, b.R)
	}
	n, err := p.plan(e)
	return append(nodes, n), err
}

// cast plans a CAST. The names of types differ inside and outside of calls.
func (p *planner) cast(x *expr.Node, name syntax.TypeName, try bool, pos int) (*expr.Node, error) {
	typ := lanceType(name)
	if p.inCall {
		typ = callType(name)
	}
	if typ == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, pos, "type %s", name)
	}
	if p.grouped && typ.ID() == arrow.STRING { // native LanceDB casts to a string view, which a table cannot store
		return nil, sql.Errorf(sql.ErrUnsupported, pos, "CAST to a text in a query with GROUP BY")
	}
	return &expr.Node{Op: expr.OpCast, Type: typ, Args: []*expr.Node{x}, Try: try, Pos: pos}, nil
}

// caseExpr plans the operand, if any, before the branches.
func (p *planner) caseExpr(e *syntax.Case) (*expr.Node, error) {
	var args []syntax.Expr
	if e.X != nil {
		args = append(args, e.X)
	}
	for _, w := range e.Whens {
		args = append(args, w.Cond, w.Then)
	}
	if e.Else != nil {
		args = append(args, e.Else)
	}
	return p.node(expr.Node{Op: expr.OpCase, Exact: e.X != nil, Pos: e.Pos()}, args...)
}

// call plans a function call, to whose arguments DataFusion's rules apply.
func (p *planner) call(e *syntax.Call) (*expr.Node, error) {
	if e.Name == "is_valid" && !p.inCall { // Lance's own function; its argument is not inside a call
		if len(e.Args) != 1 {
			return nil, sql.Errorf(sql.ErrType, e.Pos(), "function is_valid takes 1 argument, not %d", len(e.Args))
		}
		return p.node(expr.Node{Op: expr.OpIsNull, Not: true, Pos: e.Pos()}, e.Args...)
	}
	if strings.EqualFold(e.Name, "get_field") && len(e.Args) == 2 {
		if name, ok := e.Args[1].(*syntax.Text); ok {
			return p.getField(e, name.Value)
		}
	}
	if e.Star || e.Distinct || e.Filter != nil || aggregate.Named(e.Name) {
		return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "aggregate function %s other than in a column of a query with GROUP BY, and within another", e.Name)
	}
	fn := fn.Named(e.Name)
	if fn == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "function %s", e.Name)
	}
	if p.volatile == "" && isVolatile(fn) {
		p.volatile = fn.Name
	}
	if read := calendar.ClockFunctions[fn.Name]; read != nil {
		fn.Bind = func(n *expr.Node) (*expr.Node, error) { return expr.Literal(read(p.now), n.Pos), nil }
	}
	if len(e.Args) < fn.MinArgs || len(e.Args) > fn.MaxArgs {
		return nil, sql.Errorf(sql.ErrType, e.Pos(), "function %s does not take %d arguments", e.Name, len(e.Args))
	}
	outer := p.inCall
	p.inCall = true
	n, err := p.node(expr.Node{Op: expr.OpCall, Func: fn, Pos: e.Pos()}, e.Args...)
	p.inCall = outer
	if err == nil && fn.Name == "arrow_typeof" && n.Args[0].Op == expr.OpCol && !column.SameType(n.Args[0].Type, p.schema.Field(n.Args[0].Index).Type) {
		return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "arrow_typeof of a dictionary")
	}
	return n, err
}

// isVolatile reports whether the values of a function depend on something else than its
// arguments: the time, chance, the build of the program or the schema.
func isVolatile(f *expr.Function) bool {
	switch f.Name {
	case "version", "arrow_typeof", "arrow_field", "arrow_metadata":
		return true
	}
	return f.PerRow != nil || calendar.ClockFunctions[f.Name] != nil
}

// getField plans get_field(x, 'name'), which is x['name'].
func (p *planner) getField(e *syntax.Call, name string) (*expr.Node, error) {
	outer := p.inCall
	p.inCall = true
	x, err := p.plan(e.Args[0])
	p.inCall = outer
	if err != nil {
		return nil, err
	}
	return member(x, name, e.Pos())
}
