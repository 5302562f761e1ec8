package fulltext

import (
	"iter"
	"strings"
)

// WordStarts returns a function that yields the byte offsets of the words in a text. It supports the base
// tokenizers simple, whitespace and icu; ok is false for others.
func WordStarts(tokenizer string) (starts func(text string) iter.Seq[int], ok bool) {
	var split splitter
	switch tokenizer {
	case "simple":
		split = simpleWords
	case "whitespace":
		split = spacedWords
	case "icu":
		split = icuWords
	default:
		return nil, false
	}
	return func(text string) iter.Seq[int] {
		return func(yield func(int) bool) {
			at := 0
			split(text, func(word string, _ int) bool {
				start := at + strings.Index(text[at:], word) // a part of the text
				at = start + len(word)
				return yield(start)
			})
		}
	}, true
}
