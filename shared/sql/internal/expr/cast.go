package expr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
)

// CastTo casts a node to a type, unless it already has that type.
func CastTo(n *Node, typ arrow.DataType) (*Node, error) {
	if column.SameType(n.Type, typ) {
		return n, nil
	}
	if !cast.Possible(n.Type, typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "conversion of %s to %s", n.Type, typ)
	}
	return &Node{Op: OpCast, Type: typ, Args: []*Node{n}, Pos: n.Pos}, nil
}

// CoerceTo casts all arguments to a type; nil means that they have no common type, which is
// an error. It sets the type of the result to result, or to the type of the arguments if
// that is nil.
func CoerceTo(n *Node, typ, result arrow.DataType) (*Node, error) {
	if typ == nil {
		return nil, Mismatch(n)
	}
	args := make([]*Node, len(n.Args))
	for i, a := range n.Args {
		var err error
		if args[i], err = CastTo(a, typ); err != nil {
			return nil, err
		}
	}
	n = n.With(args...)
	n.Type = result
	if result == nil {
		n.Type = typ
	}
	return n, nil
}

// Mismatch returns the error for arguments whose types the operation does not accept.
func Mismatch(n *Node) error {
	types := make([]string, 0, len(n.Args))
	for i, a := range n.Args {
		if i == 4 {
			types = append(types, "…")
			break
		}
		types = append(types, a.Type.String())
	}
	name := n.Op.String()
	if n.Op == OpCall {
		name = n.Func.Name
	}
	return sql.Errorf(sql.ErrType, n.Pos, "%s does not take %s", name, strings.Join(types, ", "))
}
