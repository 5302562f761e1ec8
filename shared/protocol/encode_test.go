package protocol_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/protocol"
)

func TestWireFormsAreReadAsTheyWereWritten(t *testing.T) {
	cases := []struct {
		value any
		want  string
	}{
		{protocol.QueryVector{}, `null`},
		{protocol.QueryVector{Vectors: [][]float64{{1, 0.5}}}, `{"single_vector":[1,0.5]}`},
		{protocol.QueryVector{Vectors: [][]float64{{1}}, Several: true}, `{"multi_vector":[[1]]}`},
		{protocol.Projection{{Name: "b"}, {Name: "a"}}, `{"column_names":["b","a"]}`},
		{protocol.Projection{{Name: "z", Expression: "a + 1"}, {Name: "b", Expression: "\"c\""}}, `{"column_aliases":{"z":"a + 1","b":"\"c\""}}`},
		{protocol.FullTextQuery{Text: "a b", Columns: []string{"c"}}, `{"string_query":{"query":"a b","columns":["c"]}}`},
		{protocol.OptionalInt{Value: 2}, `2`},
		{protocol.OptionalInt{Null: true}, `null`},
		{protocol.OptionalMaximum{Given: true, Value: new(3)}, `3`},
		{protocol.TypeName{Type: arrow.PrimitiveTypes.Float32}, `{"type":"float32"}`},
		{protocol.TypeName{Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}}, `{"type":"timestamp:ns:UTC"}`},
		{protocol.TransactionAction{SetStatus: &protocol.SetStatusAction{Status: protocol.TransactionFailed}},
			`{"setStatusAction":{"status":"Failed"},"setPropertyAction":null,"unsetPropertyAction":null}`},
		{protocol.CountTableRowsResponse{Count: 1 << 60}, `1152921504606846976`},
		{protocol.ListTableTagsResponse{Tags: map[string]protocol.TagContents{"a": {Version: 1, ManifestSize: 2}}, PageToken: "a"},
			`{"tags":{"a":{"version":1,"manifestSize":2}},"page_token":"a"}`},
	}
	for _, test := range cases {
		got, err := json.Marshal(test.value)
		if err != nil || string(got) != test.want {
			t.Errorf("%#v is written as %s, %v; want %s", test.value, got, err, test.want)
			continue
		}
		again := reflect.New(reflect.TypeOf(test.value))
		if err := json.Unmarshal(got, again.Interface()); err != nil {
			t.Errorf("read %s: %v", got, err)
		}
		if diff := cmp.Diff(test.value, again.Elem().Interface(), cmp.Comparer(func(a, b protocol.TypeName) bool { return arrow.TypeEqual(a.Type, b.Type) })); diff != "" {
			t.Errorf("%s (-written +read):\n%s", got, diff)
		}
	}
	// A column beside expressions is an expression itself.
	mixed, err := json.Marshal(protocol.Projection{{Name: "a`b"}, {Name: "z", Expression: "1"}})
	if want := "{\"column_aliases\":{\"a`b\":\"`a``b`\",\"z\":\"1\"}}"; err != nil || string(mixed) != want {
		t.Errorf("names and expressions are written as %s, %v; want %s", mixed, err, want)
	}
	if _, err := json.Marshal(protocol.TypeName{Type: arrow.FixedWidthTypes.MonthInterval}); err == nil {
		t.Error("a type without a word is written")
	}
}

func TestVectorsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dimensions := rapid.IntRange(1, 8).Draw(t, "dimensions")
		vector := rapid.SliceOfN(rapid.Float64Range(-1e300, 1e300), dimensions, dimensions)
		want := protocol.QueryVector{Vectors: rapid.SliceOfN(vector, 1, 4).Draw(t, "vectors")}
		want.Several = len(want.Vectors) > 1 || rapid.Bool().Draw(t, "several")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got protocol.QueryVector
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestACodeIsATargetOfErrorsIs(t *testing.T) {
	err := error(&protocol.Error{Code: protocol.TableNotFound, Err: &protocol.Error{Code: protocol.NamespaceNotFound}})
	if !errors.Is(err, protocol.TableNotFound) || !errors.Is(err, protocol.NamespaceNotFound) || errors.Is(err, protocol.InvalidInput) {
		t.Error("errors.Is does not find the codes of an error and of its cause, or finds another one")
	}
}
