// Package syntax parses the text of an SQL expression into a tree of [Expr] (lexer.go,
// parse*.go), and prints the tree (print.go).
//
// The text a > 1 AND NOT b becomes
//
//	Binary{AND, Binary{>, Column{a}, Number{1}}, Unary{NOT, Column{b}}}
//
// Names are not resolved here, and types are not checked: package plan does both.
package syntax

// An Expr is a parsed expression: the tree of the text, without comments. Its concrete
// types are the pointers to the structs of this file. A tree does not change after Parse
// and may be shared.
type Expr interface {
	// String prints the expression. Parsing the text gives an equal tree.
	String() string
	// Pos returns the byte offset at which the expression begins. For an infix operation it is the offset
	// of the operator.
	Pos() int
}

// position is the offset of a node in the text.
type position int

// Pos returns the byte offset.
func (p position) Pos() int { return int(p) }

// A Number is a numeric literal.
type Number struct {
	position
	Text string // digits with optional fraction and exponent, and an immediately preceding sign
}

// A Text is a string literal. Double quotes delimit strings, too.
type Text struct {
	position
	Value string
}

// A Bytes is a binary literal, X'0a' or 0x0a.
type Bytes struct {
	position
	Digits string // hexadecimal, of any length
}

// A Bool is TRUE or FALSE.
type Bool struct {
	position
	Value bool
}

// A Null is the literal NULL.
type Null struct{ position }

// A TypedText is a string literal with a type before it, such as date '2024-01-31'.
type TypedText struct {
	position
	Type  TypeName
	Value string
}

// An Interval is a literal such as INTERVAL '1 month 2 days'.
type Interval struct {
	position
	Value string // numbers and units, such as "1 month 2 days"
}

// A Column names a column or a member of a struct, such as a.b or `a b`.c.
type Column struct {
	position
	Path []Name
}

// A Name is one component of a column path.
type Name struct {
	Text   string
	Quoted bool // written in backticks
}

// A Member is a member of a struct that is named by a string, x['name'].
type Member struct {
	position
	X    Expr
	Name string
}

// A Unary is NOT x or -x. The minus of a numeric literal belongs to the literal.
type Unary struct {
	position
	Op UnaryOp
	X  Expr
}

// A UnaryOp is a prefix operator.
type UnaryOp string

// The prefix operators.
const (
	Not UnaryOp = "NOT"
	Neg UnaryOp = "-"
)

// A Binary is an infix operator with its operands.
type Binary struct {
	position
	Op   BinaryOp
	L, R Expr
	// Grouped means that an AND or OR stands in parentheses. They do not change the value, but native Lance
	// plans a AND b AND c as one chain, and (a AND b) AND c as two.
	Grouped bool
}

// A BinaryOp is an infix operator.
type BinaryOp string

// The infix operators. <> and == are read as != and =.
const (
	Or          BinaryOp = "OR"
	And         BinaryOp = "AND"
	Eq          BinaryOp = "="
	Ne          BinaryOp = "!="
	Lt          BinaryOp = "<"
	Le          BinaryOp = "<="
	Gt          BinaryOp = ">"
	Ge          BinaryOp = ">="
	Distinct    BinaryOp = "IS DISTINCT FROM"
	NotDistinct BinaryOp = "IS NOT DISTINCT FROM"
	Add         BinaryOp = "+"
	Sub         BinaryOp = "-"
	Mul         BinaryOp = "*"
	Div         BinaryOp = "/"
	Mod         BinaryOp = "%"
	Concat      BinaryOp = "||"
	BitAnd      BinaryOp = "&"
	BitOr       BinaryOp = "|"
	BitXor      BinaryOp = "^"
	ShiftLeft   BinaryOp = "<<"
	ShiftRight  BinaryOp = ">>"
)

// An Is is x IS [NOT] NULL, TRUE or FALSE.
type Is struct {
	position
	X    Expr
	Test IsTest
	Not  bool
}

// An IsTest is the condition that IS tests.
type IsTest string

// The tests of IS.
const (
	IsNull  IsTest = "NULL"
	IsTrue  IsTest = "TRUE"
	IsFalse IsTest = "FALSE"
)

// An In is x [NOT] IN (list). The list is not empty.
type In struct {
	position
	X    Expr
	List []Expr
	Not  bool
}

// A Between is x [NOT] BETWEEN low AND high.
type Between struct {
	position
	X, Low, High Expr
	Not          bool
}

// A Like is x [NOT] LIKE pattern [ESCAPE 'c'], or ILIKE.
type Like struct {
	position
	X, Pattern Expr
	Escape     string // "" if not given
	Fold       bool   // ILIKE
	Not        bool
}

// A Cast is CAST(x AS type), x::type or TRY_CAST(x AS type).
type Cast struct {
	position
	X    Expr
	Type TypeName
	Try  bool // NULL where the value cannot be converted, instead of an error
}

// A TypeName is the name of a type in the text: its words in lower case, and the numbers in parentheses.
type TypeName struct {
	Name string // such as "timestamp" or "int unsigned"
	Args []int  // such as 10 and 2 of decimal(10, 2)
}

// A Case is CASE [x] WHEN … THEN … [ELSE …] END.
type Case struct {
	position
	X     Expr // nil for the form without operand
	Whens []When
	Else  Expr // nil if not given
}

// A When is one branch of a Case.
type When struct{ Cond, Then Expr }

// A Call is a function call.
type Call struct {
	position
	Name string // as written
	Args []Expr

	// These are of calls of aggregate functions, which only ParseGrouped and ParseSelect read.
	Star     bool // count(*)
	Distinct bool // equal arguments count once
	Filter   Expr // the rows that count; nil for all
}

// An Array is a list literal, [1, 2, 3].
type Array struct {
	position
	Elems []Expr
}
