package expression

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
)

var int64s = arrow.PrimitiveTypes.Int64

func spec(code string, inputs []arrow.Field, outputs ...arrow.Field) udf.Spec {
	return udf.Spec{Name: "f", Kind: ArtifactKind, Artifact: []byte(code), Inputs: inputs, Outputs: outputs}
}

func field(name string, typ arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Nullable: true}
}

func numbers(name string, values ...int64) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field(name, int64s)}, nil), []arrow.Array{b.NewArray()}, int64(len(values)))
}

func call(t *testing.T, s udf.Spec, in arrow.RecordBatch) udf.Result {
	t.Helper()
	caller, err := Runtime{}.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = caller.Close() }()
	got, err := caller.Call(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestExpressionsOverParameters(t *testing.T) {
	inputs := []arrow.Field{field("n", int64s)}
	got := call(t, spec(" n * 2 ", inputs, field("output", int64s)), numbers("n", 1, 2, 3))
	if text := fmt.Sprint(got.Outputs.Column(0)); text != "[2 4 6]" || len(got.Failed) != 0 {
		t.Errorf("got %s, failed %v", text, got.Failed)
	}
	got = call(t, spec(`{"b": "n > 1", "a": "n + 1"}`, inputs, field("a", int64s), field("b", arrow.FixedWidthTypes.Boolean)), numbers("n", 1, 2))
	if text := fmt.Sprint(got.Outputs.Column(0), got.Outputs.Column(1)); text != "[2 3] [false true]" {
		t.Errorf("of several outputs: got %s", text)
	}
	// A function without parameters gives a row for each row, though its batches have no columns.
	got = call(t, spec("40 + 2", nil, field("output", int64s)), array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 3))
	if text := fmt.Sprint(got.Outputs.Column(0)); text != "[42 42 42]" || got.Outputs.NumRows() != 3 {
		t.Errorf("of a constant: got %s in %d rows", text, got.Outputs.NumRows())
	}
}

// Only the rows that cannot be computed fail.
func TestRowsThatFailAreAlone(t *testing.T) {
	s := spec("cast(n as tinyint)", []arrow.Field{field("n", int64s)}, field("output", arrow.PrimitiveTypes.Int8))
	got := call(t, s, numbers("n", 1, 1000, 3, 4, 5, -1000, 7))
	if text := fmt.Sprint(got.Outputs.Column(0)); text != "[1 (null) 3 4 5 (null) 7]" {
		t.Errorf("got %s", text)
	}
	if len(got.Failed) != 2 || got.Failed[0].Row != 1 || got.Failed[1].Row != 5 || got.Failed[0].Type != "SQLError" || !strings.Contains(got.Failed[0].Message, "out of range") {
		t.Errorf("failed are %+v", got.Failed)
	}
	caller, err := Runtime{}.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := caller.Call(ctx, numbers("n", 1000, 1000)); err == nil {
		t.Error("a call that was cancelled has rows that failed, want an error")
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	n := []arrow.Field{field("n", int64s)}
	one, two := []arrow.Field{field("output", int64s)}, []arrow.Field{field("a", int64s), field("b", int64s)}
	for _, c := range []struct {
		code    string
		outputs []arrow.Field
		why     string
	}{
		{"upper('a')", one, "type utf8, and the output of type int64"},
		{"m + 1", one, "m"},
		{"n +", one, ""},
		{"random()", []arrow.Field{field("output", arrow.PrimitiveTypes.Float64)}, "another value each time"},
		{"\xff", one, "UTF-8"},
		{"n", two, "for each"},
		{`{"a": "n"}`, two, `"b"`},
		{`{"a": "n", "b": "n", "c": "n"}`, two, "3 outputs"},
		{`{"a": 1}`, two, "JSON"},
		{`{"a": "n", "b": "upper('x')"}`, two, "for b"},
	} {
		_, err := Runtime{}.Open(t.Context(), spec(c.code, n, c.outputs...))
		if !protocol.HasCode(err, protocol.InvalidInput) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q: got %v, want InvalidInput with %q", c.code, err, c.why)
		}
	}
	wrong := spec("n", n, one...)
	wrong.Kind = "wasm_module"
	if _, err := (Runtime{}).Open(t.Context(), wrong); !protocol.HasCode(err, protocol.InvalidInput) {
		t.Errorf("another artifact: got %v", err)
	}
}
