package snowball_test

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tiltyard/shared/index/snowball"
)

func TestWordsOfOneStem(t *testing.T) {
	for _, c := range []struct {
		language, word, stem string
	}{
		{"English", "connection", "connect"}, {"English", "connected", "connect"}, {"English", "", ""},
		{"German", "häuser", "haus"}, {"Russian", "книгами", "книг"}, {"Finnish", "talossa", "talo"},
	} {
		if got := snowball.New(c.language).Stem(c.word); got != c.stem {
			t.Errorf("the stem of %q is %q, want %q", c.word, got, c.stem)
		}
	}
}

// Words come from the documents of strangers: whatever their characters, a stemmer ends, does not
// panic, and leaves whole characters.
func TestStemsOfAnyTextAreWholeCharacters(t *testing.T) {
	letters := rapid.StringOf(rapid.RuneFrom([]rune("aeiouylsntérαβσςηώкнигамиலைகள்ابتةışğ'’ijss")))
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(letters, rapid.String()).Draw(t, "word")
		for _, language := range snowball.Languages() {
			if got := snowball.New(language).Stem(word); !utf8.ValidString(got) {
				t.Errorf("%s: the stem of %q is %q", language, word, got)
			}
		}
	})
}
