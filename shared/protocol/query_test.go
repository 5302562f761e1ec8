package protocol_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

func TestAQueryHasOneVectorOrSeveral(t *testing.T) {
	one, two := [][]float64{{1, 2.5}}, [][]float64{{1, 2}, {3, 4}}
	for text, want := range map[string]protocol.QueryVector{
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
		var got protocol.QueryVector
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
		var got protocol.QueryVector
		if err := json.Unmarshal(text, &got); err != nil || float32(got.Vectors[0][0]) != f {
			t.Errorf("%s becomes %v (%v)", text, got.Vectors, err)
		}
	}
}

func TestProjectionsAreListsOrMapsOfColumns(t *testing.T) {
	names := protocol.Projection{{Name: "id"}, {Name: "st.x"}}
	aliases := protocol.Projection{{Name: "z", Expression: "id+1"}, {Name: "a", Expression: "upper(text)"}}
	for text, want := range map[string]protocol.Projection{
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
		var got protocol.Projection
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
	match := &protocol.TextQuery{Match: &protocol.MatchQuery{Terms: "hello", Column: "text", Operator: protocol.TextAnd, Fuzziness: protocol.OptionalInt{Null: true}}}
	node := `{"match":{"terms":"hello","column":"text","operator":"And","fuzziness":null,"boost":null}}`
	for text, want := range map[string]protocol.FullTextQuery{
		`{"string_query":{"query":"hello","columns":["text"]}}`: {Text: "hello", Columns: []string{"text"}},
		`{"query":"hello","columns":[]}`:                        {Text: "hello", Columns: []string{}},
		`{"structured_query":{"query":` + node + `}}`:           {Node: match},
		`{"query":` + node + `}`:                                {Node: match},
		`{"query":{"boost":{"positive":` + node + `,"negative":{"phrase":{"terms":"a b"}}}}}`: {
			Node: &protocol.TextQuery{Boost: &protocol.BoostQuery{Positive: match, Negative: &protocol.TextQuery{Phrase: &protocol.PhraseQuery{Terms: "a b"}}}},
		},
		`{"query":{"boolean":{"should":[` + node + `]}}}`: {Node: &protocol.TextQuery{Boolean: &protocol.BooleanQuery{Should: []protocol.TextQuery{*match}}}},
	} {
		var got protocol.FullTextQuery
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
		want protocol.QueryTableRequest
	}{
		"LanceDB vector search": {
			`{"bypass_vector_index":true,"columns":["id"],"distance_type":"l2","ef":null,"filter":"id > 1","k":5,"lower_bound":null,"maximum_nprobes":20,"minimum_nprobes":20,"nprobes":20,"prefilter":true,"refine_factor":null,"upper_bound":null,"vector":[1.0,2.0],"version":null}`,
			protocol.QueryTableRequest{
				K: n(5), Columns: protocol.Projection{{Name: "id"}}, Filter: "id > 1", Prefilter: true, BypassVectorIndex: true,
				Vector: protocol.QueryVector{Vectors: [][]float64{{1, 2}}}, DistanceType: protocol.DistanceL2,
				NProbes: n(20), MinimumNProbes: n(20), MaximumNProbes: n(20),
			},
		},
		"LanceDB scan": {
			`{"k":9223372036854775807,"prefilter":true,"vector":[],"version":3}`,
			protocol.QueryTableRequest{K: n(math.MaxInt64), Prefilter: true, Version: n(3)},
		},
		"namespace search": {
			`{"id":["t"],"k":3,"vector":{"single_vector":[1.5]},"columns":{"column_names":["id"]},"with_row_id":true}`,
			protocol.QueryTableRequest{Common: protocol.Common{ID: []string{"t"}}, K: n(3), Vector: protocol.QueryVector{Vectors: [][]float64{{1.5}}}, Columns: protocol.Projection{{Name: "id"}}, WithRowID: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got protocol.QueryTableRequest
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
		req := protocol.QueryTableRequest{SearchEffort: &effort}
		if err := req.Validate(); (err == nil) != ok {
			t.Errorf("effort %v: got %v, want it accepted: %t", effort, err, ok)
		}
	}
}
