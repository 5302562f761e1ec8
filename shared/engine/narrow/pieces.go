package narrow

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/index/ngram"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/rustregex"
)

// maxPieces bounds the pieces that an index is asked for. A few of them find nearly as few rows as
// many.
const maxPieces = 64

// testsTrigrams reports whether an index of trigrams can test what a probe tests.
func testsTrigrams(p plan.Probe, t arrow.DataType) bool {
	if !ngram.IsText(t) || p.Not {
		return false
	}
	_, ok := trigrams([]plan.Probe{p})
	return ok
}

// trigramQuestion returns what an index of trigrams is asked, to find the rows that pass all of some
// probes.
func trigramQuestion(_ context.Context, probes []plan.Probe, _ arrow.DataType) (index.Question, error) {
	q, _ := trigrams(probes)
	return q, nil
}

// trigrams returns the question for the trigrams that all texts have which pass some probes; ok is
// false if they need not have any.
func trigrams(probes []plan.Probe) (q index.Question, ok bool) {
	all := &rustregex.Need{}
	for _, p := range probes {
		if need := p.Need(fulltext.Trigrams); need != nil {
			all.All = append(all.All, need)
		}
	}
	left := maxPieces
	return needed(all, &left)
}

// needed returns the question for the rows that meet a need. left counts down the pieces that may
// still be asked for; those beyond are not tested. ok is false if none is tested.
func needed(need *rustregex.Need, left *int) (q index.Question, ok bool) {
	var tokens []uint32
	for parts := []*rustregex.Need{need}; len(parts) > 0; {
		part := parts[len(parts)-1]
		parts = append(parts[:len(parts)-1], part.All...)
		for _, piece := range part.Pieces {
			if token := ngram.Token(piece); *left > 0 && !slices.Contains(tokens, token) {
				tokens = append(tokens, token)
				*left--
			}
		}
		var one index.Question
		for _, alternative := range part.Any {
			asked, ok := needed(alternative, left)
			if !ok {
				one.Any = nil
				break
			}
			one.Any = append(one.Any, asked)
		}
		same := func(other index.Question) bool { return other.String() == one.String() }
		if one.Any != nil && !slices.ContainsFunc(q.All, same) {
			q.All = append(q.All, one)
		}
	}
	for _, token := range tokens {
		q.All = append(q.All, equalToken(token))
	}
	return q, q.All != nil
}

// equalToken asks for the rows with one token.
func equalToken(token uint32) index.Question {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(token)
	bound := index.Bound{Value: b.NewArray()}
	return index.Question{Ranges: []index.Range{{From: bound, To: bound}}}
}
