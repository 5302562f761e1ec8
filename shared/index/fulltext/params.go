package fulltext

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tiltyard/shared/index/snowball"
	"tiltyard/shared/lance"
)

// Params control how a text becomes terms. An index stores them as JSON in its metadata file; its manifest
// entry holds all of them except custom stop words.
type Params struct {
	// LanceTokenizer is "json" for documents that are JSON, else "text" or "".
	LanceTokenizer string `json:"lance_tokenizer"`
	// BaseTokenizer cuts texts into words: simple (letters and digits), whitespace, raw (the whole text),
	// ngram, code, icu (by Unicode's rules and dictionaries) or icu/split (icu, then simple). The
	// tokenizers lindera/… and jieba/… are not supported, because they need language models.
	BaseTokenizer   string   `json:"base_tokenizer"`
	Language        string   `json:"language"`         // of the stemmer and the stop words
	WithPosition    bool     `json:"with_position"`    // the index supports phrases
	MaxTokenLength  *int     `json:"max_token_length"` // words of at least this many bytes are dropped
	LowerCase       bool     `json:"lower_case"`
	Stem            bool     `json:"stem"`
	RemoveStopWords bool     `json:"remove_stop_words"`
	CustomStopWords []string `json:"custom_stop_words"` // nil: the stop words of the language
	ASCIIFolding    bool     `json:"ascii_folding"`

	MinNgramLength int  `json:"min_ngram_length"` // characters
	MaxNgramLength int  `json:"max_ngram_length"`
	PrefixOnly     bool `json:"prefix_only"` // ngrams from the beginning of the text

	BlockSize int `json:"block_size"` // documents of a full block of posting lists: 128 or 256

	SplitIdentifiers bool `json:"split_identifiers"` // code: also the parts of names
	SplitOnNumerics  bool `json:"split_on_numerics"` // … cut between letters and digits
	PreserveOriginal bool `json:"preserve_original"` // … beside the whole names
	IndexOperators   bool `json:"index_operators"`   // code: signs are words, too

	// DocumentGranularity is ListElements if each element of a list is a document, else "row" or "".
	DocumentGranularity string `json:"document_granularity,omitempty"`
}

// ListElements is the granularity of documents that are elements of lists.
const ListElements = "list_element"

// OfElements reports whether documents are elements of lists.
func (p *Params) OfElements() bool { return p.DocumentGranularity == ListElements }

// CodeTokenizer is the base tokenizer of program text.
const CodeTokenizer = "code"

// DefaultsOf returns the default parameters of an index with a base tokenizer; "" selects the default
// tokenizer.
func DefaultsOf(tokenizer string) Params {
	p := DefaultParams()
	if tokenizer == "" {
		return p
	}
	switch p.BaseTokenizer = tokenizer; tokenizer {
	case "ngram":
		p.Stem, p.RemoveStopWords = false, false
	case CodeTokenizer:
		p.Stem, p.RemoveStopWords, p.SplitOnNumerics, p.PreserveOriginal = false, false, true, true
	}
	return p
}

// Check returns an [Error] if an index cannot be built with the parameters. Its text names the accepted
// values.
func (p *Params) Check() error {
	if snowball.New(p.Language) == nil {
		return invalid("language %.40q is unknown; it may be %s", p.Language, strings.Join(snowball.Languages(), ", "))
	}
	if p.BlockSize != 128 && p.BlockSize != 256 {
		return invalid("block_size is %d; it may be 128 or 256", p.BlockSize)
	}
	if p.MaxTokenLength != nil && (*p.MaxTokenLength < 0 || *p.MaxTokenLength > math.MaxInt32) {
		return invalid("max_token_length is %d; it may be 0 to %d, or null", *p.MaxTokenLength, math.MaxInt32)
	}
	if p.BaseTokenizer != CodeTokenizer && (p.SplitIdentifiers || p.SplitOnNumerics || p.PreserveOriginal || p.IndexOperators) {
		return invalid("split_identifiers, split_on_numerics, preserve_original and index_operators need base_tokenizer code")
	}
	if p.DocumentGranularity != "" && p.DocumentGranularity != "row" && !p.OfElements() {
		return invalid("document_granularity is %.40q; it may be row or %s", p.DocumentGranularity, ListElements)
	}
	if p.BaseTokenizer == "ngram" && (p.MinNgramLength < 1 || p.MaxNgramLength < p.MinNgramLength || p.MaxNgramLength > maxNgram) {
		return invalid("ngrams of %d to %d characters; min_ngram_length may be 1 to max_ngram_length, and that at most %d", p.MinNgramLength, p.MaxNgramLength, maxNgram)
	}
	if _, err := NewAnalyzer(*p); errors.Is(err, lance.ErrUnsupported) {
		return invalid("base_tokenizer %.40q is unknown; it may be simple, whitespace, raw, ngram, code, icu or icu/split", p.BaseTokenizer)
	} else if err != nil {
		return err
	}
	return nil
}

// DefaultParams returns the parameters of an index that was built without any.
func DefaultParams() Params {
	longest := 40
	return Params{
		BaseTokenizer: "simple", Language: "English", MaxTokenLength: &longest,
		LowerCase: true, Stem: true, RemoveStopWords: true, ASCIIFolding: true,
		MinNgramLength: 3, MaxNgramLength: 3, BlockSize: 128,
	}
}

// ParseParams parses the JSON parameters of an index. Missing parameters get their defaults; unknown ones
// are ignored.
func ParseParams(data []byte) (Params, error) {
	p := DefaultParams()
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%w: parameters of a text index: %w", lance.ErrCorrupt, err)
	}
	return p, nil
}

// SameTerms reports whether two columns turn texts into the same terms, so that they can be scored as one
// text.
func (p *Params) SameTerms(other *Params) bool {
	a, b := *p, *other
	a.WithPosition, b.WithPosition, a.BlockSize, b.BlockSize = false, false, 0, 0
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
