package fm

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind FM.
var Kind = &index.Kind{
	Kind: indexmeta.FM,
	Fits: func(b index.Build) bool { return Fits(b.Field.Type) }, Fitting: "texts and binaries",
	Plan: func(b index.Build) (index.Plan, error) { return index.Plan{Version: Version, Parts: parts{b}}, nil },
	Filters: &index.Filters{
		Answers: index.AnswersExactly(func(p pruning.Probe) bool { return p.Test == pruning.Contains }),
		// The index has no NULL rows, so it cannot tell "not contains" (true) from NULL.
		Tests:    func(p pruning.Probe, t arrow.DataType) bool { return !p.Not && IsText(t) && p.Text != "" },
		Question: question, Open: index.Opener(Open), Whole: true,
	},
}

// question returns the question for the rows that pass all probes.
func question(_ context.Context, probes []pruning.Probe, _ arrow.DataType) (q index.Question, err error) {
	for _, p := range probes {
		bound := index.Bound{Value: index.TextValue(p.Text)}
		q.All = append(q.All, index.Question{Ranges: []index.Range{{From: bound, To: bound}}})
	}
	return q, nil
}
