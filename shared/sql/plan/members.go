package plan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// convertTo casts a value to the requested type. The members of a struct literal, such as LanceDB's clients
// write for a Python dict, are converted one by one, as native Lance does. They are matched by name;
// missing members are NULL, and additional values are dropped. Two structs without a common name have no
// conversion.
func convertTo(n *expr.Node, typ arrow.DataType) (*expr.Node, error) {
	to, wanted := typ.(*arrow.StructType)
	from, isStruct := n.Type.(*arrow.StructType)
	if !wanted || !isStruct || !makesStruct(n) || column.SameType(from, to) {
		return expr.CastTo(n, typ)
	}
	members, common := make([]*expr.Node, to.NumFields()), false
	for i, field := range to.Fields() {
		value := expr.Literal(column.Null(column.TypeNull), n.Pos)
		if at, ok := from.FieldIdx(field.Name); ok {
			value, common = n.Args[at], true
		}
		if !field.Nullable {
			return expr.CastTo(n, typ) // for the error that no conversion exists
		}
		if value.IsNullLiteral() && field.Type.ID() == arrow.STRUCT {
			members[i] = expr.Literal(column.Null(field.Type), n.Pos)
			continue
		}
		var err error
		if members[i], err = convertTo(value, field.Type); err != nil {
			return nil, err
		}
	}
	if !common {
		return expr.CastTo(n, typ)
	}
	made := n.With(members...)
	made.Type = to
	return made, nil
}

// makesStruct reports whether a node makes structs whose members are its arguments.
func makesStruct(n *expr.Node) bool {
	return n.Op == expr.OpCall && (n.Func.Name == "named_struct" || n.Func.Name == "struct")
}
