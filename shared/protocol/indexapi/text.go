package indexapi

import "encoding/json"

// TextParameters are the parameters of an index of the type FTS. What is absent has the default of
// native Lance, which depends on the base tokenizer.
type TextParameters struct {
	LanceTokenizer  string          `json:"lance_tokenizer"` // text or json; empty: by the type of the column
	BaseTokenizer   string          `json:"base_tokenizer"`
	Language        string          `json:"language"`
	WithPosition    *bool           `json:"with_position"`
	MaxTokenLength  OptionalMaximum `json:"max_token_length"` // bytes
	LowerCase       *bool           `json:"lower_case"`
	Stem            *bool           `json:"stem"`
	RemoveStopWords *bool           `json:"remove_stop_words"`
	CustomStopWords []string        `json:"custom_stop_words"` // nil: those of the language
	ASCIIFolding    *bool           `json:"ascii_folding"`
	MinNgramLength  *int            `json:"min_ngram_length"`
	MaxNgramLength  *int            `json:"max_ngram_length"`
	PrefixOnly      *bool           `json:"prefix_only"`
	BlockSize       *int            `json:"block_size"`

	SplitIdentifiers *bool `json:"split_identifiers"`
	SplitOnNumerics  *bool `json:"split_on_numerics"`
	PreserveOriginal *bool `json:"preserve_original"`
	IndexOperators   *bool `json:"index_operators"`

	DocumentGranularity string `json:"document_granularity"` // row, or list_element; empty: row
}

// OptionalMaximum is a number for which null means that there is no maximum. If it is absent, Given is
// false.
type OptionalMaximum struct {
	Given bool
	Value *int
}

// MarshalJSON writes the number, or null if there is none.
func (o OptionalMaximum) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// UnmarshalJSON reads a number or null.
func (o *OptionalMaximum) UnmarshalJSON(data []byte) error {
	*o = OptionalMaximum{Given: true}
	return json.Unmarshal(data, &o.Value)
}
