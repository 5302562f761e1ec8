package btree

import (
	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/extsort"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind BTREE.
var Kind = &index.Kind{
	Kind: indexmeta.BTree, Fits: index.FitsSortable, Fitting: index.SortableTypes,
	Plan: func(b index.Build) (index.Plan, error) {
		p := index.Plan{Parts: extsort.Sorting{Build: b, Sort: index.SortRows, Combine: Write}}
		if b.Rows.StableRowIDs() {
			p.Version = AddressVersion
		}
		return p, nil
	},
	Filters: &index.Filters{
		Answers: index.AnswersExactly(func(p pruning.Probe) bool {
			return index.IsValueTest(p) || p.Test == pruning.Prefix && !p.Not
		}),
		Members: true, Tests: index.TestsValues, Question: index.ValueQuestion, Open: index.Opener(Open),
	},
}
