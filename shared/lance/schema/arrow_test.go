package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

var (
	int32s   = arrow.PrimitiveTypes.Int32
	float32s = arrow.PrimitiveTypes.Float32
	text     = arrow.BinaryTypes.String
)

func member(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func table(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func marked(f arrow.Field, pairs ...string) arrow.Field {
	metadata := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		metadata[pairs[i]] = pairs[i+1]
	}
	f.Metadata = arrow.MetadataFrom(metadata)
	return f
}

func mustFromArrow(t *testing.T, fields ...arrow.Field) *Schema {
	t.Helper()
	s, err := FromArrow(table(fields...))
	if err != nil {
		t.Fatalf("FromArrow: %v", err)
	}
	return s
}

// Logical types as pylance 14.0.2 wrote them for the same Arrow types.
func TestArrowTypesGetTheNativeLogicalTypes(t *testing.T) {
	point := arrow.StructOf(member("x", float32s), member("y", float32s))
	cases := []struct {
		in       arrow.DataType
		logical  string
		encoding int32
		out      arrow.DataType // nil: the same
	}{
		{in: arrow.Null, logical: "null"},
		{in: arrow.FixedWidthTypes.Boolean, logical: "bool", encoding: 1},
		{in: arrow.PrimitiveTypes.Uint8, logical: "uint8", encoding: 1},
		{in: arrow.FixedWidthTypes.Float16, logical: "halffloat", encoding: 1},
		{in: float32s, logical: "float", encoding: 1},
		{in: arrow.PrimitiveTypes.Float64, logical: "double", encoding: 1},
		{in: text, logical: "string", encoding: 2},
		{in: arrow.BinaryTypes.LargeBinary, logical: "large_binary", encoding: 2},
		{in: arrow.BinaryTypes.StringView, logical: "string", encoding: 2, out: text},
		{in: arrow.BinaryTypes.BinaryView, logical: "binary", encoding: 2, out: arrow.BinaryTypes.Binary},
		{in: arrow.FixedWidthTypes.Date32, logical: "date32:day", encoding: 1},
		{in: arrow.FixedWidthTypes.Date64, logical: "date64:ms", encoding: 1},
		{in: arrow.FixedWidthTypes.Time32s, logical: "time32:s", encoding: 1},
		{in: arrow.FixedWidthTypes.Time64ns, logical: "time64:ns", encoding: 1},
		{in: arrow.FixedWidthTypes.Duration_us, logical: "duration:us", encoding: 1},
		{in: &arrow.TimestampType{Unit: arrow.Microsecond}, logical: "timestamp:us:-", encoding: 1},
		{in: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "+05:30"}, logical: "timestamp:ns:+05:30", encoding: 1},
		{in: &arrow.Decimal128Type{Precision: 10, Scale: 2}, logical: "decimal:128:10:2", encoding: 1},
		{in: &arrow.Decimal256Type{Precision: 50, Scale: -2}, logical: "decimal:256:50:-2", encoding: 1},
		{in: &arrow.FixedSizeBinaryType{ByteWidth: 3}, logical: "fixed_size_binary:3", encoding: 1},
		{in: arrow.FixedSizeListOf(4, float32s), logical: "fixed_size_list:float:4", encoding: 1},
		{in: arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(3, float32s)), logical: "fixed_size_list:fixed_size_list:float:3:2", encoding: 1},
		{in: arrow.FixedSizeListOf(2, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}), logical: "fixed_size_list:timestamp:s:UTC:2", encoding: 1},
		{in: arrow.FixedSizeListOf(2, &arrow.Decimal128Type{Precision: 9, Scale: 1}), logical: "fixed_size_list:decimal:128:9:1:2", encoding: 1},
		{in: arrow.FixedSizeListOf(2, point), logical: "fixed_size_list:struct:2", encoding: 1},
		{in: &arrow.DictionaryType{IndexType: int32s, ValueType: text}, logical: "dict:string:int32:false", encoding: 3},
		{in: arrow.ListOf(int32s), logical: "list", encoding: 1},
		{in: arrow.ListOf(point), logical: "list.struct", encoding: 1},
		{in: arrow.LargeListOf(point), logical: "large_list.struct", encoding: 1},
		{in: arrow.ListOfField(member("element", text)), logical: "list", encoding: 1},
		{in: point, logical: "struct"},
		{in: arrow.MapOf(text, int32s), logical: "map", encoding: 1},
	}
	for _, c := range cases {
		t.Run(c.logical, func(t *testing.T) {
			f := mustFromArrow(t, member("c", c.in)).Fields[0]
			if f.LogicalType != c.logical || f.Encoding != c.encoding {
				t.Errorf("logical type and encoding: got %s, %d, want %s, %d", f.LogicalType, f.Encoding, c.logical, c.encoding)
			}
			want := c.out
			if want == nil {
				want = c.in
			}
			if !arrow.TypeEqual(f.Type, want) {
				t.Errorf("type: got %s, want %s", f.Type, want)
			}
		})
	}
}

