package sqlexpr

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
)

// An opcode is what a node computes.
type opcode uint8

const (
	opLit    opcode = iota // val
	opCol                  // column index of the schema
	opMember               // field index of args[0], a struct
	opAnd
	opOr
	opNot
	opEq
	opNe
	opLt
	opLe
	opGt
	opGe
	opDistinct
	opNotDistinct
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opConcat
	opBitAnd
	opBitOr
	opBitXor
	opShiftLeft
	opShiftRight
	opNeg
	opIsNull  // inverted by not
	opIsTrue  // inverted by not
	opIsFalse // inverted by not
	opIn      // args[0] in args[1:]; inverted by not
	opBetween // args[0] between args[1] and args[2]; inverted by not
	opLike    // args[0] like args[1]; inverted by not
	opCast    // args[0] to typ; failures are NULL if try
	opCase    // cond, value, cond, value, …, and a last value if their number is odd
	opCall    // fn of args
	opListLit // list of args; becomes opLit
)

var opNames = [...]string{
	opLit: "literal", opCol: "column", opMember: "member", opAnd: "AND", opOr: "OR", opNot: "NOT",
	opEq: "=", opNe: "!=", opLt: "<", opLe: "<=", opGt: ">", opGe: ">=",
	opDistinct: "IS DISTINCT FROM", opNotDistinct: "IS NOT DISTINCT FROM",
	opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opMod: "%", opConcat: "||",
	opBitAnd: "&", opBitOr: "|", opBitXor: "^", opShiftLeft: "<<", opShiftRight: ">>", opNeg: "-",
	opIsNull: "IS NULL", opIsTrue: "IS TRUE", opIsFalse: "IS FALSE", opIn: "IN", opBetween: "BETWEEN",
	opLike: "LIKE", opCast: "CAST", opCase: "CASE", opCall: "call", opListLit: "list",
}

func (op opcode) String() string { return opNames[op] }

func (op opcode) isComparison() bool { return opEq <= op && op <= opNotDistinct }

func (op opcode) isArithmetic() bool { return opAdd <= op && op <= opMod }

func (op opcode) isBitwise() bool { return opBitAnd <= op && op <= opShiftRight }

// A node is an operation over arguments: one value of a compiled expression, as in the
// intermediate form of a compiler. The stages between plan and simplify make new nodes
// where they change something; after Bind nothing changes any more.
type node struct {
	op   opcode
	typ  arrow.DataType // of the result; set by plan for leaves and by coerce for the rest
	args []*node
	pos  int

	val   column.Vec // opLit: a constant
	index int        // opCol, opMember
	name  string     // opCol, opMember: for messages
	null  bool       // opCol, opMember: may be NULL
	not   bool       // inverts the tests
	fold  bool       // opLike: ILIKE
	given bool       // opLike: the escape character is given, which is the one that it always is
	try   bool       // opCast
	fixed bool       // an operation of nothing but constants; set by prepare
	heavy bool       // a constant that is too much for Bind to compute
	exact bool       // a comparison that the rewrites of simplify leave alone
	fn    *function  // opCall
	memo  nodeKey    // key, once it was asked for
	ready any        // opIn, opLike, opCall: what Bind prepared from constant arguments
}

// literal makes a node of a constant.
func literal(val column.Vec, pos int) *node {
	return &node{op: opLit, typ: val.Type, val: val, pos: pos}
}

// copy returns a copy of n to be changed.
func (n *node) copy() *node {
	m := *n
	m.memo = nodeKey{}
	return &m
}

// with returns a copy of n with other arguments.
func (n *node) with(args ...*node) *node {
	m := n.copy()
	m.args = args
	return m
}

// binary returns an operation of two nodes at the position of n.
func (n *node) binary(op opcode, typ arrow.DataType, l, r *node) *node {
	return &node{op: op, typ: typ, args: []*node{l, r}, pos: n.pos}
}

func (n *node) isNullLiteral() bool { return n.op == opLit && n.val.IsNull(0) }

// boolLiteral returns the value of a literal of type bool that is not NULL.
func (n *node) boolLiteral() (value, ok bool) {
	if n.op != opLit || n.typ.ID() != arrow.BOOL || n.val.IsNull(0) {
		return false, false
	}
	return n.val.Data.(column.Bitset).Has(0), true
}

