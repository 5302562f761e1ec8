package fulltext

// trigram is the length of an n-gram in characters.
const trigram = 3

// Trigrams returns the trigrams of a text: all runs of three ASCII letters or digits after it is lowercased
// and folded.
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
