package fts

import (
	"context"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind FTS. Its parameters are [fulltext.Params].
var Kind = &index.Kind{
	Kind: indexmeta.Text, Documents: true,
	Fits: isDocument, Fitting: "texts, lists of texts, texts in the structs of lists, and JSON",
	Plan: plan, Like: like, Describe: describe,
	Filters: &index.Filters{
		Usable:  keepsWords,
		Answers: index.AnswersExactly(func(p pruning.Probe) bool { return p.Test == pruning.Tokens }),
		Tests: func(p pruning.Probe, t arrow.DataType) bool {
			return !p.Not && t.ID() == arrow.STRING && p.Need(fulltext.Words) != nil
		},
		Question: func(_ context.Context, probes []pruning.Probe, _ arrow.DataType) (index.Question, error) {
			return index.NeededByAll(probes, fulltext.Words, index.TextValue), nil
		},
		Open: index.Opener(Open), Coarse: true,
	},
}

// keepsWords reports whether an index keeps each word of a text.
func keepsWords(details string) bool {
	params, err := fulltext.ParseParams([]byte(details))
	return err == nil && params.BaseTokenizer == "simple" && !params.Stem && params.MaxTokenLength == nil
}

// like returns the parameters of a segment. The granularity of documents comes from the manifest entry,
// which alone records it.
func like(ctx context.Context, s index.Segment) (any, error) {
	params, err := inverted.ParamsOf(ctx, s)
	if err != nil {
		return nil, err
	}
	entry, err := fulltext.ParseParams([]byte(s.Index.Details))
	params.DocumentGranularity = entry.DocumentGranularity
	return params, err
}

// describe returns the index details that a client needs to tokenize a text in the same way. The manifest
// entry lacks the stop words and does not distinguish text from JSON, so the metadata file takes
// precedence. If that file is unusable, the entry is used, as in searches.
func describe(entry string, metadata func(file string) (map[string]string, error)) (string, error) {
	file, err := metadata("metadata.lance")
	if err != nil {
		return "", err
	}
	params, err := fulltext.ParseParams([]byte(file["params"]))
	if err != nil {
		return entry, nil //nolint:nilerr // the entry counts
	}
	var details map[string]any
	if err := json.Unmarshal([]byte(entry), &details); err != nil {
		return "", err
	}
	if params.LanceTokenizer != "" {
		details["lance_tokenizer"] = params.LanceTokenizer
	}
	if params.CustomStopWords != nil {
		details["custom_stop_words"] = params.CustomStopWords
	}
	text, err := json.Marshal(details)
	return string(text), err
}
