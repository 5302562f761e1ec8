package aggregate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/aggregate"
)

func TestTypesOfCalls(t *testing.T) {
	const refused = "refused"
	var (
		i8, i32, i64 = arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
		u16          = arrow.PrimitiveTypes.Uint16
		f32, f64     = arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64
		text         = arrow.BinaryTypes.String
		yes          = arrow.FixedWidthTypes.Boolean
		money        = &arrow.Decimal128Type{Precision: 10, Scale: 2}
		long         = &arrow.Decimal128Type{Precision: 36, Scale: 37}
		list         = arrow.ListOf(text)
	)
	for _, test := range []struct {
		call     string
		args     []arrow.DataType
		distinct bool
		cast     string // the types that arguments are cast to, refused for an error
		result   string
	}{
		{"count", nil, false, "[]", "int64"},
		{"count", []arrow.DataType{text, list}, false, "[utf8 " + list.String() + "]", "int64"},
		{"count", []arrow.DataType{text}, true, "[utf8]", "int64"},
		{"count", []arrow.DataType{list}, true, refused, ""},
		{"count", []arrow.DataType{text, text}, true, refused, ""},
		{"SUM", []arrow.DataType{i8}, false, "[int64]", "int64"},
		{"sum", []arrow.DataType{u16}, false, "[uint64]", "uint64"},
		{"sum", []arrow.DataType{f32}, false, "[float64]", "float64"},
		{"sum", []arrow.DataType{money}, false, "[decimal(10, 2)]", "decimal(20, 2)"},
		{"sum", []arrow.DataType{long}, false, "[decimal(36, 37)]", "decimal(38, 37)"},
		{"sum", []arrow.DataType{text}, false, refused, ""},
		{"sum", []arrow.DataType{yes}, false, refused, ""},
		{"sum", nil, false, refused, ""},
		{"sum", []arrow.DataType{i8, i8}, false, refused, ""},
		{"avg", []arrow.DataType{i32}, false, "[float64]", "float64"},
		{"mean", []arrow.DataType{money}, false, "[decimal(10, 2)]", "decimal(14, 6)"},
		{"avg", []arrow.DataType{long}, false, "[decimal(36, 37)]", "decimal(38, 38)"},
		{"min", []arrow.DataType{text}, false, "[utf8]", "utf8"},
		{"max", []arrow.DataType{list}, false, refused, ""},
		{"max", []arrow.DataType{&arrow.DictionaryType{IndexType: i8, ValueType: text}}, false, refused, ""},
		{"array_agg", []arrow.DataType{i64}, false, "[int64]", arrow.ListOf(i64).String()},
		{"array_agg", []arrow.DataType{list}, false, refused, ""},
		{"bool_and", []arrow.DataType{yes}, false, "[bool]", "bool"},
		{"bool_or", []arrow.DataType{i8}, false, refused, ""},
		{"bit_xor", []arrow.DataType{u16}, false, "[uint16]", "uint16"},
		{"bit_and", []arrow.DataType{f64}, false, refused, ""},
		{"var_samp", []arrow.DataType{i32}, false, "[float64]", "float64"},
		{"stddev", []arrow.DataType{f32}, false, "[float64]", "float64"},
		{"stddev", []arrow.DataType{f32}, true, refused, ""},
		{"median", []arrow.DataType{i32}, false, "[float64]", "float64"},
		{"median", []arrow.DataType{f32}, false, refused, ""},
	} {
		c, err := aggregate.Of(test.call, test.args, test.distinct)
		if err != nil {
			if test.cast != refused {
				t.Errorf("%s%v: %v", test.call, test.args, err)
			}
			continue
		}
		var cast []string
		for _, a := range c.Args {
			cast = append(cast, a.String())
		}
		if got := "[" + strings.Join(cast, " ") + "]"; got != test.cast || c.Type.String() != test.result {
			t.Errorf("%s%v casts to %s and gives %v, want %s and %s", test.call, test.args, got, c.Type, test.cast, test.result)
		}
		if count := c.Function == aggregate.Count; c.Nullable == count {
			t.Errorf("%s%v: nullable is %v", test.call, test.args, c.Nullable)
		}
	}
}

func TestNamesOfFunctions(t *testing.T) {
	for _, name := range []string{"count", "COUNT", "Mean", "stddev_samp"} {
		if !aggregate.Named(name) {
			t.Errorf("%s is no function", name)
		}
	}
	// Their results depend on the order of rows, or are approximate.
	others := []string{"first_value", "last_value", "approx_distinct", "approx_median", "string_agg", "abs", ""}
	if i := slices.IndexFunc(others, aggregate.Named); i >= 0 {
		t.Errorf("%q is a function", others[i])
	}
	if _, err := aggregate.Of("first_value", []arrow.DataType{arrow.PrimitiveTypes.Int64}, false); !errors.Is(err, aggregate.ErrName) {
		t.Errorf("got %v, want ErrName", err)
	}
}
