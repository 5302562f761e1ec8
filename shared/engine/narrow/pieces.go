package narrow

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/index/fm"
	"tiltyard/shared/index/ngram"
	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/sql/rustregex"
)

// maxPieces bounds the pieces that an index is asked for. A few of them find nearly as few rows as
// many.
const maxPieces = 64

// testsTrigrams reports whether an index of trigrams can test what a probe tests.
func testsTrigrams(p pruning.Probe, t arrow.DataType) bool {
	return !p.Not && ngram.IsText(t) && p.Need(fulltext.Trigrams) != nil
}

// trigramQuestion returns what an index of trigrams is asked, to find the rows that pass all of some
// probes.
func trigramQuestion(_ context.Context, probes []pruning.Probe, _ arrow.DataType) (index.Question, error) {
	return neededByAll(probes, fulltext.Trigrams, func(trigram string) arrow.Array { return number(ngram.Token(trigram)) }), nil
}

// testsWords reports whether an index of words can test what a probe tests.
func testsWords(p pruning.Probe, t arrow.DataType) bool {
	return !p.Not && t.ID() == arrow.STRING && p.Need(fulltext.Words) != nil
}

// wordsQuestion returns what an index of words is asked, to find the rows that pass all of some probes.
func wordsQuestion(_ context.Context, probes []pruning.Probe, _ arrow.DataType) (index.Question, error) {
	return neededByAll(probes, fulltext.Words, text), nil
}

// testsPatterns reports whether an index of whole texts can test what a probe tests. It does not know the
// rows that are NULL, which are not among those without a pattern.
func testsPatterns(p pruning.Probe, t arrow.DataType) bool {
	return !p.Not && fm.IsText(t) && p.Text != ""
}

// patternQuestion returns what an index of whole texts is asked, to find the rows that pass all of some
// probes.
func patternQuestion(_ context.Context, probes []pruning.Probe, _ arrow.DataType) (q index.Question, err error) {
	for _, p := range probes {
		bound := index.Bound{Value: text(p.Text)}
		q.All = append(q.All, index.Question{Ranges: []index.Range{{From: bound, To: bound}}})
	}
	return q, nil
}

// neededByAll returns the question for the rows that have the pieces which all of some probes need.
// value returns a piece as the index has it.
func neededByAll(probes []pruning.Probe, pieces func(text string) []string, value func(piece string) arrow.Array) index.Question {
	all := &rustregex.Need{}
	for _, p := range probes {
		all.All = append(all.All, p.Need(pieces))
	}
	a := asking{value: value, left: maxPieces}
	q, _ := a.needed(all)
	return q
}

// An asking turns needs into questions.
type asking struct {
	value func(piece string) arrow.Array
	left  int // pieces that may still be asked for; those beyond are not tested
}

// needed returns the question for the rows that meet a need; ok is false if nothing of it is tested.
func (a *asking) needed(need *rustregex.Need) (q index.Question, ok bool) {
	var asked []string
	for parts := []*rustregex.Need{need}; len(parts) > 0; {
		part := parts[len(parts)-1]
		parts = append(parts[:len(parts)-1], part.All...)
		for _, piece := range part.Pieces {
			if a.left > 0 && !slices.Contains(asked, piece) {
				asked = append(asked, piece)
				a.left--
			}
		}
		one := index.Question{Any: a.alternatives(part.Any)}
		same := func(other index.Question) bool { return other.String() == one.String() }
		if one.Any != nil && !slices.ContainsFunc(q.All, same) {
			q.All = append(q.All, one)
		}
	}
	for _, piece := range asked {
		bound := index.Bound{Value: a.value(piece)}
		q.All = append(q.All, index.Question{Ranges: []index.Range{{From: bound, To: bound}}})
	}
	return q, q.All != nil
}

// alternatives returns the questions for the rows that meet one of some needs, or nil if one of these
// is not tested.
func (a *asking) alternatives(needs []*rustregex.Need) []index.Question {
	var questions []index.Question
	for _, need := range needs {
		q, ok := a.needed(need)
		if !ok {
			return nil
		}
		questions = append(questions, q)
	}
	return questions
}

// number returns an array of one number.
func number(n uint32) arrow.Array {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	return b.NewArray()
}
