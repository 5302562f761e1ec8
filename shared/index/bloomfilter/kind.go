package bloomfilter

import (
	"cmp"
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind BLOOMFILTER. Its parameters are a [Recipe].
var Kind = &index.Kind{
	Kind: indexmeta.BloomFilter,
	Fits: func(b index.Build) bool { return IsHashed(b.Field.Type) }, Fitting: "numbers, texts, binaries, dates and times",
	Plan: func(b index.Build) (index.Plan, error) {
		recipe, _ := b.Params.(Recipe)
		recipe = cmp.Or(recipe, Usual)
		return index.Plan{Parts: zonefile.Parts{Build: b, File: lookupFile, Summarize: func(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
			return Build(ctx, b.Field.Type, recipe, rows, out)
		}}}, nil
	},
	Like: func(ctx context.Context, s index.Segment) (any, error) {
		if s.Empty {
			return nil, nil
		}
		return RecipeOf(ctx, s)
	},
	Filters: &index.Filters{
		Answers: index.AnswersExactly(func(p pruning.Probe) bool {
			return !p.Not && (p.Test == pruning.Equal || p.Test == pruning.Null)
		}),
		Tests:    func(p pruning.Probe, t arrow.DataType) bool { return IsHashed(t) && index.TestsValues(p, t) },
		Question: index.ValueQuestion, Open: index.Opener(Open), Coarse: true,
	},
}
