package sortkey_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/arrow/sortkey"
)

// Values decoded from keys equal the encoded values.
func TestValuesAreReadBackFromKeys(t *testing.T) {
	texts := []string{`null`, `""`, `"a"`, `"ab"`, `"a\u0000"`, `"a\u0000\u0000b"`, `"\u00ff"`}
	numbers := []string{`null`, `0`, `1`, `7`, `100`, `127`}
	signed := append(slices.Clone(numbers), `-1`, `-128`)
	floats := append(slices.Clone(signed), `0.5`, `-0.25`)
	for _, c := range []struct {
		t      arrow.DataType
		values []string
	}{
		{arrow.FixedWidthTypes.Boolean, []string{`null`, `true`, `false`}},
		{arrow.PrimitiveTypes.Int8, signed}, {arrow.PrimitiveTypes.Int16, signed},
		{arrow.PrimitiveTypes.Int32, signed}, {arrow.PrimitiveTypes.Int64, signed},
		{arrow.PrimitiveTypes.Uint8, numbers}, {arrow.PrimitiveTypes.Uint64, numbers},
		{arrow.FixedWidthTypes.Float16, floats}, {arrow.PrimitiveTypes.Float32, floats}, {arrow.PrimitiveTypes.Float64, floats},
		{arrow.BinaryTypes.String, texts}, {arrow.BinaryTypes.LargeString, texts},
		{arrow.PrimitiveTypes.Date32, []string{`null`, `"1969-12-31"`, `"2026-11-23"`}},
		{&arrow.Decimal128Type{Precision: 20, Scale: 2}, []string{`null`, `"1.25"`, `"-3.50"`}},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, []string{`null`, `"1969-12-31T23:59:59Z"`, `"2026-11-23T08:00:00Z"`}},
	} {
		rapid.Check(t, func(r *rapid.T) {
			picked := rapid.SliceOfN(rapid.SampledFrom(c.values), 0, 20).Draw(r, "values")
			text := "["
			for i, v := range picked {
				if i > 0 {
					text += ","
				}
				text += v
			}
			b := array.NewBuilder(memory.DefaultAllocator, c.t)
			if err := b.UnmarshalJSON([]byte(text + "]")); err != nil {
				r.Fatal(err)
			}
			want := b.NewArray()
			key, values := sortkey.Of(c.t, true), sortkey.NewValues(c.t)
			for i := range want.Len() {
				if rest := values.Append(append(key(nil, want, i), "rest"...)); string(rest) != "rest" {
					r.Fatalf("%s %s: %q is left of the key, want rest", c.t, want.ValueStr(i), rest)
				}
			}
			if got := values.Array(); !array.Equal(got, want) {
				r.Errorf("%s: got %v, want %v", c.t, got, want)
			}
		})
	}
}

func TestNestedValuesAreNotReadBack(t *testing.T) {
	for _, of := range []arrow.DataType{
		arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.Null,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	} {
		if sortkey.NewValues(of) != nil {
			t.Errorf("%s: got values, want none", of)
		}
	}
}
