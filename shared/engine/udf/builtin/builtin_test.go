package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/chunking"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
)

func typeOf(t *testing.T, text string) arrow.DataType {
	t.Helper()
	typ, err := protocol.ParseFunctionType(text)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// batch returns a batch of a JSON array of objects.
func batch(t *testing.T, fields []arrow.Field, rows string) arrow.RecordBatch {
	t.Helper()
	made, _, err := array.RecordFromJSON(arrowmemory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// stream returns a row as an Arrow stream.
func stream(t *testing.T, fields []arrow.Field, row string) []byte {
	t.Helper()
	made := batch(t, fields, "["+row+"]")
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(made.Schema()))
	if err := w.Write(made); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// spec returns the declaration of a function for a use.
func spec(t *testing.T, name, input, output string) udf.Spec {
	t.Helper()
	return udf.Spec{
		Name: "f", Kind: ArtifactKind, Runtime: fmt.Appendf(nil, `{"kind":"builtin","function":%q}`, name), Binding: "b",
		Inputs:  []arrow.Field{{Name: "in", Type: typeOf(t, input), Nullable: true}},
		Outputs: []arrow.Field{{Name: "output", Type: typeOf(t, output)}},
	}
}

var (
	dimensionsField = arrow.Field{Name: "dimensions", Type: arrow.PrimitiveTypes.Int64}
	normalizeField  = arrow.Field{Name: "normalize", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}
	sizeField       = arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Int64}
	unitField       = arrow.Field{Name: "unit", Type: arrow.BinaryTypes.String, Nullable: true}
)

// piecesText is the type of the lists of pieces of a function.
func piecesText(t *testing.T, name string) string {
	t.Helper()
	text, err := protocol.FunctionTypeText(arrow.ListOf(chunking.Find(name).Type()))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFunctions(t *testing.T) {
	pieces := piecesText(t, "split_text")
	cases := []struct {
		function, input, output string
		fields                  []arrow.Field
		args                    string
		rows                    string // of the column in
		want                    string // values in JSON
		failed                  string // row:type of failures
	}{
		{function: "sha256", input: "utf8", output: "utf8", rows: `[{"in":"abc"},{"in":null},{"in":""}]`, failed: "1:NullInput",
			want: `["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",null,"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]`},
		{function: "sha256", input: "binary", output: "utf8", rows: `[{"in":"YWJj"}]`,
			want: `["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]`},
		{function: "html_text", input: "large_utf8", output: "large_utf8", rows: `[{"in":"<p>a&amp;b</p>c"}]`, want: `["a\u0026b\n\nc"]`},
		{function: "normalize_l2", input: "list<float32>", output: "list<float32>", rows: `[{"in":[3,4]},{"in":[]},{"in":[0,0]},{"in":[1,null]},{"in":null}]`,
			want: `[[0.6,0.8],[],[0,0],null,null]`, failed: "3:NullInput 4:NullInput"},
		{function: "normalize_l2", input: "fixed_size_list<float32, 2>", output: "list<float32>", rows: `[{"in":[0,2]},{"in":[3e38,3e38]}]`,
			want: `[[0,1],[0.70710677,0.70710677]]`},
		{function: "normalize_l2", input: "fixed_size_list<float32, 2>", output: "fixed_size_list<float32, 2>", rows: `[{"in":[0,2]},{"in":null}]`,
			want: `[[0,1],null]`, failed: "1:NullInput"},
		{function: "normalize_l2", input: "list<float32>", output: "fixed_size_list<float32, 2>", rows: `[{"in":[1,2,3]},{"in":[0,1]}]`,
			want: `[null,[0,1]]`, failed: "0:ValueError"},
		{function: "truncate_vector", input: "list<float32>", output: "list<float32>", fields: []arrow.Field{dimensionsField}, args: `{"dimensions":2}`,
			rows: `[{"in":[1,2,3]},{"in":[1]},{"in":[5,6]}]`, want: `[[1,2],null,[5,6]]`, failed: "1:ValueError"},
		{function: "truncate_vector", input: "fixed_size_list<float32, 3>", output: "fixed_size_list<float32, 2>", rows: `[{"in":[1,2,3]}]`, want: `[[1,2]]`},
		{function: "truncate_vector", input: "list<float32>", output: "list<float32>", fields: []arrow.Field{dimensionsField, normalizeField},
			args: `{"dimensions":2,"normalize":true}`, rows: `[{"in":[3,4,5]}]`, want: `[[0.6,0.8]]`},
		{function: "split_text", input: "utf8", output: pieces, fields: []arrow.Field{sizeField, unitField}, args: `{"size":3}`,
			rows: `[{"in":"abcde"},{"in":""},{"in":null}]`,
			want: `[[{"end":3,"ordinal":0,"start":0,"text":"abc"},{"end":5,"ordinal":1,"start":3,"text":"de"}],[],[]]`},
		{function: "split_markdown", input: "utf8", output: piecesText(t, "split_markdown"), rows: `[{"in":"# A\nx"}]`,
			want: `[[{"end":5,"ordinal":0,"path":["A"],"start":0,"text":"# A\nx"}]]`},
	}
	for _, c := range cases {
		t.Run(c.function+" "+c.input+" "+c.args, func(t *testing.T) {
			s := spec(t, c.function, c.input, c.output)
			if c.args != "" {
				s.Initialization = stream(t, c.fields, c.args)
			}
			caller, err := Runtime{}.Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			in := batch(t, s.Inputs, c.rows)
			for _, from := range []int64{0, 1} { // the second time with a slice
				if from == in.NumRows() {
					break
				}
				got, err := caller.Call(t.Context(), in.NewSlice(from, in.NumRows()))
				if err != nil {
					t.Fatal(err)
				}
				text := valuesOf(t, got)
				if from > 0 {
					continue
				}
				if text != c.want {
					t.Errorf("got %s, want %s", text, c.want)
				}
				var failed []string
				for _, f := range got.Failed {
					failed = append(failed, fmt.Sprint(f.Row, ":", f.Type))
				}
				if told := strings.Join(failed, " "); told != c.failed {
					t.Errorf("failed are %q, want %q", told, c.failed)
				}
			}
		})
	}
}

// valuesOf returns the outputs in JSON.
func valuesOf(t *testing.T, got udf.Result) string {
	t.Helper()
	text, err := got.Outputs.Column(0).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		t.Fatal(err)
	}
	return compact.String()
}

// A slice of a list is read from where it begins.
func TestCallReadsASliceOfVectors(t *testing.T) {
	for _, input := range []string{"list<float32>", "fixed_size_list<float32, 2>"} {
		s := spec(t, "normalize_l2", input, input)
		caller, err := Runtime{}.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := caller.Call(t.Context(), batch(t, s.Inputs, `[{"in":[1,0]},{"in":[0,2]},{"in":[3,0]}]`).NewSlice(1, 2))
		if err != nil {
			t.Fatal(err)
		}
		if text := valuesOf(t, got); text != `[[0,1]]` {
			t.Errorf("%s: got %s", input, text)
		}
	}
}

func TestOpenRefusesSpecsThatDoNotFit(t *testing.T) {
	cases := []struct {
		why, function, input, output string
		fields                       []arrow.Field
		args                         string
		change                       func(*udf.Spec)
	}{
		{why: "no built-in function", function: "no_such", input: "utf8", output: "utf8"},
		{why: "returns utf8", function: "sha256", input: "utf8", output: "binary"},
		{why: "takes utf8, large_utf8 or binary", function: "sha256", input: "int64", output: "utf8"},
		{why: "takes and returns vectors", function: "normalize_l2", input: "list<float64>", output: "list<float32>"},
		{why: "takes and returns vectors", function: "normalize_l2", input: "list<float32>", output: "float32"},
		{why: "needs the argument dimensions", function: "truncate_vector", input: "list<float32>", output: "list<float32>"},
		{why: "from 1 to", function: "truncate_vector", input: "list<float32>", output: "list<float32>", fields: []arrow.Field{dimensionsField}, args: `{"dimensions":0}`},
		{why: "cannot make 4 dimensions of vectors with 3", function: "truncate_vector", input: "fixed_size_list<float32, 3>", output: "list<float32>",
			fields: []arrow.Field{dimensionsField}, args: `{"dimensions":4}`},
		{why: "2 dimensions in its output and 1", function: "truncate_vector", input: "list<float32>", output: "fixed_size_list<float32, 2>",
			fields: []arrow.Field{dimensionsField}, args: `{"dimensions":1}`},
		{why: "no argument", function: "truncate_vector", input: "list<float32>", output: "list<float32>", fields: []arrow.Field{sizeField}, args: `{"size":1}`},
		{why: "dimensions is of type", function: "truncate_vector", input: "list<float32>", output: "list<float32>",
			fields: []arrow.Field{{Name: "dimensions", Type: arrow.BinaryTypes.String}}, args: `{"dimensions":"2"}`},
		{why: "size is 0", function: "split_text", input: "utf8", output: piecesText(t, "split_text"), fields: []arrow.Field{sizeField}, args: `{"size":0}`},
		{why: "unit is", function: "split_text", input: "utf8", output: piecesText(t, "split_text"), fields: []arrow.Field{sizeField, unitField}, args: `{"size":1,"unit":"x"}`},
		{why: "returns list", function: "split_text", input: "utf8", output: "list<utf8>", fields: []arrow.Field{sizeField}, args: `{"size":1}`},
		{why: "no secrets", function: "sha256", input: "utf8", output: "utf8", change: func(s *udf.Spec) { s.Environment = map[string]string{"A": "b"} }},
		{why: "without content", function: "sha256", input: "utf8", output: "utf8", change: func(s *udf.Spec) { s.Artifact = []byte("x") }},
		{why: "a kind and a function", function: "sha256", input: "utf8", output: "utf8", change: func(s *udf.Spec) { s.Runtime = []byte(`{"kind":"builtin","name":"x"}`) }},
		{why: "has one parameter", function: "sha256", input: "utf8", output: "utf8", change: func(s *udf.Spec) { s.Inputs = nil }},
		{why: "not one row", function: "split_lines", input: "utf8", output: piecesText(t, "split_lines"), change: func(s *udf.Spec) {
			var out bytes.Buffer
			if err := ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema(nil, nil))).Close(); err != nil {
				t.Fatal(err)
			}
			s.Initialization = out.Bytes()
		}},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			s := spec(t, c.function, c.input, c.output)
			if c.args != "" {
				s.Initialization = stream(t, c.fields, c.args)
			}
			if c.change != nil {
				c.change(&s)
			}
			_, err := Runtime{}.Open(t.Context(), s)
			if !protocol.HasCode(err, protocol.InvalidInput) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want InvalidInput with %q", err, c.why)
			}
		})
	}
}

// A registration has no arguments yet: it proves the types, and rows are an error.
func TestCallWithoutArgumentsTakesNoRows(t *testing.T) {
	s := spec(t, "truncate_vector", "list<float32>", "list<float32>")
	s.Binding = ""
	caller, err := Runtime{}.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := caller.Call(t.Context(), batch(t, s.Inputs, `[]`)); err != nil || got.Outputs.NumRows() != 0 {
		t.Errorf("no rows: %v, %v", got, err)
	}
	if _, err := caller.Call(t.Context(), batch(t, s.Inputs, `[{"in":[1]}]`)); !protocol.HasCode(err, protocol.InvalidInput) {
		t.Errorf("a row: %v, want InvalidInput", err)
	}
	s = spec(t, "truncate_vector", "utf8", "utf8")
	s.Binding = ""
	if _, err := (Runtime{}).Open(t.Context(), s); !protocol.HasCode(err, protocol.InvalidInput) {
		t.Errorf("wrong types: %v, want InvalidInput", err)
	}
}
