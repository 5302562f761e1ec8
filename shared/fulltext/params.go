package fulltext

import (
	"encoding/json"
	"fmt"
	"slices"

	"tiltyard/shared/lance"
)

// Params select how a text becomes terms. An index stores them as JSON in its metadata
// file; its entry in the table's manifest holds all but custom stop words.
type Params struct {
	// LanceTokenizer is "json" for documents that are JSON, else "text" or "".
	LanceTokenizer string `json:"lance_tokenizer"`
	// BaseTokenizer cuts texts into words: simple (letters and digits), whitespace, raw
	// (the whole text), ngram, code, icu (by Unicode's rules and dictionaries) or icu/split
	// (and again as simple does). There are others that cannot be searched here: lindera/…
	// and jieba/…, which need language models.
	BaseTokenizer   string   `json:"base_tokenizer"`
	Language        string   `json:"language"`         // of the stemmer and the stop words
	WithPosition    bool     `json:"with_position"`    // phrases can be looked for
	MaxTokenLength  *int     `json:"max_token_length"` // longer words, in bytes, and those as long are dropped
	LowerCase       bool     `json:"lower_case"`
	Stem            bool     `json:"stem"`
	RemoveStopWords bool     `json:"remove_stop_words"`
	CustomStopWords []string `json:"custom_stop_words"` // nil: those of the language
	ASCIIFolding    bool     `json:"ascii_folding"`

	MinNgramLength int  `json:"min_ngram_length"` // characters
	MaxNgramLength int  `json:"max_ngram_length"`
	PrefixOnly     bool `json:"prefix_only"` // ngrams from the beginning of the text

	SplitIdentifiers bool `json:"split_identifiers"` // code: also the parts of names
	SplitOnNumerics  bool `json:"split_on_numerics"` // … cut between letters and digits
	PreserveOriginal bool `json:"preserve_original"` // … beside the whole names
	IndexOperators   bool `json:"index_operators"`   // code: signs are words, too

	// DocumentGranularity is "list_element" for an index in which each element of a list
	// is a document of its own, else "row" or "".
	DocumentGranularity string `json:"document_granularity"`
}

// DefaultParams returns the parameters of an index that was built without any.
func DefaultParams() Params {
	longest := 40
	return Params{
		BaseTokenizer: "simple", Language: "English", MaxTokenLength: &longest,
		LowerCase: true, Stem: true, RemoveStopWords: true, ASCIIFolding: true,
		MinNgramLength: 3, MaxNgramLength: 3,
	}
}

// ParseParams parses the JSON of an index. Missing parameters have their defaults, and
// unknown ones are ignored.
func ParseParams(data []byte) (Params, error) {
	p := DefaultParams()
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%w: parameters of a text index: %w", lance.ErrCorrupt, err)
	}
	return p, nil
}

// SameTerms reports whether the texts of two columns become the same terms, so that the
// columns can count as one text.
func (p *Params) SameTerms(other *Params) bool {
	a, b := *p, *other
	a.WithPosition, b.WithPosition = false, false
	limits := func(p *Params) int {
		if p.MaxTokenLength == nil {
			return -1
		}
		return *p.MaxTokenLength
	}
	if limits(&a) != limits(&b) || !slices.Equal(a.CustomStopWords, b.CustomStopWords) {
		return false
	}
	a.MaxTokenLength, b.MaxTokenLength, a.CustomStopWords, b.CustomStopWords = nil, nil, nil, nil
	left, _ := json.Marshal(a) // of plain values: it cannot fail
	right, _ := json.Marshal(b)
	return string(left) == string(right)
}
