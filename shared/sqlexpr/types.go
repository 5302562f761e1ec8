package sqlexpr

import "github.com/apache/arrow-go/v18/arrow"

// Types that the stages name often. Types are compared with sameType, which looks into
// their parameters; their pointers may differ.
var (
	typeNull    = arrow.Null
	typeBool    = arrow.FixedWidthTypes.Boolean
	typeInt64   = arrow.PrimitiveTypes.Int64
	typeUint64  = arrow.PrimitiveTypes.Uint64
	typeFloat32 = arrow.PrimitiveTypes.Float32
	typeFloat64 = arrow.PrimitiveTypes.Float64
	typeString  = arrow.BinaryTypes.String
	typeBinary  = arrow.BinaryTypes.Binary
)

func sameType(a, b arrow.DataType) bool { return arrow.TypeEqual(a, b) }

func isSigned(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return true
	}
	return false
}

func isUnsigned(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

func isInteger(t arrow.DataType) bool { return isSigned(t) || isUnsigned(t) }

func isFloat(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return true
	}
	return false
}

func isDecimal(t arrow.DataType) bool {
	return t.ID() == arrow.DECIMAL128 || t.ID() == arrow.DECIMAL256
}

func isNumeric(t arrow.DataType) bool { return isInteger(t) || isFloat(t) || isDecimal(t) }

func isString(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }

func isBinary(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

func isDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

func isTime(t arrow.DataType) bool { return t.ID() == arrow.TIME32 || t.ID() == arrow.TIME64 }

func isTimestamp(t arrow.DataType) bool { return t.ID() == arrow.TIMESTAMP }

func isTemporal(t arrow.DataType) bool {
	return isDate(t) || isTime(t) || isTimestamp(t) || t.ID() == arrow.DURATION
}

func isList(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
		return true
	}
	return false
}

// isSimpleList reports whether the type is of lists of values that are not nested.
func isSimpleList(t arrow.DataType) bool { return isList(t) && !isNested(elemType(t)) }

func isNested(t arrow.DataType) bool { return isList(t) || t.ID() == arrow.STRUCT }

// precisionScale returns the parameters of a decimal type.
func precisionScale(t arrow.DataType) (precision, scale int32) {
	d := t.(arrow.DecimalType)
	return d.GetPrecision(), d.GetScale()
}

// Largest numbers of digits that decimals hold.
const (
	maxPrecision128 = 38
	maxPrecision256 = 76
)

// decimalLike returns a decimal type of the same width as t, with the digits and the
// scale cut down to what the width can hold.
func decimalLike(t arrow.DataType, precision, scale int32) arrow.DataType {
	if t.ID() == arrow.DECIMAL256 {
		return &arrow.Decimal256Type{Precision: min(precision, maxPrecision256), Scale: min(scale, maxPrecision256)}
	}
	return &arrow.Decimal128Type{Precision: min(precision, maxPrecision128), Scale: min(scale, maxPrecision128)}
}

func timestampType(unit arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

func isVarBinary(t arrow.DataType) bool {
	return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY
}

func elemType(t arrow.DataType) arrow.DataType { return t.(arrow.ListLikeType).Elem() }

// unitOf is the unit in which a type counts.
func unitOf(t arrow.DataType) arrow.TimeUnit { return t.(arrow.TemporalWithUnit).TimeUnit() }

func zoneOf(t arrow.DataType) string {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone
	}
	return ""
}

func bitWidth(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).BitWidth() }

// listLike is the type of lists of an element type, with long offsets if list has them.
func listLike(list, elem arrow.DataType) arrow.DataType {
	if list.ID() == arrow.LARGE_LIST {
		return arrow.LargeListOf(elem)
	}
	return arrow.ListOf(elem)
}

// Intervals are literals to add to dates and timestamps, or to subtract. They have months,
// days and nanoseconds apart, as these have no fixed proportion: a month is added on the
// calendar and a day on the clock, which may be 23 hours. The native Lance knows them inside
// of the arguments of functions only.
var typeInterval = arrow.FixedWidthTypes.MonthDayNanoInterval
