package protocol_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

func goldenSchema(t *testing.T) *arrow.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/schema.arrows")
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r.Schema()
}

func TestNamespaceSchemaIsThatOfTheReference(t *testing.T) {
	want, err := os.ReadFile("testdata/schema-namespace.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := protocol.EncodeSchema(protocol.DialectNamespace, goldenSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	precise := map[string]any{}
	for _, f := range g.(map[string]any)["fields"].([]any) {
		field := f.(map[string]any)
		typ := field["type"].(map[string]any)
		if text, ok := typ["precise"]; ok { // the reference has no such field
			precise[field["name"].(string)] = text
			delete(typ, "precise")
		}
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-reference +got):\n%s", diff)
	}
	texts := map[string]any{
		"t32": "time32[ms]", "t64": "time64[ns]", "ts": "timestamp[us]", "tsz": "timestamp[ms, tz=+08:00]", "dur": "duration[s]",
		"dec": "decimal128(10,2)", "dec256": "decimal256(40,3)", "dict": "dictionary<int16, utf8>",
	}
	if diff := cmp.Diff(texts, precise); diff != "" {
		t.Errorf("precise types (-want +got):\n%s", diff)
	}
}

func TestLanceDBSchemaNames(t *testing.T) {
	want := map[string]string{
		"nul": "null", "b": "bool", "i8": "int8", "u64": "uint64", "f16": "halffloat", "f32": "float", "f64": "double",
		"s": "string", "ls": "large_string", "bin": "binary", "lbin": "large_binary", "fsb": "fixed_size_binary",
		"d32": "date32:day", "d64": "date64:ms", "t32": "time32:ms", "t64": "time64:ns",
		"ts": "timestamp:us:-", "tsz": "timestamp:ms:+08:00", "dur": "duration:s",
		"dec": "decimal:128:10:2", "dec256": "decimal:256:40:3", "dict": "dict:string:int16:false",
		"l": "list", "ll": "large_list", "vec": "fixed_size_list", "st": "struct",
	}
	schema, err := protocol.EncodeSchema(protocol.DialectLanceDB, goldenSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range schema.Fields {
		got[f.Name] = f.Type.Type
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	vec, err := json.Marshal(schema.Fields[24])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"vec","type":{"type":"fixed_size_list","fields":[{"name":"item","type":{"type":"float"},"nullable":true}],"length":4},"nullable":true}`; string(vec) != want {
		t.Errorf("got %s, want %s", vec, want)
	}
}

func TestTypesWithoutAName(t *testing.T) {
	item := arrow.PrimitiveTypes.Int32
	cases := []struct {
		dialect protocol.Dialect
		typ     arrow.DataType
	}{
		{protocol.DialectNamespace, arrow.BinaryTypes.StringView},
		{protocol.DialectNamespace, arrow.RunEndEncodedOf(item, item)},
		{protocol.DialectNamespace, arrow.ListViewOf(item)},
		{protocol.DialectLanceDB, arrow.MapOf(arrow.BinaryTypes.String, item)},
		{protocol.DialectLanceDB, arrow.FixedWidthTypes.MonthInterval},
		{protocol.DialectLanceDB, &arrow.DictionaryType{IndexType: item, ValueType: arrow.ListOf(item)}},
		{protocol.DialectLanceDB, arrow.StructOf(arrow.Field{Name: "inner", Type: arrow.BinaryTypes.BinaryView})},
	}
	for _, c := range cases {
		schema := arrow.NewSchema([]arrow.Field{{Name: "outer", Type: c.typ}}, nil)
		_, err := protocol.EncodeSchema(c.dialect, schema)
		if protocol.CodeOf(err) != protocol.Unsupported || !strings.Contains(err.Error(), "er\": type ") {
			t.Errorf("%v in %v: %v, want Unsupported and the field", c.typ, c.dialect, err)
		}
	}
	deep := item
	for range 40 {
		deep = arrow.ListOf(deep)
	}
	if _, err := protocol.EncodeSchema(protocol.DialectLanceDB, arrow.NewSchema([]arrow.Field{{Name: "deep", Type: deep}}, nil)); protocol.CodeOf(err) != protocol.Unsupported {
		t.Errorf("deep type: %v, want Unsupported", err)
	}
}

func TestExtensionTypesKeepTheirNames(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{
		Name: "id", Type: extensions.NewUUIDType(),
		Metadata: arrow.MetadataFrom(map[string]string{"k": "v"}),
	}}, nil)
	got, err := protocol.EncodeSchema(protocol.DialectLanceDB, schema)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fields[0].Type.Type != "fixed_size_binary" || *got.Fields[0].Type.Length != 16 {
		t.Errorf("storage type is %+v, want 16 fixed bytes", got.Fields[0].Type)
	}
	if diff := cmp.Diff(map[string]string{"ARROW:extension:name": "arrow.uuid", "k": "v"}, got.Fields[0].Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestTypesOfDictionariesAreRead(t *testing.T) {
	for word, want := range map[string]arrow.DataType{
		`"dict:string:int32:false"`:         &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
		`{"type": "dict:int64:uint8:true"}`: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.PrimitiveTypes.Int64},
		`"dict:string:float:false"`:         nil,
		`"dict:string:int32"`:               nil,
		`"dict:string:int32:maybe"`:         nil,
	} {
		var name protocol.TypeName
		err := name.UnmarshalJSON([]byte(word))
		if want == nil {
			if err == nil {
				t.Errorf("%s: got %v, want an error", word, name.Type)
			}
		} else if err != nil || !arrow.TypeEqual(name.Type, want) {
			t.Errorf("%s: got %v, %v; want %v", word, name.Type, err, want)
		}
	}
}
