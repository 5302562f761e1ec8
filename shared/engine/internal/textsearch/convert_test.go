package textsearch

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol/queryapi"
)

// Whatever clients send as a query, it becomes a search or an error.
func FuzzTextQueries(f *testing.F) {
	data, err := os.ReadFile("../../testdata/text/answers.json")
	if err != nil {
		f.Fatal(err)
	}
	var answers []struct {
		Request struct {
			Query json.RawMessage `json:"full_text_query"`
		}
	}
	if err := json.Unmarshal(data, &answers); err != nil {
		f.Fatal(err)
	}
	for _, a := range answers {
		f.Add(string(a.Request.Query))
	}
	f.Add(`{"columns":["a"],"query":"\"two words\""}`)
	f.Add(`{"query":{"multi_match":{"query":"a","columns":["a","b"],"boost":[1,2]}}}`)
	f.Add(`{"query":{"match":{"terms":"a","fuzziness":"auto","max_expansions":0}}}`)
	f.Add(`{"query":{"match":{"terms":"a","column":"b","document_granularity":"list_element"}}}`)
	f.Add(`{"query":{"phrase":{"terms":"a","column":"c","document_granularity":"row"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var query queryapi.FullTextQuery
		if len(text) > 1<<12 || json.Unmarshal([]byte(text), &query) != nil {
			return
		}
		q, err := (&converter{indices: Indexes{rows: map[string]*snapshot.Index{"a": {}, "b": {}}, elements: map[string]*snapshot.Index{"b": {}, "c": {}}}}).of(&query)
		if err != nil {
			return
		}
		params := fulltext.DefaultParams()
		params.WithPosition = true
		analyzer, err := fulltext.NewAnalyzer(params)
		if err != nil {
			t.Fatal(err)
		}
		s, err := fulltext.NewSearch(q, func(string) (fulltext.Field, error) {
			return fulltext.Field{Analyzer: analyzer, Indexed: true}, nil
		})
		if err != nil {
			return
		}
		documents := make([]fulltext.Document, len(s.Columns()))
		for i := range documents {
			documents[i] = fulltext.Document{Text: "a b two words", Covered: true}
		}
		v := s.NewVocabulary()
		if err := errors.Join(v.Add(documents), s.Expand(v)); err != nil {
			return
		}
		tally := s.NewTally()
		if err := tally.Add(1, documents, true, true); err != nil {
			t.Fatal(err)
		}
		scorer := s.Scorer(tally)
		for i := range tally.Addresses {
			if score, _ := scorer.Score(tally.Row(i)); math.IsNaN(float64(score)) {
				t.Errorf("%s: score is not a number", text)
			}
		}
	})
}
