package fulltext

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The work for fuzzy words is bounded, and a word that occurs again is no more work.
func TestFuzzyWordsAreBounded(t *testing.T) {
	const words = MaxFuzzyWords
	few := MaxFuzzyExpansions / maxExpansions
	match := func(terms string, most int) *Match {
		return &Match{Column: "c", Terms: terms, Boost: 1, Fuzziness: 1, MaxExpansions: most}
	}
	for _, c := range []struct {
		name    string
		query   Query
		refused string
	}{
		{"as many words as allowed", match(manyWords(words), MaxFuzzyExpansions/words), ""},
		{"a word more", match(manyWords(words+1), 1), "1024"},
		{"a word again", match(manyWords(words)+strings.Repeat("w1 ", words), 1), ""},
		{"as many expansions as allowed", match(manyWords(few), maxExpansions), ""},
		{"more expansions", match(manyWords(few+1), maxExpansions), "max_expansions"},
		{"in several queries", &MultiMatch{Matches: []*Match{match(manyWords(words/2), 1), match(manyWords(words/2+1), 1)}}, "1024"},
		{"without fuzziness", &Match{Column: "c", Terms: manyWords(words + 1), Boost: 1, MaxExpansions: maxExpansions}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := NewAnalyzer(DefaultParams())
			if err != nil {
				t.Fatal(err)
			}
			_, err = NewSearch(c.query, func(string) (Field, error) { return Field{Analyzer: a, Indexed: true}, nil })
			var bad *Error
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.refused != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want an Error that names %s", err, c.refused)
			}
		})
	}
}

// The comparison agrees with the definition of the distance.
func TestComparisonCountsEdits(t *testing.T) {
	var c comparison
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]rune("abé")), 0, 9)
		a, b, edits := text.Draw(t, "a"), text.Draw(t, "b"), rapid.IntRange(0, 6).Draw(t, "edits")
		if got, want := c.within(a, b, edits), distance(a, b) <= edits; got != want {
			t.Fatalf("within(%q, %q, %d) is %v, want %v", string(a), string(b), edits, got, want)
		}
	})
}

func distance(a, b []rune) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) + len(b)
	case a[0] == b[0]:
		return distance(a[1:], b[1:])
	}
	return 1 + min(distance(a[1:], b), distance(a, b[1:]), distance(a[1:], b[1:]))
}
