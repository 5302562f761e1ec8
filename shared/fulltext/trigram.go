package fulltext

// HasTrigram says whether an index of ngrams keeps any piece of a text: three letters or
// digits of ASCII in a row, once the text is in lower case and folded.
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
