package index

import (
	"cmp"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/protocol/indexapi"
)

// textParams returns the parameters of a text index. Missing ones get the defaults of the
// tokenizer.
func textParams(asked *indexapi.TextParameters) fulltext.Params {
	p := fulltext.DefaultsOf(asked.BaseTokenizer)
	p.LanceTokenizer, p.CustomStopWords = asked.LanceTokenizer, asked.CustomStopWords
	p.Language = cmp.Or(asked.Language, p.Language)
	p.DocumentGranularity = asked.DocumentGranularity
	if asked.MaxTokenLength.Given {
		p.MaxTokenLength = asked.MaxTokenLength.Value
	}
	set(&p.WithPosition, asked.WithPosition)
	set(&p.LowerCase, asked.LowerCase)
	set(&p.Stem, asked.Stem)
	set(&p.RemoveStopWords, asked.RemoveStopWords)
	set(&p.ASCIIFolding, asked.ASCIIFolding)
	set(&p.MinNgramLength, asked.MinNgramLength)
	set(&p.MaxNgramLength, asked.MaxNgramLength)
	set(&p.PrefixOnly, asked.PrefixOnly)
	set(&p.BlockSize, asked.BlockSize)
	set(&p.SplitIdentifiers, asked.SplitIdentifiers)
	set(&p.SplitOnNumerics, asked.SplitOnNumerics)
	set(&p.PreserveOriginal, asked.PreserveOriginal)
	set(&p.IndexOperators, asked.IndexOperators)
	return p
}

// set sets a parameter if the request contains it.
func set[T any](parameter, asked *T) {
	if asked != nil {
		*parameter = *asked
	}
}
