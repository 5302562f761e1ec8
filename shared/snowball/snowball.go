// Package snowball finds the stems of words, by the algorithms of Snowball. The Snowball compiler has
// generated a package for each language; README.md names its version.
package snowball

import (
	"maps"
	"slices"

	"tiltyard/shared/snowball/internal/arabic"
	"tiltyard/shared/snowball/internal/danish"
	"tiltyard/shared/snowball/internal/dutch"
	"tiltyard/shared/snowball/internal/english"
	"tiltyard/shared/snowball/internal/finnish"
	"tiltyard/shared/snowball/internal/french"
	"tiltyard/shared/snowball/internal/german"
	"tiltyard/shared/snowball/internal/greek"
	"tiltyard/shared/snowball/internal/hungarian"
	"tiltyard/shared/snowball/internal/italian"
	"tiltyard/shared/snowball/internal/norwegian"
	"tiltyard/shared/snowball/internal/portuguese"
	"tiltyard/shared/snowball/internal/romanian"
	"tiltyard/shared/snowball/internal/runtime"
	"tiltyard/shared/snowball/internal/russian"
	"tiltyard/shared/snowball/internal/spanish"
	"tiltyard/shared/snowball/internal/swedish"
	"tiltyard/shared/snowball/internal/tamil"
	"tiltyard/shared/snowball/internal/turkish"
)

// A Stemmer turns the words of one language into their stems.
type Stemmer func(*runtime.Env) bool

var stemmers = map[string]Stemmer{
	"Arabic":     arabic.Stem,
	"Danish":     danish.Stem,
	"Dutch":      dutch.Stem,
	"English":    english.Stem,
	"Finnish":    finnish.Stem,
	"French":     french.Stem,
	"German":     german.Stem,
	"Greek":      greek.Stem,
	"Hungarian":  hungarian.Stem,
	"Italian":    italian.Stem,
	"Norwegian":  norwegian.Stem,
	"Portuguese": portuguese.Stem,
	"Romanian":   romanian.Stem,
	"Russian":    russian.Stem,
	"Spanish":    spanish.Stem,
	"Swedish":    swedish.Stem,
	"Tamil":      tamil.Stem,
	"Turkish":    turkish.Stem,
}

// New returns the stemmer of a language, by its English name such as "Dutch", or nil if there is none.
func New(language string) Stemmer { return stemmers[language] }

// Languages returns the names of the languages with a stemmer, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(stemmers)) }

// Stem returns the stem of a word.
func (s Stemmer) Stem(word string) string {
	env := runtime.NewEnv(word)
	s(env)
	return env.Current()
}
