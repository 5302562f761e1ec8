package sql

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// typeTexts has the texts of types without parameters.
var typeTexts = map[arrow.Type]string{
	arrow.NULL: "Null", arrow.BOOL: "Boolean",
	arrow.INT8: "Int8", arrow.INT16: "Int16", arrow.INT32: "Int32", arrow.INT64: "Int64",
	arrow.UINT8: "UInt8", arrow.UINT16: "UInt16", arrow.UINT32: "UInt32", arrow.UINT64: "UInt64",
	arrow.FLOAT16: "Float16", arrow.FLOAT32: "Float32", arrow.FLOAT64: "Float64",
	arrow.STRING: "Utf8", arrow.LARGE_STRING: "LargeUtf8", arrow.STRING_VIEW: "Utf8View",
	arrow.BINARY: "Binary", arrow.LARGE_BINARY: "LargeBinary", arrow.BINARY_VIEW: "BinaryView",
	arrow.DATE32: "Date32", arrow.DATE64: "Date64",
	arrow.INTERVAL_MONTHS: "Interval(YearMonth)", arrow.INTERVAL_DAY_TIME: "Interval(DayTime)", arrow.INTERVAL_MONTH_DAY_NANO: "Interval(MonthDayNano)",
}

// typeText returns a type as DataFusion writes it.
//
// Source: arrow-schema 57, datatype_display.rs.
func typeText(t arrow.DataType) string {
	if text, ok := typeTexts[t.ID()]; ok {
		return text
	}
	switch t := t.(type) {
	case arrow.ExtensionType:
		return typeText(t.StorageType())
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return fmt.Sprintf("Timestamp(%s, %q)", unitText(t.Unit), t.TimeZone)
		}
		return "Timestamp(" + unitText(t.Unit) + ")"
	case *arrow.Time32Type:
		return "Time32(" + unitText(t.Unit) + ")"
	case *arrow.Time64Type:
		return "Time64(" + unitText(t.Unit) + ")"
	case *arrow.DurationType:
		return "Duration(" + unitText(t.Unit) + ")"
	case arrow.DecimalType:
		return fmt.Sprintf("Decimal%d(%d, %d)", t.BitWidth(), t.GetPrecision(), t.GetScale())
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("FixedSizeBinary(%d)", t.ByteWidth)
	case *arrow.DictionaryType:
		return fmt.Sprintf("Dictionary(%s, %s)", typeText(t.IndexType), typeText(t.ValueType))
	case *arrow.MapType:
		return fmt.Sprintf("Map(%q: %s, %s)", t.ElemField().Name, fieldText(t.ElemField()), map[bool]string{true: "sorted", false: "unsorted"}[t.KeysSorted])
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("FixedSizeList(%d x %s)", t.Len(), itemText(t.ElemField()))
	case *arrow.ListType:
		return "List(" + itemText(t.ElemField()) + ")"
	case *arrow.LargeListType:
		return "LargeList(" + itemText(t.ElemField()) + ")"
	case *arrow.StructType:
		parts := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			parts[i] = fmt.Sprintf("%q: %s", f.Name, fieldText(f))
		}
		return "Struct(" + strings.Join(parts, ", ") + ")"
	}
	return t.String()
}

// itemText returns the type of the items of a list, and their name if it is not the usual one.
func itemText(f arrow.Field) string {
	if f.Name == "item" {
		return fieldText(f)
	}
	return fmt.Sprintf("%s, field: '%s'", fieldText(f), f.Name)
}

// fieldText returns the type of an item or a member.
func fieldText(f arrow.Field) string {
	if f.Nullable {
		return typeText(f.Type)
	}
	return "non-null " + typeText(f.Type)
}

// unitText returns a unit of time.
func unitText(u arrow.TimeUnit) string { return strings.Replace(u.String(), "us", "µs", 1) }
