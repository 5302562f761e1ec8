package fulltext

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/index/snowball"
)

// found searches texts, one per row, and returns the scores by row. The index covers the first covered
// rows.
func found(t testing.TB, q Query, covered int, texts ...string) map[int]float32 {
	t.Helper()
	a := Plain(false)
	if covered > 0 {
		p := DefaultParams()
		p.WithPosition = true
		var err error
		if a, err = NewAnalyzer(p); err != nil {
			t.Fatal(err)
		}
	}
	s, err := NewSearch(q, func(string) (Field, error) { return Field{Analyzer: a, Indexed: covered > 0}, nil })
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][]Document, len(texts))
	v := s.NewVocabulary()
	for i, text := range texts {
		for range s.Columns() {
			rows[i] = append(rows[i], Document{Text: text, Covered: i < covered})
		}
		if err := v.Add(rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Expand(v); err != nil {
		t.Fatal(err)
	}
	return scored(t, s, rows)
}

func scored(t testing.TB, s *Search, rows [][]Document) map[int]float32 {
	t.Helper()
	tally := s.NewTally()
	for i, documents := range rows {
		if err := tally.Add(uint64(i), documents, true, true); err != nil {
			t.Fatal(err)
		}
	}
	tally.Done()
	scorer, scores := s.Scorer(tally), map[int]float32{}
	for i, address := range tally.Addresses {
		if score, ok := scorer.Score(tally.Row(i)); ok {
			scores[int(address)] = score
		}
	}
	return scores
}

func ids(scores map[int]float32) []int {
	list := []int{}
	for id := range scores {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func one(terms string) *Match { return &Match{Column: "v", Terms: terms, Boost: 1, MaxExpansions: 50} }

func fuzzy(terms string, edits, prefix, most int) *Match {
	return &Match{Column: "v", Terms: terms, Boost: 1, Fuzziness: edits, PrefixLength: prefix, MaxExpansions: most}
}

func TestQueriesFindRows(t *testing.T) {
	texts := []string{"quick brown fox", "lazy dog", "brown dog, brown fox", "", "fix the box"}
	for _, c := range []struct {
		name    string
		query   Query
		covered int
		want    []int
	}{
		{"a word", one("fox"), 0, []int{0, 2}},
		{"another case without an index", one("Fox"), 0, []int{}},
		{"another case with one", one("Fox"), 5, []int{0, 2}},
		{"some words", one("fox dog"), 5, []int{0, 1, 2}},
		{"all words", &Match{Column: "v", Terms: "fox dog", All: true, Boost: 1}, 5, []int{2}},
		{"no words", one("the"), 5, []int{}},
		{"a phrase", &Phrase{Column: "v", Terms: "brown fox"}, 5, []int{0, 2}},
		{"a phrase in texts", &Phrase{Column: "v", Terms: "dog brown"}, 0, []int{2}},
		{"a phrase with words between", &Phrase{Column: "v", Terms: "quick fox", Slop: 1}, 5, []int{0}},
		{"a phrase that is farther apart", &Phrase{Column: "v", Terms: "quick fox"}, 5, []int{}},
		{"a phrase across a dropped word", &Phrase{Column: "v", Terms: "fix a box"}, 5, []int{4}},
		{"misspelt", fuzzy("fax", 1, 0, 50), 5, []int{0, 2, 4}},
		{"misspelt behind a prefix", fuzzy("fax", 1, 2, 50), 5, []int{}},
		{"misspelt, one expansion", fuzzy("fax", 1, 0, 1), 5, []int{4}},
		{"misspelt without an index", fuzzy("fax", 1, 0, 50), 0, []int{}},
		{"misspelt, not covered", fuzzy("fax", 1, 0, 50), 1, []int{0}},
		{"must and must not", &Boolean{Must: []Query{one("brown")}, MustNot: []Query{one("dog")}}, 5, []int{0}},
		{"should", &Boolean{Should: []Query{one("lazy"), one("quick")}}, 5, []int{0, 1}},
		{"boost", &Boost{Positive: one("brown"), Negative: one("dog"), NegativeBoost: 10}, 5, []int{0, 2}},
		{"several columns", &MultiMatch{Matches: []*Match{one("lazy"), {Column: "w", Terms: "fix", Boost: 2}}}, 5, []int{1, 4}},
	} {
		if diff := cmp.Diff(c.want, ids(found(t, c.query, c.covered, texts...))); diff != "" {
			t.Errorf("%s: rows: want -, got +:\n%s", c.name, diff)
		}
	}
}

func TestScoresCombine(t *testing.T) {
	texts := []string{"brown fox", "brown dog", "cat"}
	brown, fox := found(t, one("brown"), 3, texts...), found(t, one("fox"), 3, texts...)
	both := found(t, &Boolean{Must: []Query{one("brown")}, Should: []Query{one("fox")}}, 3, texts...)
	if both[0] != brown[0]+fox[0] || both[1] != brown[1] {
		t.Errorf("brown and perhaps fox scores %v, want the sum of %v and %v", both, brown, fox)
	}
	less := found(t, &Boost{Positive: one("brown"), Negative: one("fox"), NegativeBoost: 0.5}, 3, texts...)
	if less[0] != brown[0]-0.5*fox[0] || less[1] != brown[1] {
		t.Errorf("brown but rather not fox scores %v, want %v less half of %v", less, brown, fox)
	}
	twice := found(t, one("fox fox"), 3, texts...)
	if twice[0] != 2*fox[0] {
		t.Errorf("a word that is asked for twice scores %v, want twice %v", twice[0], fox[0])
	}
}

// A combined search of one column equals a search of that column.
func TestCombinedFieldsOfOneColumnAreAMatch(t *testing.T) {
	texts := []string{"brown fox", "brown dog brown", "cat", ""}
	want := found(t, one("brown dog"), 4, texts...)
	got := found(t, &CombinedFields{Columns: []string{"v"}, Terms: "brown dog"}, 4, texts...)
	near := cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("scores: want those of a match -, got +:\n%s", diff)
	}
	heavy := found(t, &CombinedFields{Columns: []string{"v", "w"}, Weights: []float32{1, 3}, Terms: "brown dog", All: true}, 4, texts...)
	if diff := cmp.Diff([]int{1}, ids(heavy)); diff != "" {
		t.Errorf("rows with both words in two columns: want -, got +:\n%s", diff)
	}
}

func TestQueriesThatMakeNoSenseAreErrors(t *testing.T) {
	deep := one("x")
	deep.Boost = float32(math.NaN())
	for name, q := range map[string]Query{
		"boost":           deep,
		"negative boost":  &Boost{Positive: one("a"), Negative: one("b"), NegativeBoost: -1},
		"nothing to find": &Boolean{MustNot: []Query{one("a")}},
		"no columns":      &MultiMatch{},
		"no combined":     &CombinedFields{Terms: "a"},
		"small weight":    &CombinedFields{Terms: "a", Columns: []string{"v"}, Weights: []float32{0.5}},
		"no index":        &CombinedFields{Terms: "a", Columns: []string{"v", "w"}},
		"slop":            &Phrase{Column: "v", Terms: "a b", Slop: -1},
		"too many terms":  one(manyWords(maxTerms + 1)),
	} {
		var bad *Error
		_, err := NewSearch(q, func(string) (Field, error) { return Field{Analyzer: Plain(false)}, nil })
		if !errors.As(err, &bad) {
			t.Errorf("%s: error is %v, want an Error", name, err)
		}
	}
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}

// BM25 as it is written in books, in float64, of all texts.
func bm25(texts []string, terms []string) map[int]float64 {
	words := make([][]string, len(texts))
	documents, length := 0.0, 0.0
	for i, text := range texts {
		words[i] = strings.Fields(text)
		if n := len(words[i]); n > 0 {
			documents++
			length += float64(n)
		}
	}
	count := func(list []string, word string) (n float64) {
		for _, w := range list {
			if w == word {
				n++
			}
		}
		return n
	}
	scores := map[int]float64{}
	for _, term := range terms {
		holding := 0.0
		for _, list := range words {
			holding += min(count(list, term), 1)
		}
		for i, list := range words {
			if f := count(list, term); f > 0 {
				idf := math.Log((documents-holding+0.5)/(holding+0.5) + 1)
				scores[i] += idf * f * 2.2 / (f + 1.2*(0.25+0.75*float64(len(list))/(length/documents)))
			}
		}
	}
	return scores
}

func TestScoresAreBM25(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	text := rapid.Map(rapid.SliceOfN(word, 0, 8), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(text, 1, 20).Draw(rt, "texts")
		terms := rapid.SliceOfN(word, 1, 4).Draw(rt, "terms")
		got := found(t, one(strings.Join(terms, " ")), 0, texts...)
		want := bm25(texts, terms)
		if len(got) != len(want) {
			rt.Fatalf("found %v, want %v", got, want)
		}
		for i, score := range want {
			if math.Abs(float64(got[i])-score) > 1e-5*max(1, score) {
				rt.Errorf("row %d scores %v, want %v", i, got[i], score)
			}
		}
	})
}

// How rows are spread over tallies makes no difference.
func TestTalliesMerge(t *testing.T) {
	texts := []string{"a b", "b c c", "", "c", "a a a b", "d"}
	s, err := NewSearch(one("a c"), func(string) (Field, error) { return Field{Analyzer: Plain(false)}, nil })
	if err != nil {
		t.Fatal(err)
	}
	total, parts := s.NewTally(), []*Tally{}
	for i, text := range texts {
		part := s.NewTally()
		if err := part.Add(uint64(i), []Document{{Text: text}}, true, true); err != nil {
			t.Fatal(err)
		}
		part.Done()
		total.Merge(part)
		parts = append(parts, part)
	}
	scorer, got := s.Scorer(total), map[int]float32{}
	for _, part := range parts {
		for i, address := range part.Addresses {
			got[int(address)], _ = scorer.Score(part.Row(i))
		}
	}
	if diff := cmp.Diff(found(t, one("a c"), 0, texts...), got); diff != "" {
		t.Errorf("scores from merged tallies: want -, got +:\n%s", diff)
	}
}

func TestWithinCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		edits int
	}{
		{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"für", "fur", 1}, {"flaw", "lawn", 2},
	} {
		for edits := range 5 {
			want := edits >= c.edits
			if got := new(comparison).within([]rune(c.a), []rune(c.b), edits); got != want {
				t.Errorf("%q is within %d edits of %q: got %t, want %t", c.a, edits, c.b, got, want)
			}
		}
	}
}

