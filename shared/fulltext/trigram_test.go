package fulltext

import "testing"

func TestATextOfThreeLettersHasATrigram(t *testing.T) {
	for text, want := range map[string]bool{
		"":          false,
		"ab":        false,
		"abc":       true,
		"ABC":       true,
		"a b c":     false,
		"a.bcd":     true,
		"1a2":       true,
		"日本語":       false,
		"caé":       true,
		"ß1":        true, // ss1
		"ﬃ":         true, // ffi
		"½":         false,
		"\u212babc": true,
		"a\u0301bc": false, // a mark of its own has no form in ASCII
	} {
		if got := HasTrigram(text); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}
