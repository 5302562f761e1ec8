package schema_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

func TestSchemasAreBounded(t *testing.T) {
	float, double, small := arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Uint8
	list := func(n int32, of arrow.DataType) arrow.DataType { return arrow.FixedSizeListOf(n, of) }
	binary := func(n int) arrow.DataType { return &arrow.FixedSizeBinaryType{ByteWidth: n} }
	var deep func(n int) arrow.DataType
	deep = func(n int) arrow.DataType {
		if n == 1 {
			return small
		}
		return arrow.ListOf(deep(n - 1))
	}
	cases := []struct {
		name    string
		types   []arrow.DataType
		refused string // "": it is not
	}{
		{"the longest vector", []arrow.DataType{list(8192, double)}, ""},
		{"a longer vector", []arrow.DataType{list(8193, float)}, "a vector of 8193 dimensions; at most 8192 are possible"},
		{"the longest list there is", []arrow.DataType{list(2_000_000_000, float)}, "2000000000 dimensions"},
		{"a matrix", []arrow.DataType{list(91, list(91, float))}, "a vector of 8281 dimensions"},
		{"lists beyond any integer", []arrow.DataType{list(math.MaxInt32, list(math.MaxInt32, list(math.MaxInt32, small)))}, "at most 1048576 are possible"},
		{"an image", []arrow.DataType{list(3*224*224, small)}, ""},
		{"the largest list of bytes", []arrow.DataType{list(1<<20, small)}, ""},
		{"a larger list of bytes", []arrow.DataType{list(1<<20+1, small)}, "1048577 bytes; at most 1048576 are possible"},
		{"a list of nothing", []arrow.DataType{list(math.MaxInt32, arrow.Null)}, "at most 1048576 are possible"},
		{"a list of bits", []arrow.DataType{list(8<<20+8, arrow.FixedWidthTypes.Boolean)}, "at most 1048576 are possible"},
		{"the largest binary", []arrow.DataType{binary(1 << 20)}, ""},
		{"a larger binary", []arrow.DataType{binary(1<<20 + 1)}, "1048577 bytes; at most 1048576 are possible"},
		{"inside a struct", []arrow.DataType{arrow.StructOf(arrow.Field{Name: "v", Type: list(8193, float)})}, `"c0.v"`},
		{"inside a list", []arrow.DataType{arrow.ListOf(list(8193, float))}, `"c0.item"`},
		{"the widest row", []arrow.DataType{binary(1 << 20), binary(1 << 20), list(8192, double)}, ""},
		{"a wider row", make17(binary(1 << 20)), "take 17825792 bytes in each row; at most 16777216 are possible"},
		{"deep", []arrow.DataType{deep(32)}, ""},
		{"deeper", []arrow.DataType{deep(33)}, "nested more than 32 deep"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var fields []arrow.Field
			for i, of := range c.types {
				fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: of, Nullable: true})
			}
			_, err := schema.FromArrow(arrow.NewSchema(fields, nil))
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (!errors.Is(err, schema.ErrBounds) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want one that says %q", err, c.refused)
			}
		})
	}
}

func make17(of arrow.DataType) []arrow.DataType {
	types := make([]arrow.DataType, 17)
	for i := range types {
		types[i] = of
	}
	return types
}

func TestColumnsAndFieldsAreCounted(t *testing.T) {
	columns := func(n int, of arrow.DataType) *arrow.Schema {
		fields := make([]arrow.Field, n)
		for i := range fields {
			fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: of}
		}
		return arrow.NewSchema(fields, nil)
	}
	small := arrow.PrimitiveTypes.Uint8
	five := arrow.StructOf([]arrow.Field{{Name: "a", Type: small}, {Name: "b", Type: small}, {Name: "c", Type: small}, {Name: "d", Type: small}}...)
	if _, err := schema.FromArrow(columns(schema.MaxColumns, small)); err != nil {
		t.Error(err)
	}
	if _, err := schema.FromArrow(columns(schema.MaxColumns+1, small)); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a column too many: %v", err)
	}
	if _, err := schema.FromArrow(columns(schema.MaxColumns, five)); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("too many fields: %v", err)
	}
}
