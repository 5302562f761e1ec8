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

// FitsSortable is [Kind.Fits] of kinds that fit these.
func FitsSortable(b Build) bool { return Sortable(b.Field.Type) }

// IsValueTest reports whether a probe compares with values in their order.
func IsValueTest(p pruning.Probe) bool {
	return p.Test == pruning.Equal || p.Test == pruning.Range || p.Test == pruning.Null
}

// TestsValues reports whether an index of values in their order can test what a probe tests.
func TestsValues(p pruning.Probe, t arrow.DataType) bool {
	if p.Type != nil && !arrow.TypeEqual(p.Type, t) {
		return false
	}
	_, err := OrderOf(t)
	return err == nil && (p.Test != pruning.Prefix || t.ID() == arrow.STRING)
}

// ValueQuestion returns what an index of values in their order is asked, to find the rows that pass
// all of some probes of a column of type t.
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

// questionOf returns the question for one probe.
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

// prefixed returns the range of the texts that begin with a prefix. It ends before the first text, in
// the order of bytes, that is greater than all of them.
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

// TextValue returns an array of one text.
func TextValue(s string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(s)
	return b.NewArray()
}
