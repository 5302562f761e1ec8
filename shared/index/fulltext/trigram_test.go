package fulltext_test

import (
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/index/fulltext"
)

func TestTrigramsOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"":          "",
		"ab":        "",
		"abc":       "abc",
		"ABCd":      "abc bcd",
		"a b c":     "",
		"a.bcd efg": "bcd efg",
		"1a2":       "1a2",
		"日本語":       "",
		"caé":       "cae",
		"ß1":        "ss1",
		"ﬃ":         "ffi",
		"½":         "",
		"\u212babc": "aab abc",
		"a\u0301bc": "", // a mark of its own has no form in ASCII
	} {
		if got := fulltext.Trigrams(text); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
