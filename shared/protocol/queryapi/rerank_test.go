package queryapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// reranked returns the body of a hybrid query with a value of rerank.
func reranked(rerank string) []byte {
	return []byte(`{"vector":[1,2],"full_text_query":{"query":"fox"},"rerank":` + rerank + `}`)
}

func TestRerankHasAConstantAndWeights(t *testing.T) {
	for text, want := range map[string]queryapi.Rerank{
		`null`:            {},
		`{}`:              {},
		`{"method":null}`: {},
		`{"method":"RRF","k":7,"weights":{"vector":0,"text":0.5}}`: {Method: queryapi.RerankRRF, K: new(int64(7)), Weights: queryapi.RerankWeights{Vector: new(0.0), Text: new(0.5)}},
	} {
		var req queryapi.Request
		err := json.Unmarshal(reranked(text), &req)
		if err == nil {
			err = req.Validate()
		}
		if diff := cmp.Diff(want, req.Rerank); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestRerankRefusesByName(t *testing.T) {
	for body, named := range map[string]string{
		string(reranked(`"rrf"`)):                                       "rerank",
		string(reranked(`{"method":"linear"}`)):                         "rerank.method",
		string(reranked(`{"normalize":"rank"}`)):                        "normalize",
		string(reranked(`{"weights":{"image":1}}`)):                     "image",
		string(reranked(`{"k":0}`)):                                     "rerank.k",
		string(reranked(`{"k":-1}`)):                                    "rerank.k",
		string(reranked(`{"k":1000001}`)):                               "rerank.k",
		string(reranked(`{"weights":{"vector":-1}}`)):                   "rerank.weights.vector",
		string(reranked(`{"weights":{"text":1e300}}`)):                  "rerank.weights.text",
		string(reranked(`{"weights":{"vector":0,"text":0}}`)):           "rerank.weights",
		`{"vector":[1,2],"rerank":{"k":7}}`:                             "full_text_query",
		`{"full_text_query":{"query":"fox"},"rerank":{"method":"rrf"}}`: "vector",
	} {
		var req queryapi.Request
		err := json.Unmarshal([]byte(body), &req)
		if err == nil {
			err = req.Validate()
		}
		if err == nil || protocol.CodeOf(err) != protocol.InvalidInput || !strings.Contains(err.Error(), named) {
			t.Errorf("%s: got %v, want InvalidInput that names %s", body, err, named)
		}
	}
}

func FuzzRerank(f *testing.F) {
	f.Add([]byte(`{"method":"rrf","k":60,"weights":{"vector":1,"text":2.5}}`))
	f.Add([]byte(`{"k":null,"weights":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second queryapi.Rerank
		if json.Unmarshal(data, &first) != nil {
			return
		}
		text, err := json.Marshal(&first)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &second); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s (-first +second):\n%s", text, diff)
		}
	})
}
