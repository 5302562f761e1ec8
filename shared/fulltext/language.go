package fulltext

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"

	"tiltyard/shared/snowball"
	"tiltyard/shared/snowball/arabic"
	"tiltyard/shared/snowball/danish"
	"tiltyard/shared/snowball/dutch"
	"tiltyard/shared/snowball/english"
	"tiltyard/shared/snowball/finnish"
	"tiltyard/shared/snowball/french"
	"tiltyard/shared/snowball/german"
	"tiltyard/shared/snowball/greek"
	"tiltyard/shared/snowball/hungarian"
	"tiltyard/shared/snowball/italian"
	"tiltyard/shared/snowball/norwegian"
	"tiltyard/shared/snowball/portuguese"
	"tiltyard/shared/snowball/romanian"
	"tiltyard/shared/snowball/russian"
	"tiltyard/shared/snowball/spanish"
	"tiltyard/shared/snowball/swedish"
	"tiltyard/shared/snowball/tamil"
	"tiltyard/shared/snowball/turkish"
)

// A stemmer turns a word into its stem.
type stemmer func(*snowball.Env) bool

// stemmers are the stemmers by the language names in parameters.
var stemmers = map[string]stemmer{
	"Arabic": arabic.Stem, "Danish": danish.Stem, "Dutch": dutch.Stem, "English": english.Stem,
	"Finnish": finnish.Stem, "French": french.Stem, "German": german.Stem, "Greek": greek.Stem,
	"Hungarian": hungarian.Stem, "Italian": italian.Stem, "Norwegian": norwegian.Stem,
	"Portuguese": portuguese.Stem, "Romanian": romanian.Stem, "Russian": russian.Stem,
	"Spanish": spanish.Stem, "Swedish": swedish.Stem, "Tamil": tamil.Stem, "Turkish": turkish.Stem,
}

// stem returns the stem of a word.
func (s stemmer) stem(word string) string {
	env := snowball.NewEnv(word)
	s(env)
	return env.Current()
}

// stopWordFiles has a file for each language, with a word on each line. excluded.txt holds
// words that are ordinary words in another language. stopwords/README.md gives their source
// and licence.
//
//go:embed stopwords/*.txt
var stopWordFiles embed.FS

// stopWordsOf returns the stop words of a language that has a file.
func stopWordsOf(language string) (map[string]bool, error) {
	list, err := stopWordFiles.ReadFile("stopwords/" + strings.ToLower(language) + ".txt")
	if err != nil {
		return nil, fmt.Errorf("stop words of %s: %w", language, err)
	}
	return wordSet(strings.Fields(string(list))), nil
}

// allStopWords returns the stop words of all languages, including languages without a stemmer, except for
// the excluded words.
var allStopWords = sync.OnceValues(func() (map[string]bool, error) {
	files, err := fs.Glob(stopWordFiles, "stopwords/*.txt")
	if err != nil {
		return nil, fmt.Errorf("stop words: %w", err)
	}
	all := map[string]bool{}
	for _, file := range files {
		words, err := stopWordsOf(strings.TrimSuffix(path.Base(file), ".txt"))
		if err != nil {
			return nil, err
		}
		maps.Copy(all, words)
	}
	excluded, err := stopWordsOf("excluded")
	maps.DeleteFunc(all, func(word string, _ bool) bool { return excluded[word] })
	return all, err
})

func wordSet(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}
