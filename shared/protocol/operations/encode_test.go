package operations_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/protocol/versionapi"
)

func TestWireFormsAreReadAsTheyWereWritten(t *testing.T) {
	cases := []struct {
		value any
		want  string
	}{
		{queryapi.Vector{}, `null`},
		{queryapi.Vector{Vectors: [][]float64{{1, 0.5}}}, `{"single_vector":[1,0.5]}`},
		{queryapi.Vector{Vectors: [][]float64{{1}}, Several: true}, `{"multi_vector":[[1]]}`},
		{queryapi.Projection{{Name: "b"}, {Name: "a"}}, `{"column_names":["b","a"]}`},
		{queryapi.Projection{{Name: "z", Expression: "a + 1"}, {Name: "b", Expression: "\"c\""}}, `{"column_aliases":{"z":"a + 1","b":"\"c\""}}`},
		{queryapi.FullTextQuery{Text: "a b", Columns: []string{"c"}}, `{"string_query":{"query":"a b","columns":["c"]}}`},
		{queryapi.OptionalInt{Value: 2}, `2`},
		{queryapi.OptionalInt{Null: true}, `null`},
		{indexapi.OptionalMaximum{Given: true, Value: new(3)}, `3`},
		{protocol.TypeName{Type: arrow.PrimitiveTypes.Float32}, `{"type":"float32"}`},
		{protocol.TypeName{Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}}, `{"type":"timestamp:ns:UTC"}`},
		{transactionapi.Action{SetStatus: &transactionapi.SetStatusAction{Status: transactionapi.Failed}},
			`{"setStatusAction":{"status":"Failed"},"setPropertyAction":null,"unsetPropertyAction":null}`},
		{queryapi.CountRowsResponse{Count: 1 << 60}, `1152921504606846976`},
		{refapi.ListTagsResponse{Tags: map[string]refapi.TagContents{"a": {Version: 1, ManifestSize: 2}}, PageToken: "a"},
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
	mixed, err := json.Marshal(queryapi.Projection{{Name: "a`b"}, {Name: "z", Expression: "1"}})
	if want := "{\"column_aliases\":{\"a`b\":\"`a``b`\",\"z\":\"1\"}}"; err != nil || string(mixed) != want {
		t.Errorf("names and expressions are written as %s, %v; want %s", mixed, err, want)
	}
	if _, err := json.Marshal(protocol.TypeName{Type: arrow.FixedWidthTypes.MonthInterval}); err == nil {
		t.Error("a type without a word is written")
	}
}

func TestEmptyAnswersHoldNoNull(t *testing.T) {
	for want, value := range map[string]any{
		`{"namespaces":[]}`:         namespaceapi.ListResponse{},
		`{"tables":[]}`:             tableapi.ListResponse{},
		`{"versions":[]}`:           versionapi.ListResponse{},
		`{"properties":{}}`:         namespaceapi.DescribeResponse{},
		`{"id":[],"properties":{}}`: tableapi.DropResponse{},
		`0`:                         queryapi.CountRowsResponse{},
		`{"fields":[]}`:             protocol.JSONSchema{},
		`{"tables":["a"]}`:          tableapi.ListResponse{Tables: []string{"a"}},
		`{"properties":{"a":"1"}}`:  namespaceapi.DescribeResponse{Properties: map[string]string{"a": "1"}},
		`{"properties":{},"version":0,"updated_rows":0}`:                                                         dataapi.UpdateResponse{},
		`{"properties":{},"version":0,"rows_updated":0}`:                                                         dataapi.UpdateResponse{Dialect: protocol.DialectLanceDB},
		`{"version":0,"manifest_path":"","timestamp_millis":0,"timestamp":"0001-01-01T00:00:00Z","metadata":{}}`: versionapi.Version{},
	} {
		got, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%T is %s, want %s", value, got, want)
		}
	}
}
