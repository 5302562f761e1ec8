package index

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/sql/rustregex"
)

// maxPieces bounds the pieces, such as trigrams, of a question. More of them hardly reduce the number of
// rows found.
const maxPieces = 64

// NeededByAll returns the question for the rows that contain the pieces that all probes need. value
// converts a piece to the value type of the index.
func NeededByAll(probes []pruning.Probe, pieces func(text string) []string, value func(piece string) arrow.Array) Question {
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
	left  int // pieces that may still be used; further ones are ignored
}

// needed returns the question for the rows that meet a need. ok is false if no part of it can be tested.
func (a *asking) needed(need *rustregex.Need) (q Question, ok bool) {
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
		one := Question{Any: a.alternatives(part.Any)}
		same := func(other Question) bool { return other.String() == one.String() }
		if one.Any != nil && !slices.ContainsFunc(q.All, same) {
			q.All = append(q.All, one)
		}
	}
	for _, piece := range asked {
		bound := Bound{Value: a.value(piece)}
		q.All = append(q.All, Question{Ranges: []Range{{From: bound, To: bound}}})
	}
	return q, q.All != nil
}

// alternatives returns a question for each of several alternative needs. It returns nil if one of them
// cannot be tested, because then any row may match.
func (a *asking) alternatives(needs []*rustregex.Need) []Question {
	var questions []Question
	for _, need := range needs {
		q, ok := a.needed(need)
		if !ok {
			return nil
		}
		questions = append(questions, q)
	}
	return questions
}
