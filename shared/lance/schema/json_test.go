package schema

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/jsonb"
)

var (
	jsonText  = marked(member("j", text), extensionName, arrowJSON)
	jsonTexts = table(
		jsonText,
		marked(member("large", arrow.BinaryTypes.LargeString), extensionName, arrowJSON),
		member("s", arrow.StructOf(member("n", int32s), jsonText)),
		member("l", arrow.ListOfField(jsonText)),
		member("m", arrow.MapOfFields(arrow.Field{Name: "key", Type: text}, marked(member("value", text), extensionName, arrowJSON))),
		member("plain", text),
	)
)

const jsonRows = `[
	{"j": "0"},
	{"j": "{\"b\":1,\"a\":[true]}", "large": "1.50", "s": {"n": 1, "j": "\"x\""}, "l": ["[]", null, " 1"], "m": [{"key": "k", "value": "{}"}], "plain": "{"},
	{"j": null, "large": "null", "s": null, "l": [], "m": null, "plain": null}]`

// JSON arrives as text, is stored as JSONB, and is returned as text.
func TestJSONIsTextOutsideAndBinaryInside(t *testing.T) {
	s := mustFromArrow(t, jsonTexts.Fields()...)
	m, err := s.Match(jsonTexts)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := m.Columns(batchOf(t, jsonTexts, jsonRows).NewSlice(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`["{\"a\":[true],\"b\":1}" (null)]`, `["1.5" "null"]`, `{[1 (null)] ["\"x\"" (null)]}`,
		`[["[]" (null) "1"] []]`, `[{["k"] ["{}"]} (null)]`, `["{" (null)]`,
	}
	for i, f := range s.Arrow().Fields() {
		if !arrow.TypeEqual(columns[i].DataType(), f.Type) {
			t.Errorf("column %s: stored as %s, want %s", f.Name, columns[i].DataType(), f.Type)
		}
		got, err := TextArray(f, columns[i])
		if err != nil {
			t.Fatalf("column %s: %v", f.Name, err)
		}
		if got.String() != want[i] {
			t.Errorf("column %s: got %s, want %s", f.Name, got, want[i])
		}
		if out := TextField(f); !arrow.TypeEqual(got.DataType(), out.Type) {
			t.Errorf("column %s: got type %s, want that of its field, %s", f.Name, got.DataType(), out.Type)
		}
	}
	fields := jsonTexts.Fields()
	fields[1].Type = text
	if got, want := TextSchema(s.Arrow()), table(fields...); !got.Equal(want) {
		t.Errorf("got schema %v, want %v", got, want)
	}
}

func TestTextsThatAreNotJSONAreRefused(t *testing.T) {
	s := mustFromArrow(t, jsonText)
	cases := []struct {
		name string
		typ  arrow.DataType
		ext  string
		rows string
		want error
	}{
		{"text", text, arrowJSON, `[{"j": "1"}, {"j": "{"}]`, jsonb.ErrSyntax},
		{"text without a mark", text, "", `[{"j": "1"}, {"j": "1 2"}]`, jsonb.ErrSyntax},
		{"large text", arrow.BinaryTypes.LargeString, arrowJSON, `[{"j": "1"}, {"j": "{"}]`, jsonb.ErrSyntax},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			incoming := table(marked(member("j", c.typ), extensionName, c.ext))
			m, err := s.Match(incoming)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = m.Columns(batchOf(t, incoming, c.rows)); !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
		})
	}
}

func TestStoredJSONIsToldAsText(t *testing.T) {
	texts := batchOf(t, table(member("j", text)), `[{"j": "[1 , 2]"}, {}]`).Column(0)
	stored, err := StoredJSON(texts)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := stored.(*array.LargeBinary); !ok {
		t.Fatalf("got %s, want large binary", stored.DataType())
	}
	got, err := TextArray(marked(member("j", arrow.BinaryTypes.LargeBinary), extensionName, jsonExtension), stored)
	if want := `["[1,2]" (null)]`; err != nil || got.String() != want {
		t.Errorf("got %v and error %v, want %s", got, err, want)
	}
}

// Native updates store numbers as they are in columns of JSON.
func TestStoredValuesThatAreNotJSONAreTexts(t *testing.T) {
	stored := batchOf(t, table(member("j", arrow.BinaryTypes.LargeBinary)), `[{"j": "AAAA"}, {"j": "/w=="}, {"j": ""}]`).Column(0)
	got, err := TextArray(marked(member("j", arrow.BinaryTypes.LargeBinary), extensionName, jsonExtension), stored)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"\x00\x00\x00", "\uFFFD", "null"} {
		if got := got.(*array.String).Value(i); got != want {
			t.Errorf("row %d: got %q, want %q", i, got, want)
		}
	}
}
