package fulltext

import (
	"fmt"
	"strings"

	"tiltyard/shared/index/snowball"
	"tiltyard/shared/lance"
)

// An Analyzer turns texts into terms. It is safe for concurrent use.
type Analyzer struct {
	params  Params
	split   splitter
	json    bool
	longest int // words of at least this many bytes are dropped; 0 is no limit
	lower   bool
	stemmer snowball.Stemmer
	stops   map[string]bool
	fold    bool
}

// A Term is a term of a query with its position.
type Term struct {
	Text     string
	Position int
}

// Plain returns the analyzer of columns without an index, which only cuts texts into words.
func Plain(json bool) *Analyzer { return &Analyzer{split: simpleWords, json: json} }

// NewAnalyzer returns the analyzer for parameters. The tokenizers jieba and lindera, which
// need a language model, are an [Error]; other unknown parameters are
// [lance.ErrUnsupported].
func NewAnalyzer(p Params) (*Analyzer, error) {
	a := &Analyzer{params: p, lower: p.LowerCase, fold: p.ASCIIFolding}
	var err error
	if a.split, err = splitterOf(&p); err != nil {
		return nil, err
	}
	switch p.LanceTokenizer {
	case "", "text":
	case "json":
		a.json = true
	default:
		return nil, fmt.Errorf("%w: tokenizer %q", lance.ErrUnsupported, p.LanceTokenizer)
	}
	if p.MaxTokenLength != nil {
		a.longest = max(*p.MaxTokenLength, 1)
	}
	stemmer := snowball.New(p.Language)
	if stemmer == nil && (p.Stem || p.RemoveStopWords) {
		return nil, fmt.Errorf("%w: text in %q", lance.ErrUnsupported, p.Language)
	}
	if p.Stem {
		a.stemmer = stemmer
	}
	switch {
	case !p.RemoveStopWords:
	case p.CustomStopWords != nil:
		a.stops = wordSet(p.CustomStopWords)
	case isICU(p.BaseTokenizer):
		a.stops, err = allStopWords() // the words may be of any language
	default:
		a.stops, err = stopWordsOf(p.Language)
	}
	return a, err
}

// splitterOf returns the tokenizer for base_tokenizer, or an error that suggests another one.
func splitterOf(p *Params) (splitter, error) {
	switch p.BaseTokenizer {
	case "simple":
		return simpleWords, nil
	case "whitespace":
		return spacedWords, nil
	case "raw":
		return wholeText, nil
	case "ngram":
		if p.MinNgramLength < 1 || p.MaxNgramLength < p.MinNgramLength || p.MaxNgramLength > maxNgram {
			return nil, fmt.Errorf("%w: ngrams of %d to %d characters", lance.ErrUnsupported, p.MinNgramLength, p.MaxNgramLength)
		}
		return ngrams(p.MinNgramLength, p.MaxNgramLength, p.PrefixOnly), nil
	case "icu":
		return icuWords, nil
	case "icu/split":
		return icuParts, nil
	case CodeTokenizer:
		return codeWords{
			operators: p.IndexOperators, splitIdentifiers: p.SplitIdentifiers,
			splitOnNumerics: p.SplitOnNumerics, preserveOriginal: p.PreserveOriginal,
		}.split, nil
	}
	switch family, _, _ := strings.Cut(p.BaseTokenizer, "/"); family {
	case "jieba", "lindera":
		// Native Lance also needs a language model for these, and refuses them without one.
		return nil, invalid("the text index cuts words with %s, which needs a language model that is not here; "+
			"make the index with another base_tokenizer, such as ngram", p.BaseTokenizer)
	}
	return nil, fmt.Errorf("%w: a text index that cuts words with %s; make it with another base_tokenizer, such as ngram",
		lance.ErrUnsupported, p.BaseTokenizer)
}

func isICU(tokenizer string) bool { return tokenizer == "icu" || tokenizer == "icu/split" }

// maxNgram bounds the number of n-grams that begin at one character.
const maxNgram = 1 << 10

// Params returns the parameters of the analyzer. They are the zero value for [Plain].
func (a *Analyzer) Params() *Params { return &a.params }

// terms calls yield with the terms of a plain text, in order. Dropped words leave gaps in
// the positions.
func (a *Analyzer) terms(text string, yield func(term string, position int)) {
	a.split(text, func(word string, position int) bool {
		if term, ok := a.term(word); ok {
			yield(term, position)
		}
		return true
	})
}

// term returns the term of a word, or false if the word is dropped. The word is stemmed before the stop
// word test. So "being" is a stop word (stem "be"), and "because" is not (stem "becaus").
func (a *Analyzer) term(word string) (string, bool) {
	if a.longest > 0 && len(word) >= a.longest {
		return "", false
	}
	if a.lower {
		word = lowered(word)
	}
	if a.stemmer != nil {
		word = a.stemmer.Stem(word)
	}
	if a.stops[word] {
		return "", false
	}
	if a.fold {
		word = folded(word)
	}
	return word, true
}

// Query returns the terms of a query's text. Positions count from the first term that is
// not dropped. A query of JSON is a list of triples "path,type,value", separated by ";";
// any other text is an error.
func (a *Analyzer) Query(text string) ([]Term, error) {
	var terms []Term
	add := func(term string, position int) {
		terms = append(terms, Term{Text: strings.Clone(term), Position: position})
	}
	if a.json {
		if err := a.triples(text, add); err != nil {
			return nil, err
		}
	} else {
		a.terms(text, add)
	}
	if len(terms) == 0 {
		return nil, nil
	}
	first := terms[0].Position
	for _, t := range terms {
		first = min(first, t.Position)
	}
	for i := range terms {
		terms[i].Position -= first
	}
	return terms, nil
}

// fuzzyQuery returns the words of a fuzzy query. As in native Lance, the simple tokenizer cuts them,
// whatever the tokenizer of the column, and they are not stemmed or folded.
func (a *Analyzer) fuzzyQuery(text string) ([]Term, error) { return Plain(a.json).Query(text) }
