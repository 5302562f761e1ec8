package fulltext

import (
	"fmt"
	"strings"
	"testing"
)

func indexed(t *testing.T, q Query) *Search {
	t.Helper()
	a, err := NewAnalyzer(DefaultParams())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSearch(q, func(string) (Field, error) { return Field{Analyzer: a, Indexed: true}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A vocabulary remembers no words that are long, and counts the others.
func TestVocabularyIsBounded(t *testing.T) {
	s := indexed(t, &Match{Column: "c", Terms: "abc", Fuzziness: 100, MaxExpansions: 10_000})
	v := s.NewVocabulary()
	for i := range 300 {
		if err := v.Add([]Document{{Text: strings.Repeat("x", 10_000) + fmt.Sprint(i), Covered: true}}); err != nil {
			t.Fatal(err)
		}
	}
	if v.Bytes() > 1<<20 {
		t.Errorf("300 long words take %d bytes", v.Bytes())
	}
	for i := range 30_000 {
		if err := v.Add([]Document{{Text: fmt.Sprint("w", i), Covered: true}}); err != nil {
			t.Fatal(err)
		}
	}
	all := v.Bytes()
	v.Done()
	if found := len(v.found[0][0]); found != 10_000 || v.Bytes() >= all || v.Bytes() < 480_000 || v.Bytes() > 700_000 {
		t.Errorf("%d words were found; %d bytes, and %d in the end", found, all, v.Bytes())
	}
}

// Tallies account for their cache of words, also after they are done and reused.
func TestRememberedWordsAreCounted(t *testing.T) {
	s := indexed(t, &Match{Column: "c", Terms: "abc", Boost: 1})
	most := int64(0)
	for i := range 3 {
		tally := s.NewTally()
		for n := range 2 * maxKnown {
			if err := tally.Add(0, []Document{{Text: fmt.Sprint("w", n%(maxKnown/2*(i+1)))}}, true, true); err != nil {
				t.Fatal(err)
			}
			most = max(most, s.KnownBytes())
		}
		tally.Done()
	}
	if most < 48*maxKnown || most > 60*maxKnown || len(s.free) != 1 {
		t.Errorf("at most %d bytes were counted, by %d counters", most, len(s.free))
	}
}