func TestFromArrowRefusesTypesThatLanceCannotStore(t *testing.T) {
	point := arrow.StructOf(member("x", float32s))
	cases := []struct {
		name   string
		fields []arrow.Field
	}{
		{"interval", []arrow.Field{member("bad", arrow.FixedWidthTypes.MonthDayNanoInterval)}},
		{"list view", []arrow.Field{member("bad", arrow.ListViewOf(int32s))}},
		{"run ends", []arrow.Field{member("bad", arrow.RunEndEncodedOf(int32s, text))}},
		{"small decimal", []arrow.Field{member("bad", &arrow.Decimal32Type{Precision: 5})}},
		{"wide decimal", []arrow.Field{member("bad", &arrow.Decimal128Type{Precision: 39})}},
		{"union", []arrow.Field{member("bad", arrow.SparseUnionOf([]arrow.Field{member("a", text)}, []arrow.UnionTypeCode{0}))}},
		{"vector of strings", []arrow.Field{member("bad", arrow.FixedSizeListOf(2, text))}},
		{"vector of lists", []arrow.Field{member("bad", arrow.FixedSizeListOf(2, arrow.ListOf(text)))}},
		{"vector of dictionaries", []arrow.Field{member("bad", arrow.FixedSizeListOf(2, &arrow.DictionaryType{IndexType: int32s, ValueType: text}))}},
		{"struct vector in a list", []arrow.Field{member("l", arrow.ListOfField(member("bad", arrow.FixedSizeListOf(2, point))))}},
		{"list in a struct vector", []arrow.Field{member("v", arrow.FixedSizeListOf(2, arrow.StructOf(member("bad", arrow.ListOf(text)))))}},
		{"dictionary of timestamps", []arrow.Field{member("bad", &arrow.DictionaryType{IndexType: int32s, ValueType: arrow.FixedWidthTypes.Timestamp_us})}},
		{"sorted map", []arrow.Field{member("bad", sortedMap())}},
		{"empty struct", []arrow.Field{member("bad", arrow.StructOf())}},
		{"twin members", []arrow.Field{member("bad", arrow.StructOf(member("a", text), member("a", text)))}},
		{"twin columns", []arrow.Field{member("bad", text), member("bad", text)}},
		{"nullable primary key", []arrow.Field{marked(member("bad", text), primaryKeyKey, "true")}},
		{"blob that is no struct", []arrow.Field{marked(member("bad", text), extensionName, blobV2Extension)}},
		{"huge vector", []arrow.Field{member("bad", arrow.FixedSizeListOf(1<<20, arrow.FixedSizeListOf(1<<20, text)))}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromArrow(table(c.fields...))
			if !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), `bad`) {
				t.Errorf("got error %v, want one that is ErrUnsupported and names the field", err)
			}
		})
	}
}

func sortedMap() arrow.DataType {
	m := arrow.MapOf(text, int32s)
	m.KeysSorted = true
	return m
}

func TestDeepNestingIsRefused(t *testing.T) {
	deep := arrow.DataType(text)
	for range maxDepth {
		deep = arrow.ListOf(deep)
	}
	if _, err := FromArrow(table(member("c", deep))); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("got error %v, want ErrUnsupported", err)
	}
}

