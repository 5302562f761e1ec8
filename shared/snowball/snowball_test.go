package snowball_test

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tiltyard/shared/snowball"
	"tiltyard/shared/snowball/arabic"
	"tiltyard/shared/snowball/dutch"
	"tiltyard/shared/snowball/english"
	"tiltyard/shared/snowball/finnish"
	"tiltyard/shared/snowball/german"
	"tiltyard/shared/snowball/greek"
	"tiltyard/shared/snowball/russian"
	"tiltyard/shared/snowball/tamil"
	"tiltyard/shared/snowball/turkish"
)

func stem(of func(*snowball.Env) bool, word string) string {
	env := snowball.NewEnv(word)
	of(env)
	return env.Current()
}

func TestWordsOfOneStem(t *testing.T) {
	for _, c := range []struct {
		of   func(*snowball.Env) bool
		word string
		stem string
	}{
		{english.Stem, "connection", "connect"}, {english.Stem, "connected", "connect"}, {english.Stem, "", ""},
		{german.Stem, "häuser", "haus"}, {russian.Stem, "книгами", "книг"}, {finnish.Stem, "talossa", "talo"},
	} {
		if got := stem(c.of, c.word); got != c.stem {
			t.Errorf("the stem of %q is %q, want %q", c.word, got, c.stem)
		}
	}
}

// Words come from the documents of strangers: whatever their characters, a stemmer ends, does not
// panic, and leaves whole characters.
func TestStemsOfAnyTextAreWholeCharacters(t *testing.T) {
	stemmers := map[string]func(*snowball.Env) bool{
		"arabic": arabic.Stem, "dutch": dutch.Stem, "english": english.Stem, "finnish": finnish.Stem, "german": german.Stem,
		"greek": greek.Stem, "russian": russian.Stem, "tamil": tamil.Stem, "turkish": turkish.Stem,
	}
	letters := rapid.StringOf(rapid.RuneFrom([]rune("aeiouylsntérαβσςηώкнигамиலைகள்ابتةışğ'’ijss")))
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(letters, rapid.String()).Draw(t, "word")
		for name, of := range stemmers {
			if got := stem(of, word); !utf8.ValidString(got) {
				t.Errorf("%s: the stem of %q is %q", name, word, got)
			}
		}
	})
}

func TestASliceIsReplacedAndTheCursorMovesWithTheText(t *testing.T) {
	env := snowball.NewEnv("running")
	env.Bra, env.Ket, env.Cursor = 3, 7, 7
	env.SliceFrom("s")
	if got := env.Current(); got != "runs" || env.Limit != 4 || env.Ket != 4 || env.Cursor != 4 {
		t.Errorf("got %q, limit %d, ket %d, cursor %d; want runs, and 4 each", got, env.Limit, env.Ket, env.Cursor)
	}
	env.SetCurrent("other")
	if env.Current() != "other" || env.Cursor != 0 || env.Limit != 5 {
		t.Errorf("got %q, cursor %d, limit %d; want another word from its beginning", env.Current(), env.Cursor, env.Limit)
	}
}
