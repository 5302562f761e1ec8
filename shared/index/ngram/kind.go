package ngram

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/internal/extsort"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind NGRAM.
var Kind = &index.Kind{
	Kind: indexmeta.Ngram,
	Fits: func(b index.Build) bool { return IsText(b.Field.Type) }, Fitting: "texts",
	Plan: func(b index.Build) (index.Plan, error) {
		return index.Plan{Parts: extsort.Sorting{Build: b, KeysOf: 1, Sort: Sort, Combine: Write}}, nil
	},
	Filters: &index.Filters{Answers: answers, Tests: tests, Question: question, Open: index.Opener(Open), Coarse: true},
}

// shortest is the minimal length, in characters, of a contains pattern for which native Lance uses an
// index.
const shortest = 3

// answers returns the use of an NGRAM index for a probe in native Lance. Rows found for a prefix or a LIKE
// are tested again. Tests that need no trigrams do not use the index.
func answers(p pruning.Probe) pruning.Answer {
	switch {
	case p.Not, p.Test == pruning.Tokens, p.Test == pruning.Contains && utf8.RuneCountInString(p.Text) < shortest:
		return pruning.Open
	case p.Test != pruning.Contains && p.Need(fulltext.Trigrams) == nil:
		return pruning.Open
	case p.Test == pruning.Prefix || p.Test == pruning.Pattern:
		return pruning.Narrows
	}
	return pruning.Answers
}

// tests reports whether an index can answer a probe.
func tests(p pruning.Probe, t arrow.DataType) bool {
	return !p.Not && IsText(t) && p.Need(fulltext.Trigrams) != nil
}

// question returns the question for the rows that pass all probes.
func question(_ context.Context, probes []pruning.Probe, _ arrow.DataType) (index.Question, error) {
	return index.NeededByAll(probes, fulltext.Trigrams, func(trigram string) arrow.Array { return number(Token(trigram)) }), nil
}

// number returns an array with one number.
func number(n uint32) arrow.Array {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	return b.NewArray()
}
