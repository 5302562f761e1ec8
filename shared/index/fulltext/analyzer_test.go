package fulltext

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/snowball"
	"tiltyard/shared/lance"
)

// testdata/terms.json has the terms that native Lance makes from texts, with parameters of all kinds.
func TestTermsAreThoseOfNativeLance(t *testing.T) {
	data, err := os.ReadFile("testdata/terms.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Params json.RawMessage
		Text   string
		Terms  [][2]any
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, c := range golden {
		a := analyzer(t, string(c.Params))
		terms := [][2]any{}
		query, err := a.Query(c.Text)
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range query {
			terms = append(terms, [2]any{term.Text, float64(term.Position)})
		}
		if diff := cmp.Diff(c.Terms, terms); diff != "" {
			t.Errorf("%s: terms of %q: want -, got +:\n%s", c.Params, c.Text, diff)
		}
	}
}

// analyzer returns the analyzer for parameters in the words of clients.
func analyzer(t *testing.T, params string) *Analyzer {
	t.Helper()
	p, err := ParseParams([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	var clients struct {
		Min *int `json:"ngram_min_length"`
		Max *int `json:"ngram_max_length"`
	}
	if err := json.Unmarshal([]byte(params), &clients); err != nil {
		t.Fatal(err)
	}
	if clients.Min != nil {
		p.MinNgramLength, p.MaxNgramLength = *clients.Min, *clients.Max
	}
	a, err := NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStopWordsExistForEachLanguage(t *testing.T) {
	for _, language := range snowball.Languages() {
		if words, err := stopWordsOf(language); err != nil || len(words) < 40 {
			t.Errorf("%s has %d stop words (%v), want some", language, len(words), err)
		}
	}
}

func TestTokenizersThatAreNotHere(t *testing.T) {
	for name, isMistake := range map[string]bool{
		"other": false, "icu/other": false, "jieba/default": true, "jieba": true, "lindera/ipadic": true,
	} {
		p := DefaultParams()
		p.BaseTokenizer = name
		_, err := NewAnalyzer(p)
		var mistake *Error
		if errors.As(err, &mistake) != isMistake || errors.Is(err, lance.ErrUnsupported) == isMistake {
			t.Errorf("analyzer with the tokenizer %s: got error %v, which should be a *Error: %t, or else ErrUnsupported", name, err, isMistake)
		}
	}
}

func TestCodeIsCutIntoNamesTheirPartsAndSigns(t *testing.T) {
	p := DefaultParams()
	p.BaseTokenizer, p.Stem, p.RemoveStopWords, p.LowerCase = "code", false, false, false
	p.SplitIdentifiers, p.SplitOnNumerics, p.PreserveOriginal, p.IndexOperators = true, true, true, true
	a, err := NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := a.Query("std::parseHTML2JSON != snake_case")
	if err != nil {
		t.Fatal(err)
	}
	want := []Term{
		{"std", 0}, {"::", 1},
		{"parseHTML2JSON", 2}, {"parse", 2}, {"HTML", 3}, {"2", 4}, {"JSON", 5},
		{"!=", 6}, {"snake_case", 7}, {"snake", 7}, {"case", 8},
	}
	if diff := cmp.Diff(want, terms); diff != "" {
		t.Errorf("terms of code: want -, got +:\n%s", diff)
	}
}

func TestJSONBecomesPathsTypesAndValues(t *testing.T) {
	p := DefaultParams()
	p.LanceTokenizer = "json"
	a, err := NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	document := `{"b":{"c":[1,2.5,{"d":null}]},"a":"Running dogs","e":true}`
	if err := a.jsonTerms(document, func(term string, _ int) { terms = append(terms, term) }); err != nil {
		t.Fatal(err)
	}
	want := []string{"a,str,run", "a,str,dog", "b.c,number,1", "b.c,number,2.5", "b.c.d,null,null", "e,bool,true"}
	if diff := cmp.Diff(want, terms); diff != "" {
		t.Errorf("terms of %s: want -, got +:\n%s", document, diff)
	}
	query, err := a.Query("a,str,the runner runs;b.c,number,1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Term{{"a,str,runner", 0}, {"a,str,run", 1}, {"b.c,number,1", 2}}, query); diff != "" {
		t.Errorf("terms of a query: want -, got +:\n%s", diff)
	}
	for _, bad := range []string{"hello", "a,text,x", ""} {
		if _, err := a.Query(bad); err == nil {
			t.Errorf("query %q of JSON is accepted, want an error", bad)
		}
	}
}
