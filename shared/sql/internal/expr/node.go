// Package expr defines the nodes of a compiled expression: operations with arguments, the rules for their
// types (types.go), and the parts of functions (function.go, signature.go). Package plan compiles syntax
// trees to nodes and evaluates them.
package expr

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
)

// An Op is the operation of a node.
type Op uint8

// The operations.
const (
	OpLit    Op = iota // val
	OpCol              // column index of the schema
	OpMember           // field index of args[0], a struct
	OpAnd
	OpOr
	OpNot
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpDistinct
	OpNotDistinct
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpConcat
	OpBitAnd
	OpBitOr
	OpBitXor
	OpShiftLeft
	OpShiftRight
	OpNeg
	OpIsNull  // inverted by not
	OpIsTrue  // inverted by not
	OpIsFalse // inverted by not
	OpIn      // args[0] in args[1:]; inverted by not
	OpBetween // args[0] between args[1] and args[2]; inverted by not
	OpLike    // args[0] like args[1]; inverted by not
	OpCast    // args[0] to typ; failures are NULL if try
	OpCase    // cond, value, cond, value, …, and a last value if their number is odd
	OpCall    // fn of args
	OpListLit // list of args; becomes OpLit
)

var opNames = [...]string{
	OpLit: "literal", OpCol: "column", OpMember: "member", OpAnd: "AND", OpOr: "OR", OpNot: "NOT",
	OpEq: "=", OpNe: "!=", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
	OpDistinct: "IS DISTINCT FROM", OpNotDistinct: "IS NOT DISTINCT FROM",
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpConcat: "||",
	OpBitAnd: "&", OpBitOr: "|", OpBitXor: "^", OpShiftLeft: "<<", OpShiftRight: ">>", OpNeg: "-",
	OpIsNull: "IS NULL", OpIsTrue: "IS TRUE", OpIsFalse: "IS FALSE", OpIn: "IN", OpBetween: "BETWEEN",
	OpLike: "LIKE", OpCast: "CAST", OpCase: "CASE", OpCall: "call", OpListLit: "list",
}

// String returns the SQL spelling of the operator.
func (op Op) String() string { return opNames[op] }

// IsComparison reports whether the operation compares two values.
func (op Op) IsComparison() bool { return OpEq <= op && op <= OpNotDistinct }

// IsArithmetic reports whether the operation is + - * / or %.
func (op Op) IsArithmetic() bool { return OpAdd <= op && op <= OpMod }

// IsBitwise reports whether the operation is & | ^ << or >>.
func (op Op) IsBitwise() bool { return OpBitAnd <= op && op <= OpShiftRight }

// A Node is an operation with its arguments, as in the intermediate form of a compiler. The
// stages between plan and simplify make new nodes where they change something; after Bind
// nothing changes any more.
type Node struct {
	Op   Op
	Type arrow.DataType // of the result; set by plan for leaves and by coerce for the rest
	Args []*Node
	Pos  int

	Value column.Vec // OpLit: a constant
	Index int        // OpCol, OpMember
	Name  string     // OpCol, OpMember: for messages; OpCast: the type, if Type has another layout
	Null  bool       // OpCol, OpMember: may be NULL
	Not   bool       // inverts the tests
	Fold  bool       // OpLike: ILIKE
	Given bool       // OpLike: ESCAPE is given, with the default escape character
	Try   bool       // OpCast
	Fixed bool       // an operation of nothing but constants; set by prepare
	Heavy bool       // a constant that is too much for Bind to compute
	Exact bool       // a comparison that the rewrites of simplify leave alone
	Func  *Function  // OpCall
	memo  Key        // the cached Key
	Ready any        // OpIn, OpLike, OpCall: prepared from constant arguments by Bind

	// Leaf is the only column, or struct member, on which the operation depends; nil if it depends on
	// several or none. Equal leaves of an expression are the same node. Set by prepare.
	Leaf *Node
}

// IsLeaf reports whether the node is a column or a member of a struct column.
func (n *Node) IsLeaf() bool {
	for n.Op == OpMember {
		n = n.Args[0]
	}
	return n.Op == OpCol
}

// Literal returns the node of a constant.
func Literal(val column.Vec, pos int) *Node {
	return &Node{Op: OpLit, Type: val.Type, Value: val, Pos: pos}
}

// Copy returns a copy of n that may be changed.
func (n *Node) Copy() *Node {
	m := *n
	m.memo = Key{}
	return &m
}

// With returns a copy of n with other arguments.
func (n *Node) With(args ...*Node) *Node {
	m := n.Copy()
	m.Args = args
	return m
}

// Binary returns an operation of two nodes at the position of n.
func (n *Node) Binary(op Op, typ arrow.DataType, l, r *Node) *Node {
	return &Node{Op: op, Type: typ, Args: []*Node{l, r}, Pos: n.Pos}
}

// IsNullLiteral reports whether the node is the literal NULL, of any type.
func (n *Node) IsNullLiteral() bool { return n.Op == OpLit && n.Value.IsNull(0) }

