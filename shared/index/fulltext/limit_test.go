package fulltext

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomText returns some of a few words.
func randomText(random *rand.Rand, most int) string {
	words := make([]string, 1+random.IntN(most))
	for i := range words {
		words[i] = fmt.Sprintf("w%d", int(random.ExpFloat64()*3))
	}
	return strings.Join(words, " ")
}

func randomQuery(random *rand.Rand, depth int) Query {
	kind := random.IntN(6)
	if depth == 0 {
		kind = random.IntN(3)
	}
	some := func(least int) (queries []Query) {
		for range least + random.IntN(2) {
			queries = append(queries, randomQuery(random, depth-1))
		}
		return queries
	}
	boost := []float32{0, 0.5, 1, 3}
	match := func() *Match {
		return &Match{
			Column: "v", Terms: randomText(random, 3), All: random.IntN(2) == 0, Boost: boost[random.IntN(4)],
			Fuzziness: random.IntN(6) / 5, MaxExpansions: 50,
		}
	}
	switch kind {
	case 0:
		return &Phrase{Column: "v", Terms: randomText(random, 2), Slop: random.IntN(2)}
	case 1, 2:
		return match()
	case 3:
		return &MultiMatch{Matches: []*Match{match(), match()}[random.IntN(2):]}
	case 4:
		return &Boost{Positive: some(1)[0], Negative: some(1)[0], NegativeBoost: boost[random.IntN(4)]}
	}
	return &Boolean{Must: some(random.IntN(3)), Should: some(1), MustNot: some(0)}
}

// shown returns the text of a query, including its subqueries.
func shown(q Query) string {
	data, err := json.Marshal(q)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %s", q, data)
}

// No row that the index covers scores more than its limit, and none is found without a required term.
func TestRowsScoreNoMoreThanTheirLimit(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	p := DefaultParams()
	p.WithPosition = true
	a, err := NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	found, required, near := 0, 0, 0
	for range 400 {
		query := randomQuery(random, 2)
		s, err := NewSearch(query, func(string) (Field, error) { return Field{Analyzer: a, Indexed: true}, nil })
		if err != nil {
			t.Fatal(err)
		}
		v := s.NewVocabulary()
		rows := make([][]Document, 40)
		for i := range rows {
			rows[i] = []Document{{Text: randomText(random, 8), Covered: true}}
			if err := v.Add(rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Expand(v); err != nil {
			t.Fatal(err)
		}
		tally := s.NewTally()
		for i, documents := range rows {
			if err := tally.Add(uint64(i), documents, true, true); err != nil {
				t.Fatal(err)
			}
		}
		tally.Done()
		scorer := s.Scorer(tally)
		limit, ok := scorer.Limit(0)
		if !ok {
			if !demotes(s.root.(*demoted).negative) {
				t.Fatalf("%s has no limit", shown(query))
			}
			continue
		}
		if len(limit.Required) > 0 {
			required++
		}
		for i := range tally.Addresses {
			score, ok := scorer.Score(tally.Row(i))
			if !ok {
				continue
			}
			found++
			d, most := s.document(tally.Row(i), 0), float32(0)
			for term, n := range d.terms {
				most += limit.Weights[term] * saturation(float32(n), float32(d.length), limit.AverageLength) / (k1 + 1)
			}
			if score > most*(1+1e-5) {
				t.Fatalf("%s: row %q scores %v, more than its limit of %v", shown(query), rows[i][0].Text, score, most)
			}
			if score >= most*(1-1e-5) {
				near++
			}
			for _, set := range limit.Required {
				if !slices.ContainsFunc(set, func(term int) bool { return d.terms[term] > 0 }) {
					t.Fatalf("%s finds row %q without one of the terms %v of %q", shown(query), rows[i][0].Text, set, s.Terms(0))
				}
			}
		}
	}
	if found < 1000 || required < 50 || near < found/3 {
		t.Errorf("%d rows found, %d of them at their limit, by 400 queries of which %d require terms: too few", found, near, required)
	}
}

// A single column does not limit the scores of a search over several columns.
func TestSearchesOfSeveralColumnsHaveNoLimit(t *testing.T) {
	p := DefaultParams()
	a, err := NewAnalyzer(p)
	if err != nil {
		t.Fatal(err)
	}
	other := &Match{Column: "w", Terms: "fox", Boost: 1}
	for _, query := range []Query{
		&MultiMatch{Matches: []*Match{one("fox"), other}},
		&Boolean{Must: []Query{one("fox")}, Should: []Query{other}},
		&Boolean{Must: []Query{other}, Should: []Query{one("fox")}},
		&CombinedFields{Columns: []string{"v", "w"}, Terms: "fox"},
	} {
		s, err := NewSearch(query, func(string) (Field, error) { return Field{Analyzer: a, Indexed: true}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := s.Scorer(s.NewTally()).Limit(0); ok {
			t.Errorf("%+v: got limit %+v, want none", query, l)
		}
	}
}
