package sqlexpr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/column"
)

// castTo casts a node to a type unless it has it.
func castTo(n *node, typ arrow.DataType) (*node, error) {
	if column.SameType(n.typ, typ) {
		return n, nil
	}
	if !cast.Possible(n.typ, typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "conversion of %s to %s", n.typ, typ)
	}
	return &node{op: opCast, typ: typ, args: []*node{n}, pos: n.pos}, nil
}

// coerceTo casts all arguments to a type, which is nil if there is none, and gives n the
// type of the result, or if that is nil the type of the arguments.
func coerceTo(n *node, typ, result arrow.DataType) (*node, error) {
	if typ == nil {
		return nil, mismatch(n)
	}
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = castTo(a, typ); err != nil {
			return nil, err
		}
	}
	n = n.with(args...)
	n.typ = result
	if result == nil {
		n.typ = typ
	}
	return n, nil
}

// mismatch is the error for arguments that do not go together.
func mismatch(n *node) error {
	types := make([]string, 0, len(n.args))
	for i, a := range n.args {
		if i == 4 {
			types = append(types, "…")
			break
		}
		types = append(types, a.typ.String())
	}
	name := n.op.String()
	if n.op == opCall {
		name = n.fn.name
	}
	return sql.Errorf(sql.ErrType, n.pos, "%s does not take %s", name, strings.Join(types, ", "))
}
