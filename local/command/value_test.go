package command

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// Values of every type as people read them. local/e2e/server/test_console.py compares the console with these texts.
func TestValuesOfAllTypes(t *testing.T) {
	const day, hour = `"2024-02-29T01:02:03.456789`, `"01:02:03`
	timestamp := func(unit arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: unit, TimeZone: zone}
	}
	decimal := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	for _, tt := range []struct {
		typ  arrow.DataType
		json string
		want []string
	}{
		{arrow.Null, `[null]`, []string{"null"}},
		{arrow.FixedWidthTypes.Boolean, `[true, false]`, []string{"true", "false"}},
		{arrow.PrimitiveTypes.Int64, `[9223372036854775807, -9223372036854775808]`, []string{"9223372036854775807", "-9223372036854775808"}},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, []string{"18446744073709551615"}},
		{arrow.PrimitiveTypes.Float32, `[0.1, 16777216, 1e-7, 3.4028235e38]`, []string{"0.1", "16777216", "1e-7", "3.4028235e+38"}},
		{arrow.PrimitiveTypes.Float64, `[0.1, 123456789.12345679, 1e6, 1e20, 1e21, 1e-5, 1e-7, 5e-324, "NaN", "Inf", "-Inf"]`,
			[]string{"0.1", "123456789.12345679", "1000000", "100000000000000000000", "1e+21", "0.00001", "1e-7", "5e-324", "NaN", "+Inf", "-Inf"}},
		{decimal, `["12.34", "-0.05", "12.30"]`, []string{"12.34", "-0.05", "12.30"}},
		{&arrow.Decimal256Type{Precision: 50, Scale: 1}, `["1234567890123456789012345678901234567890.5"]`, []string{"1234567890123456789012345678901234567890.5"}},
		{&arrow.Decimal128Type{Precision: 5, Scale: -2}, `["12300"]`, []string{"12300"}},
		{arrow.FixedWidthTypes.Date32, `["2024-02-29", "0001-01-01"]`, []string{"2024-02-29", "0001-01-01"}},
		{arrow.FixedWidthTypes.Date64, `["2024-02-29"]`, []string{"2024-02-29"}},
		{arrow.FixedWidthTypes.Time32s, `[` + hour + `"]`, []string{"01:02:03"}},
		{arrow.FixedWidthTypes.Time64ns, `[` + hour + `.000000001"]`, []string{"01:02:03.000000001"}},
		{timestamp(arrow.Second, ""), `["2024-02-29T01:02:03"]`, []string{"2024-02-29T01:02:03"}},
		{timestamp(arrow.Microsecond, ""), `[` + day + `"]`, []string{"2024-02-29T01:02:03.456789"}},
		{timestamp(arrow.Nanosecond, "UTC"), `[` + day + `001Z"]`, []string{"2024-02-29T01:02:03.456789001Z"}},
		{timestamp(arrow.Microsecond, "Europe/Berlin"), `[` + day + `Z"]`, []string{"2024-02-29T02:02:03.456789+01:00"}},
		{arrow.FixedWidthTypes.Duration_us, `[3600000001, -1]`, []string{"3600000001us", "-1us"}},
		{arrow.FixedWidthTypes.MonthInterval, `[{"months": 14}]`, []string{"14 months"}},
		{arrow.FixedWidthTypes.DayTimeInterval, `[{"days": 1, "milliseconds": 2}]`, []string{"1 days 2 ms"}},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, `[{"months": 1, "days": 2, "nanoseconds": 3}]`, []string{"1 months 2 days 3 ns"}},
		{arrow.BinaryTypes.String, `["a", "", null]`, []string{"a", "", "null"}},
		{arrow.BinaryTypes.LargeString, `["ä"]`, []string{"ä"}},
		{arrow.BinaryTypes.Binary, `["YWI=", "YQ=="]`, []string{"2 bytes", "1 byte"}},
		{&arrow.FixedSizeBinaryType{ByteWidth: 3}, `["YWJj"]`, []string{"616263"}},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["x", null]`, []string{"x", "null"}},
		{arrow.ListOf(arrow.PrimitiveTypes.Float32), `[[0.1, null], []]`, []string{"[0.1, null]", "[]"}},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Float64), `[["NaN", 1]]`, []string{`["NaN", 1]`}},
		{arrow.ListOf(decimal), `[["1.50"]]`, []string{`["1.50"]`}},
		{arrow.ListOf(arrow.FixedWidthTypes.Date32), `[["2024-02-29"]]`, []string{`["2024-02-29"]`}},
		{arrow.ListOf(arrow.BinaryTypes.Binary), `[["YWI="]]`, []string{`["YWI="]`}},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[[0.1, 0.2]]`, []string{"[0.1, 0.2]"}},
		{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}),
			`[{"a": 1, "b": "x<\"y"}, null]`, []string{`{"a": 1, "b": "x<\"y"}`, "null"}},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), `[[{"key": "k", "value": 1}]]`, []string{`[{"key": "k", "value": 1}]`}},
	} {
		column, _, err := array.FromJSON(memory.DefaultAllocator, tt.typ, strings.NewReader(tt.json))
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		checkTexts(t, column, tt.want)
	}

	halves := array.NewFloat16Builder(memory.DefaultAllocator)
	for _, bits := range []uint16{0x0001, 0x2e66, 0x7bff, 0xfc00} {
		halves.Append(float16.FromBits(bits))
	}
	checkTexts(t, halves.NewArray(), []string{"5.9604645e-8", "0.099975586", "65504", "-Inf"})
}

func checkTexts(t *testing.T, column arrow.Array, want []string) {
	t.Helper()
	got := make([]string, column.Len())
	for i := range got {
		got[i] = valueText(column, i)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", column.DataType(), diff)
	}
}
