package expr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/column"
)

// The functions in this file return the common type of two types, or nil if there is none. They follow
// DataFusion (module type_coercion of its crate expr-common).

// ComparisonType returns the type in which values of two types are compared.
func ComparisonType(l, r arrow.DataType) arrow.DataType {
	return firstType(l, r, numericType, TemporalType, stringType, NullType,
		stringToNumber, stringToTemporal, binaryType)
}

// UnionType is the type of the branches of a CASE. In contrast to comparisons, numbers are
// converted to strings here, and not strings to numbers.
func UnionType(l, r arrow.DataType) arrow.DataType {
	return firstType(l, r, numericType, TemporalType, stringType, NullType,
		numberToString, stringToTemporal, binaryType)
}

// CoalesceType returns the result type of coalesce, which is also the common type of list elements and a
// searched value.
func CoalesceType(l, r arrow.DataType) arrow.DataType {
	return firstType(l, r, numericType, TemporalType, stringType, NullType, stringToNumber, binaryType)
}

// firstType returns the type itself if both are the same, and otherwise the first result of
// a rule that is not nil. The order of the rules is DataFusion's; it decides for pairs that
// fit several.
func firstType(l, r arrow.DataType, rules ...func(l, r arrow.DataType) arrow.DataType) arrow.DataType {
	if column.SameType(l, r) {
		return l
	}
	for _, rule := range rules {
		if t := rule(l, r); t != nil {
			return t
		}
	}
	return nil
}

// numericType is the type that can hold the values of two numeric types, exactly or nearly.
func numericType(l, r arrow.DataType) arrow.DataType {
	switch {
	case !column.IsNumeric(l) || !column.IsNumeric(r):
		return nil
	case column.SameType(l, r):
		return l
	case column.IsDecimal(l) || column.IsDecimal(r):
		return widerDecimal(l, r)
	}
	return PlainNumericType(l, r)
}

// PlainNumericType returns the common type of integers and floats, and of decimals and floats in
// arithmetic:
//
//	any float with anything     the wider float, also if an integer does not fit it
//	integers of one kind        the wider one
//	int8…int64 with uint8       int16 or wider
//	             with uint16    int32 or wider
//	             with uint32    int64
//	             with uint64    decimal(20, 0)
func PlainNumericType(l, r arrow.DataType) arrow.DataType {
	has := func(id arrow.Type) bool { return l.ID() == id || r.ID() == id }
	switch {
	case has(arrow.FLOAT64):
		return column.TypeFloat64
	case has(arrow.FLOAT32):
		return column.TypeFloat32
	case has(arrow.FLOAT16):
		return arrow.FixedWidthTypes.Float16
	case !column.IsInteger(l) || !column.IsInteger(r):
		return nil
	}
	if column.IsSigned(l) == column.IsSigned(r) {
		if column.BitWidth(l) >= column.BitWidth(r) {
			return l
		}
		return r
	}
	signed, unsigned := l, r
	if column.IsUnsigned(l) {
		signed, unsigned = r, l
	}
	if unsigned.ID() == arrow.UINT64 {
		return &arrow.Decimal128Type{Precision: 20, Scale: 0}
	}
	// The signed type that is wider than the unsigned one, or the signed operand's type if that is wider
	// still.
	wider := map[arrow.Type]arrow.DataType{
		arrow.UINT8: arrow.PrimitiveTypes.Int16, arrow.UINT16: arrow.PrimitiveTypes.Int32, arrow.UINT32: column.TypeInt64,
	}[unsigned.ID()]
	if column.BitWidth(signed) > column.BitWidth(wider) {
		return signed
	}
	return wider
}

// widerDecimal returns the decimal type in which a decimal and another number are compared.
func widerDecimal(l, r arrow.DataType) arrow.DataType {
	if !column.IsDecimal(l) {
		l, r = r, l
	}
	wide, limit := l, int32(math.MaxInt32)
	switch {
	case !column.IsDecimal(r):
		if r = decimalOf(r); r == nil {
			return nil
		}
	case l.ID() != r.ID():
		limit = column.MaxPrecision256
		if r.ID() == arrow.DECIMAL256 {
			wide = r
		}
	}
	p1, s1 := column.PrecisionScale(l)
	p2, s2 := column.PrecisionScale(r)
	scale := max(s1, s2)
	precision := max(p1-s1, p2-s2) + scale
	if precision > limit {
		return nil
	}
	return column.DecimalLike(wide, precision, scale)
}

