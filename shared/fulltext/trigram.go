package fulltext

// HasTrigram reports whether an index of ngrams keeps any piece of a text: whether the
// text, in lower case and folded, contains three successive ASCII letters or digits.
func HasTrigram(text string) bool {
	run := 0
	for _, c := range []byte(folded(lowered(text))) {
		if run++; !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			run = 0
		}
		if run == 3 {
			return true
		}
	}
	return false
}
