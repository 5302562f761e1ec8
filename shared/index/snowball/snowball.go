// Package snowball finds the stems of words, by the algorithms of Snowball. The Snowball compiler has
// generated a package for each language; README.md names its version.
package snowball

import (
	"maps"
	"slices"

	"tiltyard/shared/index/snowball/internal/arabic"
	"tiltyard/shared/index/snowball/internal/danish"
	"tiltyard/shared/index/snowball/internal/dutch"
	"tiltyard/shared/index/snowball/internal/english"
	"tiltyard/shared/index/snowball/internal/finnish"
	"tiltyard/shared/index/snowball/internal/french"
	"tiltyard/shared/index/snowball/internal/german"
	"tiltyard/shared/index/snowball/internal/greek"
	"tiltyard/shared/index/snowball/internal/hungarian"
	"tiltyard/shared/index/snowball/internal/italian"
	"tiltyard/shared/index/snowball/internal/norwegian"
	"tiltyard/shared/index/snowball/internal/portuguese"
	"tiltyard/shared/index/snowball/internal/romanian"
	"tiltyard/shared/index/snowball/internal/runtime"
	"tiltyard/shared/index/snowball/internal/russian"
	"tiltyard/shared/index/snowball/internal/spanish"
	"tiltyard/shared/index/snowball/internal/swedish"
	"tiltyard/shared/index/snowball/internal/tamil"
	"tiltyard/shared/index/snowball/internal/turkish"
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