// decimalOf is the decimal type that can hold a plain numeric type.
func decimalOf(t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.INT8, arrow.UINT8:
		return &arrow.Decimal128Type{Precision: 3}
	case arrow.INT16, arrow.UINT16:
		return &arrow.Decimal128Type{Precision: 5}
	case arrow.INT32, arrow.UINT32:
		return &arrow.Decimal128Type{Precision: 10}
	case arrow.INT64, arrow.UINT64:
		return &arrow.Decimal128Type{Precision: 20}
	case arrow.FLOAT16:
		return &arrow.Decimal128Type{Precision: 6, Scale: 3}
	case arrow.FLOAT32:
		return &arrow.Decimal128Type{Precision: 14, Scale: 7}
	case arrow.FLOAT64:
		return &arrow.Decimal128Type{Precision: 30, Scale: 15}
	}
	return nil
}

// TemporalType returns the type in which dates, times and timestamps are compared. The coarser of two units
// wins: '…00.5' compared with a column of seconds is '…00'.
func TemporalType(l, r arrow.DataType) arrow.DataType {
	nanos := column.TimestampType(arrow.Nanosecond, "")
	switch {
	case column.IsTimestamp(l) && column.IsTimestamp(r):
		lt, rt := l.(*arrow.TimestampType), r.(*arrow.TimestampType)
		zone := lt.TimeZone
		if zone == "" {
			zone = rt.TimeZone
		}
		return column.TimestampType(min(lt.Unit, rt.Unit), zone) // units are ordered from coarse to fine
	case l.ID() == arrow.DURATION && r.ID() == arrow.DURATION:
		return &arrow.DurationType{Unit: max(column.UnitOf(l), column.UnitOf(r))}
	case column.IsDate(l) && column.IsDate(r):
		return arrow.FixedWidthTypes.Date64
	case column.IsDate(l) && column.IsInteger(r):
		return l
	case column.IsInteger(l) && column.IsDate(r):
		return r
	case column.IsDate(l) && (column.IsTime(r) || column.IsTimestamp(r)), (column.IsTime(l) || column.IsTimestamp(l)) && column.IsDate(r):
		return nanos
	}
	return nil
}

// stringType is the string type with the longer offsets.
func stringType(l, r arrow.DataType) arrow.DataType {
	switch {
	case !column.IsString(l) || !column.IsString(r):
		return nil
	case l.ID() == arrow.LARGE_STRING:
		return l
	}
	return r
}

// NullType returns the other type if one of the types is NULL.
func NullType(l, r arrow.DataType) arrow.DataType {
	switch {
	case l.ID() == arrow.NULL:
		return r
	case r.ID() == arrow.NULL:
		return l
	}
	return nil
}

// stringToNumber compares a string with a number as numbers; the string must be a number.
func stringToNumber(l, r arrow.DataType) arrow.DataType {
	switch {
	case column.IsNumeric(l) && column.IsString(r):
		return l
	case column.IsString(l) && column.IsNumeric(r):
		return r
	}
	return nil
}

func numberToString(l, r arrow.DataType) arrow.DataType {
	switch {
	case column.IsNumeric(l) && column.IsString(r):
		return r
	case column.IsString(l) && column.IsNumeric(r):
		return l
	}
	return nil
}

// stringToTemporal returns the type to which a string is converted for a comparison with the other operand.
// The unit of a timestamp is fine enough for all digits of the string.
func stringToTemporal(l, r arrow.DataType) arrow.DataType {
	if column.IsString(r) {
		l, r = r, l
	}
	switch {
	case !column.IsString(l):
	case column.IsDate(r), column.IsTime(r):
		return r
	case column.IsTimestamp(r):
		return column.TimestampType(arrow.Nanosecond, r.(*arrow.TimestampType).TimeZone)
	}
	return nil
}

// binaryType is the type of two binaries, or of a binary and a string.
func binaryType(l, r arrow.DataType) arrow.DataType {
	if !column.IsBinary(l) {
		l, r = r, l
	}
	large := func(t arrow.DataType) bool {
		return t.ID() == arrow.LARGE_BINARY || t.ID() == arrow.LARGE_STRING
	}
	fixed := func(t arrow.DataType) bool { return t.ID() == arrow.FIXED_SIZE_BINARY }
	switch {
	case !column.IsBinary(l) || !column.IsBinary(r) && !column.IsString(r):
		return nil
	case fixed(l) || fixed(r):
		if l.ID() == arrow.BINARY || r.ID() == arrow.BINARY {
			return column.TypeBinary
		}
		return nil
	case large(l) || large(r):
		return arrow.BinaryTypes.LargeBinary
	}
	return column.TypeBinary
}

// LikeType returns the string type in which LIKE matches.
func LikeType(l, r arrow.DataType) arrow.DataType {
	if t := stringType(l, r); t != nil {
		return t
	}
	if column.IsBinary(r) {
		l, r = r, l
	}
	switch {
	case l.ID() == arrow.NULL && r.ID() == arrow.NULL:
		return column.TypeString
	case column.IsString(r) && (l.ID() == arrow.BINARY || l.ID() == arrow.LARGE_BINARY):
		if l.ID() == arrow.LARGE_BINARY || r.ID() == arrow.LARGE_STRING {
			return arrow.BinaryTypes.LargeString
		}
		return column.TypeString
	case l.ID() == arrow.NULL && column.IsString(r):
		return r
	case column.IsString(l) && r.ID() == arrow.NULL:
		return l
	}
	return nil
}

