package fulltext

// IsJSON reports whether documents are JSON. [Analyzer.Members] returns the terms of JSON documents,
// [Analyzer.Words] those of texts.
func (a *Analyzer) IsJSON() bool { return a.json }

// Words calls yield with each word of a text and its position, until yield returns false.
// [Analyzer.Term] makes a term of a word, which takes much longer than to find the word.
func (a *Analyzer) Words(text string, yield func(word string, position int) bool) {
	a.split(text, yield)
}

// Term returns the term that a word becomes, or false if the word is dropped.
func (a *Analyzer) Term(word string) (term string, ok bool) { return a.term(word) }

// Members calls yield with each term of a JSON document and its position. A text that is not JSON is an
// error.
func (a *Analyzer) Members(text string, yield func(term string, position int)) error {
	return a.jsonTerms(text, yield)
}
