package column

import "github.com/apache/arrow-go/v18/arrow"

// Types that the stages name often. Types are compared with SameType, which looks into
// their parameters; their pointers may differ.
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

// SameType says whether two types are the same with all of their parameters.
func SameType(a, b arrow.DataType) bool { return arrow.TypeEqual(a, b) }

// IsSigned says whether the type is of signed integers.
func IsSigned(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return true
	}
	return false
}

// IsUnsigned says whether the type is of unsigned integers.
func IsUnsigned(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

// IsInteger says whether the type is of integers.
func IsInteger(t arrow.DataType) bool { return IsSigned(t) || IsUnsigned(t) }

// IsFloat says whether the type is of floats of any width.
func IsFloat(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return true
	}
	return false
}

// IsDecimal says whether the type is of decimals that are computed with.
func IsDecimal(t arrow.DataType) bool {
	return t.ID() == arrow.DECIMAL128 || t.ID() == arrow.DECIMAL256
}

// IsNumeric says whether the type is of numbers.
func IsNumeric(t arrow.DataType) bool { return IsInteger(t) || IsFloat(t) || IsDecimal(t) }

// IsString says whether the type is of strings.
func IsString(t arrow.DataType) bool { return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING }

// IsBinary says whether the type is of binaries, of one width or any.
func IsBinary(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// IsDate says whether the type is of dates.
func IsDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

// IsTime says whether the type is of times of day.
func IsTime(t arrow.DataType) bool { return t.ID() == arrow.TIME32 || t.ID() == arrow.TIME64 }

// IsTimestamp says whether the type is of timestamps.
func IsTimestamp(t arrow.DataType) bool { return t.ID() == arrow.TIMESTAMP }

// IsTemporal says whether the type is of dates, times, timestamps or durations.
func IsTemporal(t arrow.DataType) bool {
	return IsDate(t) || IsTime(t) || IsTimestamp(t) || t.ID() == arrow.DURATION
}

// IsList says whether the type is of lists of any kind.
func IsList(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
		return true
	}
	return false
}

// IsSimpleList reports whether the type is of lists of values that are not nested.
func IsSimpleList(t arrow.DataType) bool { return IsList(t) && !IsNested(ElemType(t)) }

// IsNested says whether the type is of lists or structs.
func IsNested(t arrow.DataType) bool { return IsList(t) || t.ID() == arrow.STRUCT }

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

// DecimalLike returns a decimal type of the same width as t, with the digits and the
// scale cut down to what the width can hold.
func DecimalLike(t arrow.DataType, precision, scale int32) arrow.DataType {
	if t.ID() == arrow.DECIMAL256 {
		return &arrow.Decimal256Type{Precision: min(precision, MaxPrecision256), Scale: min(scale, MaxPrecision256)}
	}
	return &arrow.Decimal128Type{Precision: min(precision, MaxPrecision128), Scale: min(scale, MaxPrecision128)}
}

// TimestampType is the type of timestamps in a unit; zone is empty if they have none.
func TimestampType(unit arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

// IsVarBinary says whether the type is of binaries of any width.
func IsVarBinary(t arrow.DataType) bool {
	return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY
}

// ElemType is the type of the elements of a list type.
func ElemType(t arrow.DataType) arrow.DataType { return t.(arrow.ListLikeType).Elem() }

// UnitOf is the unit in which a type counts.
func UnitOf(t arrow.DataType) arrow.TimeUnit { return t.(arrow.TemporalWithUnit).TimeUnit() }

// ZoneOf is the time zone of a type of timestamps, empty if it has none.
func ZoneOf(t arrow.DataType) string {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone
	}
	return ""
}

// BitWidth is how many bits a value of a fixed width has.
func BitWidth(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).BitWidth() }

// ListLike is the type of lists of an element type, with long offsets if list has them.
func ListLike(list, elem arrow.DataType) arrow.DataType {
	if list.ID() == arrow.LARGE_LIST {
		return arrow.LargeListOf(elem)
	}
	return arrow.ListOf(elem)
}

// TypeInterval is the type of literals to add to dates and timestamps, or to subtract. They have
// months, days and nanoseconds apart, as these have no fixed proportion: a month is added on the
// calendar and a day on the clock, which may be 23 hours. Native Lance knows them inside of the
// arguments of functions only.
var TypeInterval = arrow.FixedWidthTypes.MonthDayNanoInterval
