// Package types has the functions of types: casts to types by name, and the names of types.
package types

import (
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// Tables are the functions of types.
var Tables = []map[string]*expr.Function{castFunctions}

// castFunctions cast to types by their Rust arrow names, and return the names of types.
var castFunctions = map[string]*expr.Function{
	"arrow_typeof":     {MinArgs: 1, MaxArgs: 1, Bind: bindTypeOf},
	"cast_to_type":     {MinArgs: 2, MaxArgs: 2, Bind: bindCastToType},
	"try_cast_to_type": {MinArgs: 2, MaxArgs: 2, Bind: bindCastToType},

	"arrow_cast":     {MinArgs: 2, MaxArgs: 2, Bind: bindArrowCast},
	"arrow_try_cast": {MinArgs: 2, MaxArgs: 2, Bind: bindArrowCast},
}

// bindArrowCast takes the name of the type from a constant.
func bindArrowCast(n *expr.Node) (*expr.Node, error) {
	name := n.Args[1]
	if name.Op != expr.OpLit || !column.IsString(name.Type) || name.IsNullLiteral() {
		return nil, sql.Errorf(sql.ErrType, name.Pos, "%s to a type that is not a constant string", n.Func.Name)
	}
	text := string(name.Value.Data.(column.Text).At(0))
	typ, layout := parseType(text)
	if typ == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, name.Pos, "type %s", text)
	}
	x := n.Args[0]
	if !cast.Possible(x.Type, typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "cast of %s to %s", x.Type, typ)
	}
	made := &expr.Node{Op: expr.OpCast, Type: typ, Try: n.Func.Name == "arrow_try_cast", Args: []*expr.Node{x}, Pos: n.Pos}
	if layout {
		made.Name = text
	}
	return made, nil
}