func TestIDsAreGivenDepthFirst(t *testing.T) {
	s := mustFromArrow(t,
		marked(member("a", int32s), fieldIDKey, "77"),
		member("b", arrow.StructOf(member("x", arrow.ListOf(text)), member("y", text))),
		member("c", arrow.MapOf(text, int32s)))
	type node struct {
		Name       string
		ID, Parent int32
	}
	var got []node
	for f := range s.All() {
		got = append(got, node{f.Name, f.ID, f.ParentID})
	}
	want := []node{
		{"a", 0, -1}, {"b", 1, -1}, {"x", 2, 1}, {"item", 3, 2}, {"y", 4, 1},
		{"c", 5, -1}, {"entries", 6, 5}, {"key", 7, 6}, {"value", 8, 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if s.MaxFieldID() != 8 || s.Path(3) != "b.x.item" || s.ByID(4).Name != "y" || s.ByID(9) != nil {
		t.Errorf("lookups by id: max %d, path of 3 %q, 4 %v, 9 %v", s.MaxFieldID(), s.Path(3), s.ByID(4), s.ByID(9))
	}
	if len(s.Fields[0].Metadata) != 0 {
		t.Errorf("a suggested id is kept: %v", s.Fields[0].Metadata)
	}
	added, err := FromArrowAbove(table(member("d", int32s)), 8)
	if err != nil || added.Fields[0].ID != 9 {
		t.Errorf("above 8: got %v, %v", added, err)
	}
}

func TestExtensionTypesBecomeStorageAndMetadata(t *testing.T) {
	s := mustFromArrow(t,
		member("id", extensions.NewUUIDType()),
		marked(member("doc", text), extensionName, arrowJSON),
		member("half", arrow.FixedSizeListOfField(8, marked(member("item", &arrow.FixedSizeBinaryType{ByteWidth: 2}), extensionName, bfloat16Extension))))
	id, doc, half := s.Fields[0], s.Fields[1], s.Fields[2]
	if id.LogicalType != "fixed_size_binary:16" || id.Metadata[extensionName] != "arrow.uuid" {
		t.Errorf("uuid: got %s with %v", id.LogicalType, id.Metadata)
	}
	if !doc.IsJSON() || doc.Type.ID() != arrow.LARGE_BINARY || doc.Metadata[extensionName] != jsonExtension {
		t.Errorf("json: got %s, %s, %v", doc.LogicalType, doc.Type, doc.Metadata)
	}
	if half.LogicalType != "fixed_size_list:lance.bfloat16:8" {
		t.Errorf("bfloat16 vector: got %s", half.LogicalType)
	}
	if got := s.PB()[0].ExtensionName; got != "arrow.uuid" {
		t.Errorf("extension name in the message: got %q, want arrow.uuid", got)
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	s := mustFromArrow(t,
		marked(arrow.Field{Name: "key", Type: int32s}, primaryKeyPosKey, "1", clusteringKeyPosition, "2"),
		member("s", arrow.StructOf(member("v", arrow.FixedSizeListOf(3, float32s)), member("l", arrow.LargeListOf(text)))),
		member("fs", arrow.FixedSizeListOf(2, arrow.StructOf(member("x", float32s)))),
		member("m", arrow.MapOf(text, arrow.ListOf(int32s))))
	again, err := FromFields(s.PB(), s.Metadata)
	if err != nil {
		t.Fatalf("FromFields: %v", err)
	}
	if diff := cmp.Diff(s.PB(), again.PB()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if !again.Arrow().Equal(s.Arrow()) {
		t.Errorf("arrow schema: got %s, want %s", again.Arrow(), s.Arrow())
	}
	if k := again.Fields[0]; !k.PrimaryKey || k.PrimaryKeyPos != 1 || k.ClusteringKeyPos != 2 {
		t.Errorf("keys: got %+v", k)
	}
}

func TestBrokenTreesAreCorrupt(t *testing.T) {
	cases := map[string][]*pb.Field{
		"orphan":           {{ID: 1, ParentID: 0, LogicalType: "int32"}},
		"own parent":       {{ID: 0, ParentID: 0, LogicalType: "struct"}},
		"twin ids":         {{ID: 1, ParentID: -1, LogicalType: "int32"}, {ID: 1, ParentID: -1, LogicalType: "int32"}},
		"negative id":      {{ID: -3, ParentID: -1, LogicalType: "int32"}},
		"list of nothing":  {{ID: 0, ParentID: -1, LogicalType: "list"}},
		"scalar with kids": {{ID: 0, ParentID: -1, LogicalType: "int32"}, {ID: 1, ParentID: 0, LogicalType: "int32"}},
		"map of scalars":   {{ID: 0, ParentID: -1, LogicalType: "map"}, {ID: 1, ParentID: 0, LogicalType: "int32"}},
	}
	for name, fields := range cases {
		if _, err := FromFields(fields, nil); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
}

func TestUnknownLogicalTypesAreUnsupported(t *testing.T) {
	for _, logical := range []string{
		"", "int128", "timestamp:us", "timestamp:h:-", "decimal:64:5:1", "decimal:128:0:0", "decimal:128:5", "dict:string:int32",
		"dict:string:float:false", "dict:timestamp:us:-:int32:false", "fixed_size_list:float:0", "fixed_size_list:float:-1",
		"fixed_size_list:4", "fixed_size_list:float:99999999999", "fixed_size_list:fixed_size_list:float:2147483647:2",
		"fixed_size_binary:-1", "fixed_size_binary:x", strings.Repeat("fixed_size_list:", 100) + "float" + strings.Repeat(":1", 100),
	} {
		_, err := FromFields([]*pb.Field{{ID: 0, ParentID: -1, Name: "c", LogicalType: logical}}, nil)
		if !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("%q: got error %v, want ErrUnsupported", logical, err)
		}
	}
}

func FuzzFromFields(f *testing.F) {
	s, err := FromArrow(table(member("a", arrow.ListOf(arrow.StructOf(member("x", arrow.FixedSizeListOf(2, float32s)))))))
	if err != nil {
		f.Fatal(err)
	}
	var e pb.Encoder
	for _, m := range s.PB() {
		e.Message(1, m.Marshal)
	}
	f.Add(e.B)
	f.Fuzz(func(t *testing.T, b []byte) {
		var fields []*pb.Field
		for sc := pb.NewScanner(b); sc.Next(); {
			m := new(pb.Field)
			if m.Unmarshal(sc.Raw()) == nil {
				fields = append(fields, m)
			}
			if m := new(pb.Field); sc.Type == 2 && m.Unmarshal(sc.Bytes()) == nil {
				fields = append(fields, m)
			}
		}
		s, err := FromFields(fields, nil)
		if err != nil {
			return
		}
		s.Arrow()
		s.Leaves()
		again, err := FromFields(s.PB(), nil)
		if err != nil || len(again.PB()) != len(fields) {
			t.Fatalf("second reading: %v", err)
		}
	})
}
