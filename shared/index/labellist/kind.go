package labellist

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/extsort"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind LABEL_LIST.
var Kind = &index.Kind{
	Kind: indexmeta.LabelList,
	Fits: func(b index.Build) bool { return Fits(b.Field.Type) }, Fitting: "lists of " + index.SortableTypes,
	Plan: func(b index.Build) (index.Plan, error) {
		return index.Plan{Version: Version, Parts: extsort.Sorting{Build: b, Sort: Sort, Combine: Write}}, nil
	},
	Filters: &index.Filters{
		Answers: index.AnswersExactly(func(p pruning.Probe) bool { return p.Test == pruning.Elements }),
		Tests:   tests, Question: question, Open: index.Opener(Open),
	},
}

// tests reports whether an index can answer a probe.
func tests(p pruning.Probe, t arrow.DataType) bool {
	elements := ElementType(t)
	if elements == nil || !arrow.TypeEqual(p.Type, elements) {
		return false
	}
	_, err := index.OrderOf(elements)
	return err == nil
}

// question combines probes on a list column of type t into the question for the rows that pass all of them.
func question(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (q index.Question, err error) {
	order, err := index.OrderOf(ElementType(t))
	if err != nil {
		return q, err
	}
	for _, p := range probes {
		elements, err := p.Constants(ctx)
		if err != nil {
			return q, err
		}
		one := ofElements(elements, order)
		if p.Every {
			one = index.Question{}
			for i := range elements.Len() {
				one.All = append(one.All, ofElements(array.NewSlice(elements, int64(i), int64(i)+1), order))
			}
		}
		switch {
		case p.Not:
			q.None = append(q.None, one)
		case p.Every:
			q.All = append(q.All, one.All...)
		default:
			q.All = append(q.All, one)
		}
	}
	return q, nil
}

// ofElements returns the question for the rows that contain at least one of the elements, which may include
// NULL.
func ofElements(elements arrow.Array, order index.Order) index.Question {
	if elements.NullN() == 0 {
		return index.Equal(elements, order)
	}
	q := index.Question{Null: true}
	for i := range elements.Len() {
		if elements.IsValid(i) {
			q.Ranges = append(q.Ranges, index.Equal(array.NewSlice(elements, int64(i), int64(i)+1), order).Ranges...)
		}
	}
	return q
}
