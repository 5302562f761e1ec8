package wasm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm/frame"
)

var (
	utf8Type = arrow.BinaryTypes.String
	vectors  = arrow.FixedSizeListOfField(2, arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Float32})
	pairs    = arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "b", Type: arrow.ListOf(utf8Type), Nullable: true})
)

// verifier returns a caller of a function with outputs of these types.
func verifier(types ...arrow.DataType) *caller {
	var fields []arrow.Field
	for _, t := range types {
		fields = append(fields, arrow.Field{Name: "o", Type: t, Nullable: true})
	}
	return &caller{runtime: NewRuntime(nil, nil, Limits{ResultBytes: 1 << 20}), outputs: arrow.NewSchema(fields, nil), conceal: concealer(nil)}
}

// A column of a reply, in JSON.
type column struct {
	name string
	kind arrow.DataType
	text string
}

func encode(t testing.TB, columns ...column) []byte {
	t.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.kind, strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		fields, arrays = append(fields, arrow.Field{Name: c.name, Type: c.kind, Nullable: true}), append(arrays, a)
	}
	var out bytes.Buffer
	w := arrowipc.NewStreamWriter(&out, arrow.NewSchema(fields, nil), arrowipc.Uncompressed)
	if err := w.Write(array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(arrays[0].Len()))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRepliesAreVerified(t *testing.T) {
	nullable := arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
	for name, c := range map[string]struct {
		outputs []arrow.DataType
		reply   []column
		rows    int
		want    string // part of the failure; "" is a good reply
	}{
		"a column":           {[]arrow.DataType{utf8Type}, []column{{"any", utf8Type, `["a",null]`}}, 2, ""},
		"two columns":        {[]arrow.DataType{utf8Type, pairs}, []column{{"x", utf8Type, `["a"]`}, {"y", pairs, `[{"a":1,"b":["c"]}]`}}, 1, ""},
		"too few columns":    {[]arrow.DataType{utf8Type, pairs}, []column{{"x", utf8Type, `["a"]`}}, 1, "the outputs are 2"},
		"too many columns":   {[]arrow.DataType{utf8Type}, []column{{"x", utf8Type, `["a"]`}, {"y", utf8Type, `["a"]`}}, 1, "the outputs are 1"},
		"rows":               {[]arrow.DataType{utf8Type}, []column{{"x", utf8Type, `["a","b"]`}}, 3, "it has 2 rows for 3"},
		"items never null":   {[]arrow.DataType{vectors}, []column{{"x", nullable, `[[1,2],null]`}}, 2, ""},
		"a null item":        {[]arrow.DataType{vectors}, []column{{"x", nullable, `[[1,null]]`}}, 1, "output o.item has nulls"},
		"another length":     {[]arrow.DataType{vectors}, []column{{"x", arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), `[[1,2,3]]`}}, 1, "not fixed_size_list<item: float32>[2]"},
		"another item":       {[]arrow.DataType{vectors}, []column{{"x", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64), `[[1,2]]`}}, 1, "output o.item is of type float64, not float32"},
		"another field":      {[]arrow.DataType{pairs}, []column{{"x", arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "c", Type: arrow.ListOf(utf8Type)}), `[{"a":1,"c":[]}]`}}, 1, "not struct"},
		"a list for a value": {[]arrow.DataType{utf8Type}, []column{{"x", arrow.ListOf(utf8Type), `[["a"]]`}}, 1, "not utf8"},
		"a row that failed":  {[]arrow.DataType{utf8Type}, []column{{"x", utf8Type, `[null]`}, {"__error", utf8Type, `["KeyError: a"]`}}, 1, ""},
		"failed and a value": {[]arrow.DataType{utf8Type}, []column{{"x", utf8Type, `["a"]`}, {"__error", utf8Type, `["KeyError: a"]`}}, 1, "row 0 has a reason in __error, and a value in o"},
		"a reason by number": {[]arrow.DataType{utf8Type}, []column{{"x", utf8Type, `[null]`}, {"__error", arrow.PrimitiveTypes.Int32, `[1]`}}, 1, "__error is of type int32"},
	} {
		got, failure, err := verifier(c.outputs...).verify(t.Context(), bytes.NewReader(encode(t, c.reply...)), c.rows)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (failure == nil || failure.Type != frame.InvalidReply || !strings.Contains(failure.Message, c.want)):
			t.Errorf("%s: got %v, want InvalidReply with %q", name, failure, c.want)
		case c.want == "" && failure != nil:
			t.Errorf("%s: %v", name, failure)
		case c.want == "" && int(got.outputs.NumRows()) != c.rows:
			t.Errorf("%s: got %d rows", name, got.outputs.NumRows())
		}
	}
}

