package index

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/pruning"
)

// SortableTypes names the types of columns that are [Sortable], for people.
const SortableTypes = "numbers, booleans, texts, binaries, decimals, dates and times"

// FitsSortable implements [Kind.Fits] for kinds whose values must be sortable.
func FitsSortable(b Build) bool { return Sortable(b.Field.Type) }

// IsValueTest reports whether a probe compares with values in their order.
func IsValueTest(p pruning.Probe) bool {
	return p.Test == pruning.Equal || p.Test == pruning.Range || p.Test == pruning.Null
}

// TestsValues reports whether an index on sorted values can answer a probe on a column of type t.
func TestsValues(p pruning.Probe, t arrow.DataType) bool {
	if p.Type != nil && !arrow.TypeEqual(p.Type, t) {
		return false
	}
	_, err := OrderOf(t)
	return err == nil && (p.Test != pruning.Prefix || t.ID() == arrow.STRING)
}

// ValueQuestion combines probes on a column of type t into one question for an index on sorted values. The
// answer to the question contains the rows that pass all probes.
func ValueQuestion(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (q Question, err error) {
	order, err := OrderOf(t)
	if err != nil {
		return q, err
	}
	for i, p := range probes {
		one, err := questionOf(ctx, p, order)
		if err != nil {
			return q, err
		}
		if i == 0 {
			q = one
		} else {
			q = q.And(one, order)
		}
	}
	return q, nil
}

// questionOf translates one probe into a question.
func questionOf(ctx context.Context, p pruning.Probe, order Order) (q Question, err error) {
	switch p.Test {
	case pruning.Null:
		if p.Not {
			return Question{Ranges: []Range{{}}}, nil
		}
		return Question{Null: true}, nil
	case pruning.Prefix:
		q.Ranges = []Range{prefixed(p.Prefix)}
		return q, nil
	}
	constants, err := p.Constants(ctx)
	if err != nil {
		return q, err
	}
	switch p.Test {
	case pruning.Range:
		bound := Bound{Value: constants, Excluded: !p.Included}
		if p.Above {
			q.Ranges = []Range{{From: bound}}
		} else {
			q.Ranges = []Range{{To: bound}}
		}
	default:
		q = Equal(constants, order)
	}
	if p.Not {
		q = q.Not()
		q.Null = p.NullIsFalse
	}
	return q, nil
}

// prefixed returns the range of the texts with a prefix. The range ends before the first text, in byte
// order, that is greater than all of them; without such a text it is unbounded.
func prefixed(prefix string) Range {
	r := Range{From: Bound{Value: TextValue(prefix)}}
	next := []byte(prefix)
	for len(next) > 0 && next[len(next)-1] == 0xff {
		next = next[:len(next)-1]
	}
	if len(next) > 0 {
		next[len(next)-1]++
		r.To = Bound{Value: TextValue(string(next)), Excluded: true}
	}
	return r
}

// TextValue returns an array with one text.
func TextValue(s string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(s)
	return b.NewArray()
}
