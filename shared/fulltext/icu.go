package fulltext

import "tiltyard/shared/fulltext/wordbreak"

// icuWords are the words that Unicode's rules and dictionaries tell, which native Lance has
// from ICU: the segments with a letter or a digit.
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

// icuParts are those words, cut again at what is no letter or digit.
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