// BoolLiteral returns the value of a literal of type bool that is not NULL.
func (n *Node) BoolLiteral() (value, ok bool) {
	if n.Op != OpLit || n.Type.ID() != arrow.BOOL || n.Value.IsNull(0) {
		return false, false
	}
	return n.Value.Data.(column.Bitset).Has(0), true
}

// MayBeNull reports whether the node can be NULL, by the nullability in the schema.
func (n *Node) MayBeNull() bool { return n.Nullable(false) }

// Nullable reports whether a value may be NULL or, with declared, whether native Lance declares a column of
// the values as nullable. The two differ for IS TRUE, IS FALSE and IS DISTINCT FROM: their values are never
// NULL, but native Lance declares them as nullable if an operand is.
func (n *Node) Nullable(declared bool) bool {
	switch n.Op {
	case OpLit:
		return n.Value.IsNull(0)
	case OpCol:
		return n.Null
	case OpMember:
		return n.Null || n.Args[0].Nullable(declared)
	case OpIsNull:
		return false
	case OpIsTrue, OpIsFalse, OpDistinct, OpNotDistinct:
		if !declared {
			return false
		}
	case OpCall:
		return true
	case OpCase:
		return n.caseNullable(declared)
	case OpCast:
		if n.Try {
			return true
		}
	}
	for _, a := range n.Args {
		if a.Nullable(declared) {
			return true
		}
	}
	return false
}

// caseNullable implements Nullable for CASE. It ignores the value x of a branch with the condition x IS NOT
// NULL, the form of a planned coalesce. It does not do so in a CASE of bools, because native Lance rewrites
// that as AND and OR, and then no longer recognizes the condition.
func (n *Node) caseNullable(declared bool) bool {
	if len(n.Args)%2 == 0 || n.Args[len(n.Args)-1].Nullable(declared) {
		return true
	}
	for i := 0; i+1 < len(n.Args); i += 2 {
		cond, then := n.Args[i], n.Args[i+1]
		guarded := cond.Op == OpIsNull && cond.Not && n.Type.ID() != arrow.BOOL && cond.Args[0].Key() == then.Key()
		if !guarded && then.Nullable(declared) {
			return true
		}
	}
	return false
}

// IsWithin reports whether an operation has at most the given number of nodes.
func (n *Node) IsWithin(nodes int) bool {
	left := nodes
	var count func(n *Node) bool
	count = func(n *Node) bool {
		left--
		return left >= 0 && !slices.ContainsFunc(n.Args, func(a *Node) bool { return !count(a) })
	}
	return count(n)
}

// maxNodes bounds the size of an expression. coalesce, BETWEEN and other calls repeat an operand, so
// nesting them doubles the size at each level.
const maxNodes = 1 << 18

// CheckSize refuses an operation of too many nodes.
func (n *Node) CheckSize() error {
	if !n.IsWithin(maxNodes) {
		return sql.Errorf(sql.ErrTooLarge, n.Pos, "more than %d operations; nest fewer of coalesce, nullif and BETWEEN in each other", maxNodes)
	}
	return nil
}

// A Key identifies an operation.
type Key [sha256.Size]byte

// Key returns equal values for two nodes if and only if they are the same operation over the same columns.
// It is a cryptographic hash, so that no expression can cause a collision. The text of a node is no
// alternative, because its total size is quadratic in the depth.
func (n *Node) Key() Key {
	if n.memo != (Key{}) {
		return n.memo
	}
	b := []byte{byte(n.Op), byte(column.Bit(n.Not) | column.Bit(n.Fold)<<1 | column.Bit(n.Try)<<2 | column.Bit(n.Exact)<<3 | column.Bit(n.Given)<<4)}
	b = binary.LittleEndian.AppendUint32(b, uint32(n.Index))
	switch n.Op {
	case OpLit:
		b = n.Value.AppendIdentity(b)
	case OpCast:
		b = append(b, n.Type.String()...)
	case OpCall:
		b = append(b, n.Func.Name...)
		if n.Func.PerRow != nil { // no two calls are the same
			b = binary.LittleEndian.AppendUint64(b, uint64(n.Pos))
		}
	}
	for _, a := range n.Args {
		k := a.Key()
		b = append(b, k[:]...)
	}
	n.memo = sha256.Sum256(b)
	return n.memo
}

// IsNumber reports whether the node is a literal of a number.
func (n *Node) IsNumber(want int64) bool {
	if n.Op != OpLit || n.Value.IsNull(0) {
		return false
	}
	switch d := n.Value.Data.(type) {
	case []float32:
		return d[0] == float32(want)
	case []float64:
		return d[0] == float64(want)
	}
	x, ok := n.Value.Integer(0)
	if ok && column.IsDecimal(n.Type) {
		_, scale := column.PrecisionScale(n.Type)
		return x.Cmp(column.Rescale(big.NewInt(want), 0, scale)) == 0
	}
	return ok && column.IsInteger(n.Type) && x.Cmp(big.NewInt(want)) == 0
}
