package sql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The texts are those of DataFusion 55.
func TestTypesAreWrittenAsInDataFusion(t *testing.T) {
	for want, typ := range map[string]arrow.DataType{
		"Int64": arrow.PrimitiveTypes.Int64, "Boolean": arrow.FixedWidthTypes.Boolean, "LargeUtf8": arrow.BinaryTypes.LargeString,
		"Timestamp(µs)":                          &arrow.TimestampType{Unit: arrow.Microsecond},
		`Timestamp(ms, "UTC")`:                   &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"},
		"FixedSizeList(2 x Float32)":             arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32),
		"List(Int64)":                            arrow.ListOf(arrow.PrimitiveTypes.Int64),
		"List(non-null Int64)":                   arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64),
		"List(Int8, field: 'element')":           arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int8, Nullable: true}),
		`Struct("x": Int64, "y": non-null Utf8)`: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String}),
		"Decimal128(10, 2)":                      &arrow.Decimal128Type{Precision: 10, Scale: 2},
		"Dictionary(Int32, Utf8)":                &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
		`Map("entries": non-null Struct("key": non-null Utf8, "value": Int32), unsorted)`: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
		"Time32(s)": arrow.FixedWidthTypes.Time32s, "Duration(ns)": arrow.FixedWidthTypes.Duration_ns, "FixedSizeBinary(4)": &arrow.FixedSizeBinaryType{ByteWidth: 4},
	} {
		if got := typeText(typ); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