func TestReasonsHaveTypes(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for _, text := range []string{"ValueError: not a number", "it is late: very", "", "a.b_C9: ", ": x"} {
		b.Append(text)
	}
	b.AppendNull()
	want := []udf.Failure{
		{Row: 0, Type: "ValueError", Message: "not a number"}, {Row: 1, Type: "Error", Message: "it is late: very"}, {Row: 2, Type: "Error"},
		{Row: 3, Type: "a.b_C9"}, {Row: 4, Type: "Error", Message: ": x"},
	}
	got := failures(b.NewStringArray())
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func TestTextsOfFunctionsAreCleaned(t *testing.T) {
	c := &caller{conceal: concealer(map[string]string{"A": "secret", "B": "secret-and-more", "C": ""})}
	for text, want := range map[string]string{
		"the secret-and-more and secret": "the *** and ***",
		"bad \xff byte":                  "bad � byte",
		strings.Repeat("ä", 30):          strings.Repeat("ä", 18) + "…",
	} {
		if got := c.clean(text, 40); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The reported output of a module contains no value of a variable, and no remainder of a truncated one.
func TestConcealerHidesValuesThatModulesPrint(t *testing.T) {
	const value = "canary-canary"
	c := &caller{conceal: concealer(map[string]string{"KEY": value})}
	for at := range len(value) {
		for name, f := range map[string]*frame.Failure{
			"cut":   {Message: "trap", Log: value[at:] + strings.Repeat(" ", len(value)) + "the end", LogCut: true},
			"ended": {Message: "trap", Log: "the end " + value[:at]},
			"long":  {Message: "trap", Log: value + strings.Repeat(".", maxPrinted-at) + "the end"},
			"told":  {Message: strings.Repeat(value, 1000) + "the end", Log: value},
		} {
			got := c.explained(f)
			if strings.Contains(got, "cana") || strings.Contains(got, "nary") || len(got) > maxMessage || name != "told" && !strings.HasSuffix(strings.TrimSpace(got), "the end") {
				t.Errorf("%s at %d: %.80q", name, at, got)
			}
		}
	}
}

// No bytes of a reply cause a panic, and an accepted reply has the expected rows and types.
func FuzzReply(f *testing.F) {
	f.Add(encode(f, column{"x", utf8Type, `["a",null]`}, column{"v", vectors, `[[1,2],null]`}, column{"p", pairs, `[null,{"a":1,"b":["c",null]}]`}, column{"__error", utf8Type, `[null,null]`}))
	f.Add(encode(f, column{"x", utf8Type, `["a",null]`}, column{"v", vectors, `[[1,2],null]`}, column{"p", pairs, `[null,null]`}))
	c := verifier(utf8Type, vectors, pairs)
	f.Fuzz(func(t *testing.T, content []byte) {
		got, failure, err := c.verify(t.Context(), bytes.NewReader(content), 2)
		if err != nil {
			t.Fatalf("%v: bytes in memory cause no error but failures", err)
		}
		if failure != nil {
			return
		}
		if got.outputs.NumRows() != 2 || !got.outputs.Schema().Equal(c.outputs) {
			t.Fatalf("got %v", got.outputs)
		}
		for _, column := range got.outputs.Columns() {
			if text := column.String(); text == "" { // reads every value
				t.Fatal("a column has no text")
			}
		}
	})
}
