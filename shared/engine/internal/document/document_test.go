package document_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/internal/document"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var isJSON = arrow.MetadataFrom(map[string]string{"ARROW:extension:name": "arrow.json"})

// columns are columns of three rows, as JSON. Those with texts have these texts; a row without one is "-".
var columns = []struct {
	field  arrow.Field
	values string
	texts  []string // nil: the column cannot be searched
}{
	{arrow.Field{Name: "text", Type: arrow.BinaryTypes.String}, `["a b", null, ""]`, []string{"a b", "-", ""}},
	{arrow.Field{Name: "large", Type: arrow.BinaryTypes.LargeString}, `["a b", null, "c"]`, []string{"a b", "-", "c"}},
	{arrow.Field{Name: "list", Type: arrow.ListOf(arrow.BinaryTypes.String)}, `[["a", null, "b"], null, []]`, []string{"a b", "", ""}},
	{arrow.Field{Name: "large_list", Type: arrow.LargeListOf(arrow.BinaryTypes.LargeString)}, `[["a"], ["b", "c"], null]`, []string{"a", "b c", ""}},
	{arrow.Field{Name: "lists", Type: arrow.ListOf(arrow.ListOf(arrow.BinaryTypes.String))}, `[[["a", "b"], null, ["c", null]], null, [[]]]`, []string{"a b c", "", ""}},
	{arrow.Field{Name: "json", Type: arrow.BinaryTypes.String, Metadata: isJSON}, `["{\"a\":1}", null, "\"b\""]`, []string{`{"a":1}`, "-", `"b"`}},
	{arrow.Field{Name: "number", Type: arrow.PrimitiveTypes.Int64}, `[1, 2, 3]`, nil},
	{arrow.Field{Name: "numbers", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)}, `[[1], [2], [3]]`, nil},
}

// inLists are the texts of the same rows in structs in lists, by their paths.
var inLists = []struct {
	path, read string
	texts      []string // nil: there are none
	elements   []string // of each row, with commas; nil: they cannot be documents
}{
	{"parts.t", "parts", []string{"a b", "", "c"}, []string{"a,b,", "", "c,"}},
	{"parts.tags", "parts", []string{"x y z", "", ""}, nil},
	{"parts.in.u", "parts", []string{"q", "", ""}, []string{"q,,", "", ","}},
	{"outer.parts.t", "outer.parts", []string{"d", "", "e"}, []string{"d", "", "e"}},
	{"parts.item.t", "", nil, nil},
	{"parts", "parts", nil, nil},
	{"parts.n", "parts", nil, nil},
	{"outer.parts.none", "", nil, nil},
}

const (
	partsValues = `[
		[{"t": "a", "tags": ["x", "y"], "in": {"u": "q"}, "n": 1}, {"t": "b", "tags": ["z"], "in": null, "n": 2}, {"t": null, "tags": null, "in": {"u": null}, "n": 3}],
		null,
		[{"t": "c", "tags": [], "in": null, "n": 4}, null]]`
	outerValues = `[{"parts": [{"t": "d"}]}, null, {"parts": [{"t": "e"}]}]`
)