// ConcatType is the type of l || r.
func ConcatType(l, r arrow.DataType) arrow.DataType {
	if t := stringType(l, r); t != nil {
		return t
	}
	switch {
	case column.IsBinary(l) && column.IsBinary(r):
		plain := func(t arrow.DataType) arrow.DataType {
			if t.ID() == arrow.FIXED_SIZE_BINARY {
				return column.TypeBinary
			}
			return t
		}
		if l, r = plain(l), plain(r); column.SameType(l, r) {
			return l
		}
		return binaryType(l, r)
	case column.IsBinary(l) && r.ID() == arrow.NULL, l.ID() == arrow.NULL && column.IsBinary(r):
		t := NullType(l, r)
		return ConcatType(t, t)
	case column.IsBinary(l) || column.IsBinary(r):
		return nil
	case column.IsString(l) && (!column.IsNested(r) || cast.Possible(r, l)):
		return l
	case column.IsString(r) && (!column.IsNested(l) || cast.Possible(l, r)):
		return r
	}
	return nil
}

// ArithmeticTypes returns the types to which the operands of an arithmetic operator are cast, and the type
// of its result. All are nil if the operator does not accept the types.
func ArithmeticTypes(op Op, l, r arrow.DataType) (left, right, result arrow.DataType) {
	if l.ID() == arrow.NULL && r.ID() == arrow.NULL {
		return column.TypeInt64, column.TypeInt64, column.TypeInt64
	}
	if t := NullType(l, r); t != nil {
		l, r = t, t
	}
	switch {
	case !column.IsNumeric(l) || !column.IsNumeric(r):
		return nil, nil, nil
	case !column.IsDecimal(l) && !column.IsDecimal(r), column.IsFloat(l), column.IsFloat(r):
		t := l
		if !column.SameType(l, r) {
			t = PlainNumericType(l, r)
		}
		if column.IsDecimal(t) {
			// uint64 with a signed integer: the result has the type of the operation on two such decimals.
			return t, t, decimalResult(op, t, t)
		}
		return t, t, t
	}
	if column.IsDecimal(l) && column.IsDecimal(r) && l.ID() != r.ID() {
		t := widerDecimal(l, r)
		if t == nil {
			return nil, nil, nil
		}
		return t, t, decimalResult(op, t, t)
	}
	if !column.IsDecimal(l) {
		l = decimalOfWidth(r, l)
	}
	if !column.IsDecimal(r) {
		r = decimalOfWidth(l, r)
	}
	return l, r, decimalResult(op, l, r)
}

// decimalOfWidth is the decimal type, of the same width as like, that can hold an integer
// type.
func decimalOfWidth(like, t arrow.DataType) arrow.DataType {
	p, s := column.PrecisionScale(decimalOf(t))
	return column.DecimalLike(like, p, s)
}

// decimalResult returns the type of an operation on two decimals of one width, or nil if its scale would be
// too large. For decimal(p1, s1) and decimal(p2, s2):
//
//   - -   scale max(s1, s2)       digits scale + max(p1-s1, p2-s2) + 1
//   - scale s1 + s2           digits p1 + p2 + 1
//     /     scale s1 + 4            digits p1 - s1 + s2 + scale
//     %     scale max(s1, s2)       digits scale + min(p1-s1, p2-s2)
//
// The digits are limited by the width, which may leave too few for the scale. Then some results overflow
// that would otherwise fit.
//
// Source: arrow-arith 58, numeric.rs, decimal_op.
func decimalResult(op Op, l, r arrow.DataType) arrow.DataType {
	p1, s1 := column.PrecisionScale(l)
	p2, s2 := column.PrecisionScale(r)
	limit := int32(column.MaxPrecision128)
	if l.ID() == arrow.DECIMAL256 {
		limit = column.MaxPrecision256
	}
	switch op {
	case OpAdd, OpSub:
		return column.DecimalLike(l, max(s1, s2)+max(p1-s1, p2-s2)+1, max(s1, s2))
	case OpMul:
		if s1+s2 > limit {
			return nil
		}
		return column.DecimalLike(l, p1+p2+1, s1+s2)
	case OpDiv:
		scale := min(s1+4, limit)
		return column.DecimalLike(l, p1+scale-s1+s2, scale)
	default: // OpMod
		return column.DecimalLike(l, max(s1, s2)+min(p1-s1, p2-s2), max(s1, s2))
	}
}
