package schema

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPathsAreParsed(t *testing.T) {
	cases := []struct {
		path string
		want []string // nil: an error
	}{
		{"a", []string{"a"}},
		{"a.b.c", []string{"a", "b", "c"}},
		{"a.`b.c`", []string{"a", "b.c"}},
		{"`a``b`.c-d", []string{"a`b", "c-d"}},
		{"", nil}, {".", nil}, {"a.", nil}, {".a", nil}, {"a..b", nil},
		{"a`b", nil}, {"`a", nil}, {"`a`b", nil}, {"``", nil},
	}
	for _, c := range cases {
		got, err := ParsePath(c.path)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("ParsePath(%q): got %q, %v, want %q", c.path, got, err, c.want)
		}
	}
}

func TestFormattedPathsParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching("[a-z.`é ]{1,6}"), 1, 4).Draw(t, "names")
		got, err := ParsePath(FormatPath(names...))
		if err != nil || !cmp.Equal(got, names) {
			t.Fatalf("got %q, %v, want %q", got, err, names)
		}
	})
}

func nested(t *testing.T) *Schema {
	return mustFromArrow(t,
		member("id", int32s),
		member("s", arrow.StructOf(member("x", text), member("y.z", text), member("l", arrow.ListOf(arrow.StructOf(member("p", text), member("q", text)))))),
		marked(member("packed", arrow.StructOf(member("a", int32s), member("b", int32s))), packedKey, "true"),
		member("m", arrow.MapOf(text, int32s)))
}

func TestProjectKeepsIDsAndTheOrderAsked(t *testing.T) {
	s := nested(t)
	cases := []struct {
		names []string
		want  string
		ids   []int32 // of the leaves
	}{
		{[]string{"s.x", "id"}, "struct<x: utf8>, int32", []int32{2, 0}},
		{[]string{"s.`y.z`", "s.x"}, "struct<x: utf8, y.z: utf8>", []int32{2, 3}},
		{[]string{"s.l.item.q"}, "struct<l: list<item: struct<q: utf8>>>", []int32{7}},
		{[]string{"s.x", "s"}, "struct<x: utf8, y.z: utf8, l: list<item: struct<p: utf8, q: utf8>>>", []int32{2, 3, 6, 7}},
		{[]string{"packed.b"}, "struct<a: int32, b: int32>", []int32{8}},
		{[]string{"m.entries.key"}, "map<utf8, int32, items_nullable>", []int32{13, 14}},
		{nil, "", nil},
	}
	for _, c := range cases {
		p, err := s.Project(c.names)
		if err != nil {
			t.Errorf("Project(%q): %v", c.names, err)
			continue
		}
		var types string
		for i, f := range p.Fields {
			if i > 0 {
				types += ", "
			}
			types += typeText(f.Type)
		}
		var ids []int32
		for _, leaf := range p.Leaves() {
			ids = append(ids, leaf.ID)
		}
		if diff := cmp.Diff(c.ids, ids); diff != "" || types != c.want {
			t.Errorf("Project(%q): got %s with leaves %v, want %s with %v", c.names, types, ids, c.want, c.ids)
		}
	}
	for _, name := range []string{"nope", "s.nope", "id.x", "s.", ""} {
		if _, err := s.Project([]string{name}); !errors.Is(err, ErrUnknownField) {
			t.Errorf("Project(%q): got error %v, want ErrUnknownField", name, err)
		}
	}
}

// typeText is the type without ", nullable" behind every member.
func typeText(t arrow.DataType) string {
	s, ok := t.(*arrow.StructType)
	if !ok {
		if l, ok := t.(*arrow.ListType); ok {
			return "list<item: " + typeText(l.Elem()) + ">"
		}
		return t.String()
	}
	out := "struct<"
	for i, f := range s.Fields() {
		if i > 0 {
			out += ", "
		}
		out += f.Name + ": " + typeText(f.Type)
	}
	return out + ">"
}

func TestLeavesAreThePhysicalColumns(t *testing.T) {
	s := mustFromArrow(t,
		member("s", arrow.StructOf(member("x", text), member("v", arrow.FixedSizeListOf(4, float32s)))),
		member("fs", arrow.FixedSizeListOf(2, arrow.StructOf(member("a", int32s)))),
		marked(member("p", arrow.StructOf(member("a", int32s), member("b", int32s))), packedKey, "TRUE"),
		marked(member("b", arrow.BinaryTypes.LargeBinary), blobKey, "true"),
		member("l", arrow.ListOf(int32s)))
	names := func(fields []*Field) (out []string) {
		for _, f := range fields {
			out = append(out, s.Path(f.ID))
		}
		return out
	}
	want := []string{"s.x", "s.v", "fs.item.a", "p", "b", "l.item"}
	if diff := cmp.Diff(want, names(s.Leaves())); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
	want = []string{"s", "s.x", "s.v", "fs", "fs.item", "fs.item.a", "p", "b", "l", "l.item"}
	if diff := cmp.Diff(want, names(s.LeavesV20())); diff != "" {
		t.Errorf("leaves of 2.0 (-want +got):\n%s", diff)
	}
}

func TestPathsLeadThroughLists(t *testing.T) {
	s := nested(t)
	for f := range s.All() {
		path := s.PathThrough(f.ID)
		chain, err := s.ResolveThrough(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		last := chain[len(chain)-1]
		isItem := isList(last) && last.Children[0] == f
		if last != f && !isItem || chain[0] != s.Field(chain[0].Name) {
			t.Errorf("field %d: path %q leads to %d", f.ID, path, last.ID)
		}
		for i, f := range chain[1:] {
			if f.ParentID != chain[i].ID {
				t.Errorf("%q: field %d is not in %d", path, f.ID, chain[i].ID)
			}
		}
	}
	if chain, err := s.ResolveThrough("s.l.p"); err != nil || s.Path(chain[len(chain)-1].ID) != "s.l.item.p" || len(chain) != 4 {
		t.Errorf("s.l.p: %v, %v", chain, err)
	}
	for _, path := range []string{"s.l.item.p", "s.l.none", "id.x", "none", "a..b"} {
		if _, err := s.ResolveThrough(path); !errors.Is(err, ErrUnknownField) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if path := s.PathThrough(99); path != "" {
		t.Errorf("no field: %q", path)
	}
}

func TestColumnsAreFoundInAnyCase(t *testing.T) {
	s := &Schema{Fields: []*Field{{Name: "Id"}, {Name: "a"}, {Name: "A"}}}
	for path, want := range map[string]string{"Id": "Id", "ID": "Id", "`id`": "Id", "A": "A", "a": "a"} {
		if got := s.Column(path); got == nil || got.Name != want {
			t.Errorf("%s: got %v, want %s", path, got, want)
		}
	}
	for _, path := range []string{"b", "Id.x", "`", ""} {
		if got := s.Column(path); got != nil {
			t.Errorf("%s: got %v, want none", path, got)
		}
	}
}