func partsFields() []arrow.Field {
	text := arrow.Field{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true}
	in := arrow.StructOf(arrow.Field{Name: "u", Type: arrow.BinaryTypes.String, Nullable: true})
	parts := arrow.StructOf(
		text, arrow.Field{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		arrow.Field{Name: "in", Type: in, Nullable: true}, arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	)
	outer := arrow.StructOf(arrow.Field{Name: "parts", Type: arrow.ListOf(arrow.StructOf(text)), Nullable: true})
	return []arrow.Field{{Name: "parts", Type: arrow.ListOf(parts), Nullable: true}, {Name: "outer", Type: outer, Nullable: true}}
}

func TestTextsInTheStructsOfListsAreRead(t *testing.T) {
	d := newTable(t)
	for _, c := range inLists {
		column, err := document.Of(d, c.path)
		if c.texts == nil {
			want := protocol.InvalidInput
			if c.read == "" {
				want = protocol.TableColumnNotFound
			}
			wantCode(t, c.path, err, want)
			continue
		}
		if err != nil || column.Read != c.read || column.IsJSON() {
			t.Errorf("%s: read as %q, %v; want %q", c.path, column.Read, err, c.read)
			continue
		}
		_, batches, err := d.Scan(t.Context(), snapshot.ScanOptions{Columns: []string{c.read}})
		if err != nil {
			t.Fatal(err)
		}
		var texts, elements []string
		for batch, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			read, err := column.Reader(t.Context(), batch.Column(0))
			if err != nil {
				t.Fatal(err)
			}
			lists, failed := column.Elements(batch.Column(0))
			for row := range int(batch.NumRows()) {
				text, null := read(row)
				if null {
					t.Errorf("%s: row %d is null", c.path, row)
				}
				texts = append(texts, text)
				if failed != nil {
					continue
				}
				var all []string
				for i := range lists.Len(row) {
					all = append(all, lists.Text(row, i))
				}
				elements = append(elements, strings.Join(all, ","))
			}
			if (failed != nil) != (c.elements == nil) || failed != nil && !errors.Is(failed, lance.ErrUnsupported) {
				t.Errorf("%s: elements: %v", c.path, failed)
			}
		}
		if !slices.Equal(texts, c.texts) || !slices.Equal(elements, c.elements) {
			t.Errorf("%s: got %q and %q, want %q and %q", c.path, texts, elements, c.texts, c.elements)
		}
	}
}

// newTable makes a table of the columns.
func newTable(t *testing.T) *dataset.Dataset {
	t.Helper()
	var fields []arrow.Field
	var values []arrow.Array
	for _, c := range columns {
		c.field.Nullable = true
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.field.Type, strings.NewReader(c.values))
		if err != nil {
			t.Fatal(err)
		}
		fields, values = append(fields, c.field), append(values, a)
	}
	for i, f := range partsFields() {
		a, _, err := array.FromJSON(memory.DefaultAllocator, f.Type, strings.NewReader([]string{partsValues, outerValues}[i]))
		if err != nil {
			t.Fatal(err)
		}
		fields, values = append(fields, f), append(values, a)
	}
	s := arrow.NewSchema(fields, nil)
	rows := dataset.Rows{Schema: s, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		yield(array.NewRecordBatch(s, values, 3), nil)
	}}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	made, err := dataset.NewSession(1<<20, time.Now).Table(at, 0).Create(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

func TestColumnsOfTextsAreRead(t *testing.T) {
	d := newTable(t)
	for _, c := range columns {
		name := c.field.Name
		column, err := document.Of(d, name)
		if c.texts == nil {
			wantCode(t, name, err, protocol.InvalidInput)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if column.IsJSON() != (name == "json") {
			t.Errorf("%s: JSON: %t", name, column.IsJSON())
		}
		_, batches, err := d.Scan(t.Context(), snapshot.ScanOptions{Columns: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for batch, err := range batches {
			if err != nil {
				t.Fatal(err)
			}
			read, err := column.Reader(t.Context(), batch.Column(0))
			if err != nil {
				t.Fatal(err)
			}
			for row := range int(batch.NumRows()) {
				text, null := read(row)
				if null {
					text = "-"
				}
				texts = append(texts, text)
			}
		}
		if !slices.Equal(texts, c.texts) {
			t.Errorf("%s: got %q, want %q", name, texts, c.texts)
		}
	}
}

func TestOfRefusesAnUnknownColumnByItsCode(t *testing.T) {
	_, err := document.Of(newTable(t), "nope")
	wantCode(t, "no such column", err, protocol.TableColumnNotFound)
}

func wantCode(t *testing.T, what string, err error, code protocol.Code) {
	t.Helper()
	if told := new(protocol.Error); !errors.As(err, &told) || told.Code != code {
		t.Errorf("%s: got %v, want an error of code %v", what, err, code)
	}
}
