package fulltext

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
)

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
