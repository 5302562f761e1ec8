// Package types has the functions of types: casts to types by name, and the names of types.
package types

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/expr"
)

// Tables are the functions of types.
var Tables = []map[string]*expr.Function{castFunctions}

// castFunctions are casts to types by the names that Arrow has for them in Rust, and say what
// type things have.
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
	typ := arrowType(text, maxTypeDepth)
	if typ == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, name.Pos, "type %s", text)
	}
	x := n.Args[0]
	if !cast.Possible(x.Type, typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "cast of %s to %s", x.Type, typ)
	}
	return &expr.Node{Op: expr.OpCast, Type: typ, Try: n.Func.Name == "arrow_try_cast", Args: []*expr.Node{x}, Pos: n.Pos}, nil
}

// arrowTypes are the types without parameters.
var arrowTypes = map[string]arrow.DataType{
	"Boolean": column.TypeBool, "Int8": arrow.PrimitiveTypes.Int8, "Int16": arrow.PrimitiveTypes.Int16,
	"Int32": arrow.PrimitiveTypes.Int32, "Int64": column.TypeInt64, "UInt8": arrow.PrimitiveTypes.Uint8,
	"UInt16": arrow.PrimitiveTypes.Uint16, "UInt32": arrow.PrimitiveTypes.Uint32, "UInt64": column.TypeUint64,
	"Float16": arrow.FixedWidthTypes.Float16, "Float32": column.TypeFloat32, "Float64": column.TypeFloat64,
	"Utf8": column.TypeString, "LargeUtf8": arrow.BinaryTypes.LargeString,
	"Binary": column.TypeBinary, "LargeBinary": arrow.BinaryTypes.LargeBinary,
	"Date32": arrow.FixedWidthTypes.Date32, "Date64": arrow.FixedWidthTypes.Date64,
}

var arrowUnits = map[string]arrow.TimeUnit{
	"Second": arrow.Second, "Millisecond": arrow.Millisecond, "Microsecond": arrow.Microsecond, "Nanosecond": arrow.Nanosecond,
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "µs": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// maxTypeDepth bounds how many lists are inside of each other.
const maxTypeDepth = 16

// arrowType is the type of a name such as Timestamp(Second, None), nil if there is none.
func arrowType(name string, depth int) arrow.DataType {
	if t, ok := arrowTypes[name]; ok {
		return t
	}
	name, rest, ok := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	if !ok || depth == 0 {
		return nil
	}
	if name == "List" || name == "LargeList" {
		return arrowList(name, arrowType(rest, depth-1))
	}
	args := strings.Split(rest, ",")
	for i := range args {
		args[i] = strings.TrimSpace(args[i])
	}
	unit, known := arrowUnits[args[0]]
	switch name {
	case "Time32", "Time64", "Duration":
		if !known || len(args) > 1 {
			return nil
		}
		return arrowTicks(name, unit)
	case "Timestamp":
		switch {
		case !known || len(args) > 2:
			return nil
		case len(args) == 1 || args[1] == "None":
			return column.TimestampType(unit, "")
		}
		zone := strings.TrimSuffix(strings.TrimPrefix(args[1], "Some("), ")")
		if zone = strings.Trim(zone, `"`); zone == "" {
			return nil
		}
		return column.TimestampType(unit, zone)
	case "Decimal128", "Decimal256":
		if len(args) != 2 {
			return nil
		}
		p, err1 := strconv.ParseInt(args[0], 10, 8)
		s, err2 := strconv.ParseInt(args[1], 10, 8)
		if err1 != nil || err2 != nil {
			return nil
		}
		return decimalOfName(name, int32(p), int32(s))
	}
	return nil
}

// arrowList is nil without a type of the elements.
func arrowList(name string, elem arrow.DataType) arrow.DataType {
	switch {
	case elem == nil:
		return nil
	case name == "LargeList":
		return arrow.LargeListOf(elem)
	}
	return arrow.ListOf(elem)
}

// arrowTicks is nil unless the unit is one of the type.
func arrowTicks(name string, unit arrow.TimeUnit) arrow.DataType {
	switch fine := unit == arrow.Microsecond || unit == arrow.Nanosecond; {
	case name == "Duration":
		return &arrow.DurationType{Unit: unit}
	case name == "Time64" && fine:
		return &arrow.Time64Type{Unit: unit}
	case name == "Time32" && !fine:
		return &arrow.Time32Type{Unit: unit}
	}
	return nil
}

// decimalOfName is nil unless the digits fit the width.
func decimalOfName(name string, p, s int32) arrow.DataType {
	most := int32(column.MaxPrecision128)
	if name == "Decimal256" {
		most = column.MaxPrecision256
	}
	if p < 1 || p > most || s < 0 || s > p {
		return nil
	}
	if name == "Decimal256" {
		return &arrow.Decimal256Type{Precision: p, Scale: s}
	}
	return &arrow.Decimal128Type{Precision: p, Scale: s}
}
