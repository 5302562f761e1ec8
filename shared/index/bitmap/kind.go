package bitmap

import (
	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/extsort"
	"tiltyard/shared/lance/indexmeta"
)

// Kind is the kind BITMAP.
var Kind = &index.Kind{
	Kind: indexmeta.Bitmap, Fits: index.FitsSortable, Fitting: index.SortableTypes,
	Plan: func(b index.Build) (index.Plan, error) {
		return index.Plan{Parts: extsort.Sorting{Build: b, Sort: index.SortRows, Combine: Write}}, nil
	},
	Filters: &index.Filters{
		Answers: index.AnswersExactly(index.IsValueTest),
		Members: true, Tests: index.TestsValues, Question: index.ValueQuestion, Open: index.Opener(Open),
	},
}
