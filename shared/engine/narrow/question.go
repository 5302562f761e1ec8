package narrow

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/labellist"
	"tiltyard/shared/sql/pruning"
)

// valueQuestion returns what an index of values in their order is asked, to find the rows that pass
// all of some probes of a column of type t.
func valueQuestion(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (q index.Question, err error) {
	order, err := index.OrderOf(t)
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
func questionOf(ctx context.Context, p pruning.Probe, order index.Order) (q index.Question, err error) {
	switch p.Test {
	case pruning.Null:
		if p.Not {
			return index.Question{Ranges: []index.Range{{}}}, nil
		}
		return index.Question{Null: true}, nil
	case pruning.Prefix:
		q.Ranges = []index.Range{prefixed(p.Prefix)}
		return q, nil
	}
	constants, err := p.Constants(ctx)
	if err != nil {
		return q, err
	}
	switch p.Test {
	case pruning.Range:
		bound := index.Bound{Value: constants, Excluded: !p.Included}
		if p.Above {
			q.Ranges = []index.Range{{From: bound}}
		} else {
			q.Ranges = []index.Range{{To: bound}}
		}
	default:
		q = index.Equal(constants, order)
	}
	if p.Not {
		q = q.Not()
		q.Null = p.NullIsFalse
	}
	return q, nil
}

// elementsQuestion returns what an index of the elements of lists is asked, to find the rows that pass
// all of some probes of a column of type t.
func elementsQuestion(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (q index.Question, err error) {
	order, err := index.OrderOf(labellist.ElementType(t))
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

// ofElements returns the question for the rows with one of some elements. Of these NULL is one, too.
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

// prefixed returns the range of the texts that begin with a prefix. It ends before the first text, in
// the order of bytes, that is greater than all of them.
func prefixed(prefix string) index.Range {
	r := index.Range{From: index.Bound{Value: text(prefix)}}
	next := []byte(prefix)
	for len(next) > 0 && next[len(next)-1] == 0xff {
		next = next[:len(next)-1]
	}
	if len(next) > 0 {
		next[len(next)-1]++
		r.To = index.Bound{Value: text(string(next)), Excluded: true}
	}
	return r
}

// text returns an array of one text.
func text(s string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(s)
	return b.NewArray()
}
