package column

import "github.com/apache/arrow-go/v18/arrow"

// Types that many packages name. Compare types with SameType, because equal types may have
// different pointers.
var (
	TypeNull    = arrow.Null
	TypeBool    = arrow.FixedWidthTypes.Boolean
	TypeInt64   = arrow.PrimitiveTypes.Int64
	TypeUint64  = arrow.PrimitiveTypes.Uint64
	TypeFloat32 = arrow.PrimitiveTypes.Float32
	TypeFloat64 = arrow.PrimitiveTypes.Float64
	TypeString  = arrow.BinaryTypes.String
	TypeBinary  = arrow.BinaryTypes.Binary
)

// SameType reports whether two types are the same with all of their parameters.
func SameType(a, b arrow.DataType) bool { return arrow.TypeEqual(a, b) }

// IsSigned reports whether the type is of signed integers.
func IsSigned(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return true
	}
	return false
}

// IsUnsigned reports whether the type is of unsigned integers.
func IsUnsigned(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

// IsInteger reports whether the type is of integers.
func IsInteger(t arrow.DataType) bool { return IsSigned(t) || IsUnsigned(t) }

// IsFloat reports whether the type is of floats of any width.
func IsFloat(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return true
	}
	return false
}

// IsDecimal reports whether the type is of decimals that are computed with.
func IsDecimal(t arrow.DataType) bool {
	return t.ID() == arrow.DECIMAL128 || t.ID() == arrow.DECIMAL256
}

// IsNumeric reports whether the type is an integer, float or decimal type.
func IsNumeric(t arrow.DataType) bool { return IsInteger(t) || IsFloat(t) || IsDecimal(t) }

// IsString reports whether the type is of strings.
func IsString(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }

// IsBinary reports whether the type is of binaries, of one width or any.
func IsBinary(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// IsDate reports whether the type is of dates.
func IsDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

// IsTime reports whether the type is of times of day.
func IsTime(t arrow.DataType) bool { return t.ID() == arrow.TIME32 || t.ID() == arrow.TIME64 }

// IsTimestamp reports whether the type is of timestamps.
func IsTimestamp(t arrow.DataType) bool { return t.ID() == arrow.TIMESTAMP }

// IsTemporal reports whether the type is of dates, times, timestamps or durations.
func IsTemporal(t arrow.DataType) bool {
	return IsDate(t) || IsTime(t) || IsTimestamp(t) || t.ID() == arrow.DURATION
}

// IsList reports whether the type is of lists of any kind.
func IsList(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
		return true
	}
	return false
}

// IsSimpleList reports whether the type is a list type whose elements are not nested.
func IsSimpleList(t arrow.DataType) bool { return IsList(t) && !IsNested(ElemType(t)) }

// IsMap reports whether the type is of maps.
func IsMap(t arrow.DataType) bool { return t.ID() == arrow.MAP }

// IsNested reports whether the type is of lists, maps or structs.
func IsNested(t arrow.DataType) bool { return IsList(t) || IsMap(t) || t.ID() == arrow.STRUCT }

// PrecisionScale returns the parameters of a decimal type.
func PrecisionScale(t arrow.DataType) (precision, scale int32) {
	d := t.(arrow.DecimalType)
	return d.GetPrecision(), d.GetScale()
}

// Largest numbers of digits that decimals hold.
const (
	MaxPrecision128 = 38
	MaxPrecision256 = 76
)

// DecimalLike returns a decimal type of the same width as t. Precision and scale are
// limited to the digits that the width holds.
func DecimalLike(t arrow.DataType, precision, scale int32) arrow.DataType {
	if t.ID() == arrow.DECIMAL256 {
		return &arrow.Decimal256Type{Precision: min(precision, MaxPrecision256), Scale: min(scale, MaxPrecision256)}
	}
	return &arrow.Decimal128Type{Precision: min(precision, MaxPrecision128), Scale: min(scale, MaxPrecision128)}
}

// TimestampType returns the type of timestamps in a unit; zone is empty for timestamps
// without zone.
func TimestampType(unit arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

// IsVarBinary reports whether the type is of binaries of any width.
func IsVarBinary(t arrow.DataType) bool {
	return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY
}

// ElemType returns the type of the elements of a list type, or of the entries of a map type, which
// are structs of a key and a value.
func ElemType(t arrow.DataType) arrow.DataType { return t.(arrow.ListLikeType).Elem() }

// UnitOf returns the time unit of a type.
func UnitOf(t arrow.DataType) arrow.TimeUnit { return t.(arrow.TemporalWithUnit).TimeUnit() }

// ZoneOf returns the time zone of a type of timestamps, or "" if it has none.
func ZoneOf(t arrow.DataType) string {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone
	}
	return ""
}

// BitWidth returns the number of bits of a value of fixed width.
func BitWidth(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).BitWidth() }

// ListLike returns the type of lists of an element type, with long offsets if list has long
// offsets.
func ListLike(list, elem arrow.DataType) arrow.DataType {
	if list.ID() == arrow.LARGE_LIST {
		return arrow.LargeListOf(elem)
	}
	return arrow.ListOf(elem)
}

// TypeInterval is the type of interval literals, which can be added to dates and timestamps
// or subtracted from them. An interval has separate months, days and nanoseconds, because
// these have no fixed ratio: a month is added on the calendar, and a day on the clock,
// which may be 23 hours. Native Lance accepts intervals only inside the arguments of
// functions.
var TypeInterval = arrow.FixedWidthTypes.MonthDayNanoInterval
