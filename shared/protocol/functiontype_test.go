package protocol_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
)

// functionTypes are texts of types with what they mean, as far as they are in the only form that
// clients write.
var functionTypes = map[string]arrow.DataType{
	"null": arrow.Null, "bool": arrow.FixedWidthTypes.Boolean, "int8": arrow.PrimitiveTypes.Int8, "uint64": arrow.PrimitiveTypes.Uint64,
	"float16": arrow.FixedWidthTypes.Float16, "utf8": arrow.BinaryTypes.String, "large_utf8": arrow.BinaryTypes.LargeString,
	"binary": arrow.BinaryTypes.Binary, "date32": arrow.FixedWidthTypes.Date32, "date64": arrow.FixedWidthTypes.Date64,
	"list<float32>":                     arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32),
	"large_list<utf8>":                  arrow.LargeListOfNonNullable(arrow.BinaryTypes.String),
	"fixed_size_list<float16, 8>":       arrow.FixedSizeListOfNonNullable(8, arrow.FixedWidthTypes.Float16),
	"list<fixed_size_list<float32, 3>>": arrow.ListOfNonNullable(arrow.FixedSizeListOfNonNullable(3, arrow.PrimitiveTypes.Float32)),
	"fixed_size_list<list<int32>, 2>":   arrow.FixedSizeListOfNonNullable(2, arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)),
	`{"type":"list","fields":[{"name":"item","type":{"type":"utf8"},"nullable":true}]}`:  arrow.ListOf(arrow.BinaryTypes.String),
	`{"type":"struct","fields":[{"name":"a","type":{"type":"int64"},"nullable":false}]}`: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}),
	`{"type":"fixed_size_binary","length":4}`:                                            &arrow.FixedSizeBinaryType{ByteWidth: 4},
}

var noFunctionTypes = []string{
	"", "list<>", "list<float32", "fixed_size_list<float32>[3]", "fixed_size_list<float32>", "fixed_size_list<float32, 0>",
	"fixed_size_list<float32, x>", "map<utf8, int32>", "decimal128(10, 2)", "timestamp[us]", "struct<a: int32>",
	"UTF8", "list <utf8>", "list<blob_v2>", "string", "{", `{"type":"struct"}`, `{"type":"utf8"} {}`, `{"type":"utf8","x":1}`,
	`{"type":"struct","fields":[{"name":"a","type":{"type":"utf8"}},{"name":"a","type":{"type":"utf8"}}]}`,
	strings.Repeat("list<", 40) + "utf8" + strings.Repeat(">", 40),
}

func TestTypesOfFunctions(t *testing.T) {
	for text, want := range functionTypes {
		got, err := protocol.ParseFunctionType(text)
		if err != nil || !arrow.TypeEqual(got, want) {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
			continue
		}
		if back, err := protocol.FunctionTypeText(got); err != nil || back != text {
			t.Errorf("%s is written as %s, %v", text, back, err)
		}
	}
	for _, text := range noFunctionTypes {
		if got, err := protocol.ParseFunctionType(text); err == nil {
			t.Errorf("%.60q: got %v, want an error", text, got)
		}
	}
	blob := functionapi.Field{Name: "b", ArrowType: "blob_v2"}
	if f, err := blob.Field(); err != nil || !blob.IsBlob() || f.Metadata.Len() != 1 {
		t.Errorf("blobs: got %v, %v", f, err)
	}
}

// What is read as a type can be written, and is then read as the same.
func FuzzFunctionType(f *testing.F) {
	for text := range functionTypes {
		f.Add(text)
	}
	for _, text := range noFunctionTypes {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := protocol.ParseFunctionType(text)
		if err != nil {
			return
		}
		written, err := protocol.FunctionTypeText(typ)
		if err != nil {
			return // a type of columns that JSON has no word for
		}
		again, err := protocol.ParseFunctionType(written)
		if err != nil || !protocol.SameFunctionType(typ, again) {
			t.Errorf("%q is %v, written as %q, which is %v, %v", text, typ, written, again, err)
		}
	})
}

// A list is the same whatever its items are called, and a struct is not.
func TestTypesOfColumnsThatFunctionsFit(t *testing.T) {
	member := func(name string, nullable bool) arrow.DataType {
		return arrow.StructOf(arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: nullable})
	}
	for _, c := range []struct {
		declared, column arrow.DataType
		same             bool
	}{
		{arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32), arrow.ListOf(arrow.PrimitiveTypes.Float32), true},
		{arrow.ListOf(arrow.PrimitiveTypes.Float32), arrow.ListOf(arrow.PrimitiveTypes.Float64), false},
		{arrow.ListOf(arrow.PrimitiveTypes.Float32), arrow.LargeListOf(arrow.PrimitiveTypes.Float32), false},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), false},
		{member("a", true), member("a", true), true},
		{member("a", true), member("b", true), false},
		{member("a", true), member("a", false), false},
		{arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Timestamp_ms, false},
	} {
		if got := protocol.SameFunctionType(c.declared, c.column); got != c.same {
			t.Errorf("%v and %v are the same: %v, want %v", c.declared, c.column, got, c.same)
		}
	}
}
