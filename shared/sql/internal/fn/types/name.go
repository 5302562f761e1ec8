package types

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
)

// bindCastToType casts to the type of the second argument, whose value is ignored.
func bindCastToType(n *expr.Node) (*expr.Node, error) {
	x, to := n.Args[0], n.Args[1].Type
	if column.SameType(x.Type, to) {
		return x, nil
	}
	if !cast.Possible(x.Type, to) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "cast of %s to %s", x.Type, to)
	}
	return &expr.Node{Op: expr.OpCast, Type: to, Try: n.Func.Name == "try_cast_to_type", Args: []*expr.Node{x}, Pos: n.Pos}, nil
}

// bindTypeOf makes a constant of the name that Arrow has for the type in Rust.
func bindTypeOf(n *expr.Node) (*expr.Node, error) {
	name := rustType(n.Args[0].Type)
	if name == "" || n.Args[0].Op == expr.OpCast && n.Args[0].Name != "" {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "arrow_typeof of %s", n.Args[0].Type)
	}
	return expr.Literal(column.TextConstant(column.TypeString, name), n.Pos), nil
}

// rustType returns the name of a type in Rust's arrow crate, or "" if it is not in arrowTypes.
func rustType(t arrow.DataType) string {
	for name, known := range arrowTypes {
		if column.SameType(known, t) {
			return name
		}
	}
	units := [...]string{arrow.Second: "s", arrow.Millisecond: "ms", arrow.Microsecond: "µs", arrow.Nanosecond: "ns"}
	switch t := t.(type) {
	case *arrow.NullType:
		return "Null"
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return fmt.Sprintf("Timestamp(%s, %q)", units[t.Unit], t.TimeZone)
		}
		return fmt.Sprintf("Timestamp(%s)", units[t.Unit])
	case *arrow.Time32Type:
		return fmt.Sprintf("Time32(%s)", units[t.Unit])
	case *arrow.Time64Type:
		return fmt.Sprintf("Time64(%s)", units[t.Unit])
	case *arrow.DurationType:
		return fmt.Sprintf("Duration(%s)", units[t.Unit])
	case *arrow.Decimal128Type:
		return fmt.Sprintf("Decimal128(%d, %d)", t.Precision, t.Scale)
	case *arrow.Decimal256Type:
		return fmt.Sprintf("Decimal256(%d, %d)", t.Precision, t.Scale)
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("FixedSizeBinary(%d)", t.ByteWidth)
	case *arrow.StructType:
		return rustStruct(t)
	case *arrow.MapType:
		order := "unsorted"
		if t.KeysSorted {
			order = "sorted"
		}
		return fmt.Sprintf("Map(\"entries\": non-null %s, %s)", rustType(t.Elem()), order)
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("FixedSizeList(%d x %s)", t.Len(), rustMember(t.ElemField()))
	case *arrow.LargeListType:
		return fmt.Sprintf("LargeList(%s)", rustMember(t.ElemField()))
	case *arrow.ListType:
		return fmt.Sprintf("List(%s)", rustMember(t.ElemField()))
	}
	return ""
}

func rustStruct(t *arrow.StructType) string {
	s := "Struct("
	for i, f := range t.Fields() {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%q: %s", f.Name, rustMember(f))
	}
	return s + ")"
}

func rustMember(f arrow.Field) string {
	if !f.Nullable {
		return "non-null " + rustType(f.Type)
	}
	return rustType(f.Type)
}
