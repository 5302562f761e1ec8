package queryapi_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

func TestVectorHoldsOneOrSeveral(t *testing.T) {
	one, two := [][]float64{{1, 2.5}}, [][]float64{{1, 2}, {3, 4}}
	for text, want := range map[string]queryapi.Vector{
		`null`:                 {},
		`[]`:                   {},
		`{}`:                   {},
		`{"single_vector":[]}`: {},
		`{"single_vector":null,"multi_vector":[]}`: {},
		`[1, 2.5]`:                  {Vectors: one},
		`[1.0,25e-1]`:               {Vectors: one},
		`{"single_vector":[1,2.5]}`: {Vectors: one},
		`{"single_vector":[1,2.5],"multi_vector":null}`: {Vectors: one},
		`[ [1,2.5] ]`:                     {Vectors: one, Several: true},
		`[[1,2],[3,4]]`:                   {Vectors: two, Several: true},
		`{"multi_vector": [[1,2],[3,4]]}`: {Vectors: two, Several: true},
	} {
		var got queryapi.Vector
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestQueryVectorsKeepFloat32(t *testing.T) {
	for _, f := range []float32{0.1, math.MaxFloat32, math.SmallestNonzeroFloat32, 1.0 / 3} {
		text, err := json.Marshal([]float32{f})
		if err != nil {
			t.Fatal(err)
		}
		var got queryapi.Vector
		if err := json.Unmarshal(text, &got); err != nil || float32(got.Vectors[0][0]) != f {
			t.Errorf("%s becomes %v (%v)", text, got.Vectors, err)
		}
	}
}

func TestProjectionsAreListsOrMapsOfColumns(t *testing.T) {
	names := queryapi.Projection{{Name: "id"}, {Name: "st.x"}}
	aliases := queryapi.Projection{{Name: "z", Expression: "id+1"}, {Name: "a", Expression: "upper(text)"}}
	for text, want := range map[string]queryapi.Projection{
		`null`:                           nil,
		`[]`:                             nil,
		`{}`:                             nil,
		`{"column_names":null}`:          nil,
		`["id","st.x"]`:                  names,
		`{"column_names":["id","st.x"]}`: names,
		`{"z":"id+1","a":"upper(text)"}`: aliases,
		`{"column_aliases":{"z":"id+1","a":"upper(text)"}}`:                     aliases,
		`{"column_aliases":{},"column_names":["id","st.x"]}`:                    names,
		`{"column_aliases":{"z":"id+1","a":"upper(text)"},"column_names":[]}`:   aliases,
		`{"column_aliases":{},"column_names":[]}`:                               nil,
		`[["z","id+1"], ["a","upper(text)"] ]`:                                  aliases,
		`{"column_aliases":{"z":"id+1","a":"upper(text)"},"column_names":null}`: aliases,
	} {
		var got queryapi.Projection
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestTextQueries(t *testing.T) {
	match := &queryapi.TextQuery{Match: &queryapi.MatchQuery{Terms: "hello", Column: "text", Operator: queryapi.TextAnd, Fuzziness: queryapi.OptionalInt{Null: true}}}
	node := `{"match":{"terms":"hello","column":"text","operator":"And","fuzziness":null,"boost":null}}`
	for text, want := range map[string]queryapi.FullTextQuery{
		`{"string_query":{"query":"hello","columns":["text"]}}`: {Text: "hello", Columns: []string{"text"}},
		`{"query":"hello","columns":[]}`:                        {Text: "hello", Columns: []string{}},
		`{"structured_query":{"query":` + node + `}}`:           {Node: match},
		`{"query":` + node + `}`:                                {Node: match},
		`{"query":{"boost":{"positive":` + node + `,"negative":{"phrase":{"terms":"a b"}}}}}`: {
			Node: &queryapi.TextQuery{Boost: &queryapi.BoostQuery{Positive: match, Negative: &queryapi.TextQuery{Phrase: &queryapi.PhraseQuery{Terms: "a b"}}}},
		},
		`{"query":{"boolean":{"should":[` + node + `]}}}`: {Node: &queryapi.TextQuery{Boolean: &queryapi.BooleanQuery{Should: []queryapi.TextQuery{*match}}}},
	} {
		var got queryapi.FullTextQuery
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestClientsQueries holds the bodies that clients of both families really send.
func TestClientsQueries(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	cases := map[string]struct {
		body string
		want queryapi.Request
	}{
		"LanceDB vector search": {
			`{"bypass_vector_index":true,"columns":["id"],"distance_type":"l2","ef":null,"filter":"id > 1","k":5,"lower_bound":null,"maximum_nprobes":20,"minimum_nprobes":20,"nprobes":20,"prefilter":true,"refine_factor":null,"upper_bound":null,"vector":[1.0,2.0],"version":null}`,
			queryapi.Request{
				K: n(5), Columns: queryapi.Projection{{Name: "id"}}, Filter: "id > 1", Prefilter: true, BypassVectorIndex: true,
				Vector: queryapi.Vector{Vectors: [][]float64{{1, 2}}}, DistanceType: protocol.DistanceL2,
				NProbes: n(20), MinimumNProbes: n(20), MaximumNProbes: n(20),
			},
		},
		"LanceDB scan": {
			`{"k":9223372036854775807,"prefilter":true,"vector":[],"version":3}`,
			queryapi.Request{K: n(math.MaxInt64), Prefilter: true, Version: n(3)},
		},
		"namespace search": {
			`{"id":["t"],"k":3,"vector":{"single_vector":[1.5]},"columns":{"column_names":["id"]},"with_row_id":true}`,
			queryapi.Request{Common: protocol.Common{ID: []string{"t"}}, K: n(3), Vector: queryapi.Vector{Vectors: [][]float64{{1.5}}}, Columns: queryapi.Projection{{Name: "id"}}, WithRowID: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got queryapi.Request
			if err := json.Unmarshal([]byte(c.body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := got.Validate(); err != nil {
				t.Errorf("Validate: %v", err)
			}
		})
	}
}

func TestEffortsOfSearchesGoFromNothingToAll(t *testing.T) {
	for effort, ok := range map[float64]bool{0: true, 0.5: true, 1: true, -0.1: false, 3: false, math.NaN(): false} {
		req := queryapi.Request{SearchEffort: &effort}
		if err := req.Validate(); (err == nil) != ok {
			t.Errorf("effort %v: got %v, want it accepted: %t", effort, err, ok)
		}
	}
}

func TestMalformedPairsOfColumnsAreRefused(t *testing.T) {
	for _, text := range []string{`[["a"]]`, `[["a","b","c"]]`, `[["a",""]]`, `[["","b"]]`, `[["a","b"],"c"]`, `["c",["a","b"]]`, `[["a",1]]`, `[[]]`} {
		var got queryapi.Projection
		if err := json.Unmarshal([]byte(text), &got); protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%s is %v, %v; want InvalidInput", text, got, err)
		}
	}
}

func TestVectorsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dimensions := rapid.IntRange(1, 8).Draw(t, "dimensions")
		vector := rapid.SliceOfN(rapid.Float64Range(-1e300, 1e300), dimensions, dimensions)
		want := queryapi.Vector{Vectors: rapid.SliceOfN(vector, 1, 4).Draw(t, "vectors")}
		want.Several = len(want.Vectors) > 1 || rapid.Bool().Draw(t, "several")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got queryapi.Vector
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
