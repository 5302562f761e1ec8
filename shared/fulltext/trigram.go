package fulltext

// trigram is how many characters an index of ngrams keeps together.
const trigram = 3

// Trigrams returns what an index of ngrams keeps of a text: all runs of three ASCII letters or digits
// in it, once it is in lower case and folded.
func Trigrams(text string) []string {
	var found []string
	run, kept := 0, folded(lowered(text))
	for i := range len(kept) {
		if c := kept[i]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			run++
		} else {
			run = 0
		}
		if run >= trigram {
			found = append(found, kept[i+1-trigram:i+1])
		}
	}
	return found
}
