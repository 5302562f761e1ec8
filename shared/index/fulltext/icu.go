package fulltext

import "tiltyard/shared/index/fulltext/internal/wordbreak"

// icuWords yields the words by Unicode's rules and dictionaries, which native Lance takes
// from ICU: all segments that contain a letter or a digit.
func icuWords(text string, yield func(string, int) bool) {
	position := 0
	for segment := range wordbreak.Segments(text) {
		if !hasWord(segment) {
			continue
		}
		if !yield(segment, position) {
			return
		}
		position++
	}
}

// icuParts yields these words, cut again at characters that are neither letters nor digits.
func icuParts(text string, yield func(string, int) bool) {
	position := 0
	for segment := range wordbreak.Segments(text) {
		more := true
		simpleWords(segment, func(part string, _ int) bool {
			more = yield(part, position)
			position++
			return more
		})
		if !more {
			return
		}
	}
}

func hasWord(segment string) (found bool) {
	simpleWords(segment, func(string, int) bool {
		found = true
		return false
	})
	return found
}