// mayBeNull reports whether the node can be NULL as far as the schema tells.
func (n *node) mayBeNull() bool { return n.nullable(false) }

// nullable is mayBeNull, or whether a column that is declared to hold the values is one that
// may hold NULLs. Native Lance declares that of comparisons with TRUE and FALSE, too, which it
// computes as it does others.
func (n *node) nullable(declared bool) bool {
	switch n.op {
	case opLit:
		return n.val.IsNull(0)
	case opCol:
		return n.null
	case opMember:
		return n.null || n.args[0].nullable(declared)
	case opIsNull:
		return false
	case opIsTrue, opIsFalse, opDistinct, opNotDistinct:
		if !declared {
			return false
		}
	case opCall:
		return true
	case opCase:
		return n.caseNullable(declared)
	case opCast:
		if n.try {
			return true
		}
	}
	for _, a := range n.args {
		if a.nullable(declared) {
			return true
		}
	}
	return false
}

// caseNullable looks at all values of a CASE but those that are the values of their branches
// because they are not NULL, as coalesce makes them. Native Lance makes AND and OR of a CASE
// of bools and forgets that.
func (n *node) caseNullable(declared bool) bool {
	if len(n.args)%2 == 0 || n.args[len(n.args)-1].nullable(declared) {
		return true
	}
	for i := 0; i+1 < len(n.args); i += 2 {
		cond, then := n.args[i], n.args[i+1]
		guarded := cond.op == opIsNull && cond.not && n.typ.ID() != arrow.BOOL && cond.args[0].key() == then.key()
		if !guarded && then.nullable(declared) {
			return true
		}
	}
	return false
}

// isWithin says whether an operation is of no more than so many nodes.
func (n *node) isWithin(nodes int) bool {
	left := nodes
	var count func(n *node) bool
	count = func(n *node) bool {
		left--
		return left >= 0 && !slices.ContainsFunc(n.args, func(a *node) bool { return !count(a) })
	}
	return count(n)
}

// maxNodes bounds what becomes of an expression. Calls such as coalesce, and BETWEEN, have
// the same operand twice, those in each other as often as there are powers of two.
const maxNodes = 1 << 18

func (n *node) checkSize() error {
	if !n.isWithin(maxNodes) {
		return sql.Errorf(sql.ErrTooLarge, n.pos, "more than %d operations; nest fewer of coalesce, nullif and BETWEEN in each other", maxNodes)
	}
	return nil
}

// A nodeKey tells operations apart.
type nodeKey [sha256.Size]byte

// key returns what two nodes share if and only if they are the same operation over the same
// columns. It is a hash, as a text would grow with the square of the depth, and one that
// nobody can make collide.
func (n *node) key() nodeKey {
	if n.memo != (nodeKey{}) {
		return n.memo
	}
	b := []byte{byte(n.op), byte(column.Bit(n.not) | column.Bit(n.fold)<<1 | column.Bit(n.try)<<2 | column.Bit(n.exact)<<3 | column.Bit(n.given)<<4)}
	b = binary.LittleEndian.AppendUint32(b, uint32(n.index))
	switch n.op {
	case opLit:
		b = n.val.AppendIdentity(b)
	case opCast:
		b = append(b, n.typ.String()...)
	case opCall:
		b = append(b, n.fn.name...)
		if n.fn.perRow != nil { // no two calls are the same
			b = binary.LittleEndian.AppendUint64(b, uint64(n.pos))
		}
	}
	for _, a := range n.args {
		k := a.key()
		b = append(b, k[:]...)
	}
	n.memo = sha256.Sum256(b)
	return n.memo
}

// isNumber reports whether the node is a literal of a number.
func (n *node) isNumber(want int64) bool {
	if n.op != opLit || n.val.IsNull(0) {
		return false
	}
	switch d := n.val.Data.(type) {
	case []float32:
		return d[0] == float32(want)
	case []float64:
		return d[0] == float64(want)
	}
	x, ok := n.val.Integer(0)
	if ok && column.IsDecimal(n.typ) {
		_, scale := column.PrecisionScale(n.typ)
		return x.Cmp(column.Rescale(big.NewInt(want), 0, scale)) == 0
	}
	return ok && column.IsInteger(n.typ) && x.Cmp(big.NewInt(want)) == 0
}
