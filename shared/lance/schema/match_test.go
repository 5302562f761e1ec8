package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// batchOf builds a batch from rows of JSON.
func batchOf(t *testing.T, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatalf("rows: %v", err)
	}
	return batch
}

func TestMatchArrangesIncomingData(t *testing.T) {
	s := mustFromArrow(t,
		arrow.Field{Name: "id", Type: int32s},
		member("s", arrow.StructOf(member("x", int32s), member("gone", text), member("y", text))),
		member("absent", text),
		member("l", arrow.ListOf(arrow.StructOf(member("p", int32s), member("q", int32s)))))
	incoming := table(
		member("l", arrow.LargeListOf(text)), // replaced below
		marked(member("s", arrow.StructOf(member("y", text), member("x", int32s))), "note", "harmless"),
		member("id", int32s))
	fields := incoming.Fields()
	fields[0] = member("l", arrow.ListOfField(member("element", arrow.StructOf(member("q", int32s), member("p", int32s)))))
	incoming = table(fields...)

	m, err := s.Match(incoming)
	if err != nil {
		t.Fatalf("Match: %v", err)
	}
	var ids []int32
	for _, leaf := range m.Schema.Leaves() {
		ids = append(ids, leaf.ID)
	}
	if diff := cmp.Diff([]int32{0, 2, 4, 8, 9}, ids); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
	batch := batchOf(t, incoming, `[
		{"id": 1, "s": {"x": 10, "y": "a"}, "l": [{"p": 1, "q": 2}]},
		{"id": 2, "s": null, "l": null},
		{"id": 3, "s": {"x": null, "y": "c"}, "l": [{"p": 3, "q": 4}, {"p": 5, "q": 6}]}]`).NewSlice(1, 3)
	columns, err := m.Columns(batch)
	if err != nil {
		t.Fatalf("Columns: %v", err)
	}
	want := []string{`[2 3]`, `{[(null) (null)] [(null) "c"]}`, `[(null) {[3 5] [4 6]}]`}
	for i, column := range columns {
		if !arrow.TypeEqual(column.DataType(), m.Schema.Fields[i].Type) {
			t.Errorf("column %d: got type %s, want %s", i, column.DataType(), m.Schema.Fields[i].Type)
		}
		if got := column.String(); got != want[i] {
			t.Errorf("column %d: got %s, want %s", i, got, want[i])
		}
	}
}

func TestMatchSomeTakesAnyColumns(t *testing.T) {
	table, err := FromArrow(arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int8})},
	}, nil))
	if err != nil {
		t.Fatal(err)
	}
	id := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	if _, err := table.Match(id); !errors.Is(err, ErrMismatch) {
		t.Errorf("Match without s: got %v, want ErrMismatch", err)
	}
	if m, err := table.MatchSome(id); err != nil || len(m.Schema.Fields) != 1 {
		t.Errorf("MatchSome without s: got %v and error %v", m, err)
	}
	half := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8})}}, nil)
	if _, err := table.Match(half); !errors.Is(err, ErrMismatch) {
		t.Errorf("Match of half of s: got %v, want ErrMismatch", err)
	}
	if m, err := table.MatchSome(half); err != nil || len(m.Schema.Field("s").Children) != 1 {
		t.Errorf("MatchSome of half of s: got %v and error %v", m, err)
	}
	if _, err := table.MatchMembers(half); !errors.Is(err, ErrMismatch) {
		t.Errorf("MatchMembers without id: got %v, want ErrMismatch", err)
	}
}

func TestMatchSaysWhatDiffers(t *testing.T) {
	s := mustFromArrow(t,
		arrow.Field{Name: "id", Type: int32s},
		member("name", text),
		member("v", arrow.FixedSizeListOf(4, float32s)),
		member("s", arrow.StructOf(arrow.Field{Name: "must", Type: text}, member("may", text))),
		marked(member("doc", text), extensionName, arrowJSON))
	id := member("id", int32s)
	cases := []struct {
		name   string
		fields []arrow.Field
		says   []string
	}{
		{"unknown column", []arrow.Field{id, member("extra", text)}, []string{"extra", "utf8"}},
		{"missing column", []arrow.Field{member("name", text)}, []string{"id", "missing"}},
		{"other type", []arrow.Field{id, member("name", arrow.BinaryTypes.LargeString)}, []string{"name", "utf8", "large_utf8"}},
		{"view", []arrow.Field{id, member("name", arrow.BinaryTypes.StringView)}, []string{"name", "string_view"}},
		{"other dimension", []arrow.Field{id, member("v", arrow.FixedSizeListOf(5, float32s))}, []string{"v", "[4]", "[5]"}},
		{"missing member", []arrow.Field{id, member("s", arrow.StructOf(member("may", text)))}, []string{"s.must", "missing"}},
		{"unknown member", []arrow.Field{id, member("s", arrow.StructOf(member("must", text), member("z", text)))}, []string{"s.z"}},
		{"twins", []arrow.Field{id, id}, []string{"two fields id"}},
		{"bytes for json", []arrow.Field{id, member("doc", arrow.BinaryTypes.LargeBinary)}, []string{"doc", "json", "large_binary"}},
		{"interval", []arrow.Field{member("id", arrow.FixedWidthTypes.MonthInterval)}, []string{"id", "month_interval"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Match(table(c.fields...))
			if !errors.Is(err, ErrMismatch) {
				t.Fatalf("got error %v, want ErrMismatch", err)
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
		})
	}
}

func TestNullsWhereTheTableHasNoneAreRefused(t *testing.T) {
	required := arrow.Field{Name: "r", Type: int32s}
	s := mustFromArrow(t, required,
		member("s", arrow.StructOf(required)),
		member("l", arrow.ListOf(arrow.StructOf(required))))
	loose := member("r", int32s)
	incoming := table(loose, member("s", arrow.StructOf(loose)), member("l", arrow.ListOf(arrow.StructOf(loose))))
	m, err := s.Match(incoming)
	if err != nil {
		t.Fatalf("Match: %v", err)
	}
	cases := []struct {
		row string
		bad string // the field, "" for none
	}{
		{`{"r": 1, "s": {"r": 1}, "l": [{"r": 1}]}`, ""},
		{`{"r": 1, "s": null, "l": null}`, ""},
		{`{"r": 1, "s": {"r": 1}, "l": [null]}`, ""},
		{`{"r": null, "s": null, "l": null}`, "field r "},
		{`{"r": 1, "s": {"r": null}, "l": null}`, "field s.r "},
		{`{"r": 1, "s": null, "l": [{"r": 1}, {"r": null}]}`, "field l.item.r "},
	}
	for _, c := range cases {
		_, err := m.Columns(batchOf(t, incoming, "["+c.row+"]"))
		if c.bad == "" && err != nil {
			t.Errorf("%s: %v", c.row, err)
		}
		if c.bad != "" && (!errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("%s: got error %v, want ErrMismatch about %s", c.row, err, c.bad)
		}
	}
}

func TestMapsMatchWhateverTheirMembersAreCalled(t *testing.T) {
	s := mustFromArrow(t, member("m", arrow.MapOf(text, int32s)))
	messages := s.PB()
	messages[2].Name, messages[3].Name = "k", "v"
	s, err := FromFields(messages, nil)
	if err != nil {
		t.Fatal(err)
	}
	incoming := table(member("m", arrow.MapOf(text, int32s)))
	m, err := s.Match(incoming)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := m.Columns(batchOf(t, incoming, `[{"m": [{"key": "a", "value": 1}]}, {"m": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := columns[0].String(), `[{["a"] [1]} (null)]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