func FuzzAnalyzers(f *testing.F) {
	f.Add("The quick brown foxes' jumping, because café STRASSE", `{"base_tokenizer":"simple"}`)
	f.Add("parseHTML2JSON a::b", `{"base_tokenizer":"code","stem":false,"split_identifiers":true,"index_operators":true}`)
	f.Add("日本語 テキスト ½", `{"base_tokenizer":"ngram","min_ngram_length":1,"max_ngram_length":3,"language":"German"}`)
	f.Add("αντιθετε \xff\xfe", `{"base_tokenizer":"whitespace","language":"Greek","lance_tokenizer":"json"}`)
	f.Add("Can't 3.14 東京都に住んで ภาษาไทย \xe0", `{"base_tokenizer":"icu"}`)
	f.Fuzz(func(t *testing.T, text, params string) {
		p, err := ParseParams([]byte(params))
		if err != nil || len(text) > 1<<10 {
			return
		}
		a, err := NewAnalyzer(p)
		if err != nil {
			return
		}
		a.terms(text, func(string, int) {})
		_ = a.jsonTerms(text, func(string, int) {})
		if _, err := a.Query(text); err != nil && !a.json {
			t.Errorf("query %q: %v", text, err)
		}
		for _, language := range snowball.Languages() {
			if stem := snowball.New(language).Stem(text); len(stem) > 2*len(text)+16 {
				t.Errorf("%s: stem of %q is %q", language, text, stem)
			}
		}
	})
}

func BenchmarkCount(b *testing.B) {
	a, err := NewAnalyzer(DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The quick brown foxes were jumping over several lazy dogs because nobody stopped them. ", 20)
	for name, analyzer := range map[string]*Analyzer{"plain": Plain(false), "english": a} {
		b.Run(name, func(b *testing.B) {
			s, err := NewSearch(one("foxes dogs"), func(string) (Field, error) { return Field{Analyzer: analyzer}, nil })
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			tally := s.NewTally()
			for b.Loop() {
				if err := tally.Add(0, []Document{{Text: text}}, false, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTerms(b *testing.B) {
	a, err := NewAnalyzer(DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The quick brown foxes were jumping over several lazy dogs because nobody stopped them. ", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a.terms(text, func(string, int) {})
	}
}
