package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Question selects the rows whose value lies within one of some ranges, or is NULL. The zero value
// selects no rows. The filter x < 3 OR x = 7 OR x IS NULL, for example, is
//
//	Question{Ranges: (-∞, 3), [7, 7]; Null: true}
//
// An index of pieces, such as the elements of lists, has several values per row. Ranges then select the
// rows with at least one piece within a range. All and Any combine such questions; a question with them has
// no other fields. The filter array_has_all(x, [3, 7]), for example, is
//
//	Question{All: {Ranges: [3, 3]}, {Ranges: [7, 7]}}
type Question struct {
	Ranges []Range // ascending; they do not overlap
	Null   bool
	All    []Question // intersection of the rows of these
	Any    []Question // union of the rows of these
	None   []Question // excludes the rows of these
}

// A Range is the interval between two bounds.
type Range struct{ From, To Bound }

// A Bound is an end of a range.
type Bound struct {
	Value    arrow.Array // an array of one non-NULL value; nil: unbounded
	Excluded bool        // the value itself is not within the range
}

// Equal selects the rows with one of the values of an array without NULLs.
func Equal(values arrow.Array, order Order) Question {
	var q Question
	for i := range values.Len() {
		value := one(values, i)
		q.Ranges = append(q.Ranges, Range{From: Bound{Value: value}, To: Bound{Value: value}})
	}
	slices.SortFunc(q.Ranges, func(a, b Range) int { return order(a.From.Value, 0, b.From.Value, 0) })
	q.Ranges = slices.CompactFunc(q.Ranges, func(a, b Range) bool { return order(a.From.Value, 0, b.From.Value, 0) == 0 })
	return q
}

// one returns element i of an array, as an array.
func one(values arrow.Array, i int) arrow.Array {
	if values.Len() == 1 {
		return values
	}
	return slice(values, i, i+1)
}

// Not negates a question in SQL logic. A NULL value makes a comparison and its negation NULL, so it is in
// neither result. The negation of x IS NULL selects all values.
func (q Question) Not() Question {
	var not Question
	from, open := Bound{}, true
	for _, r := range q.Ranges {
		if r.From.Value != nil {
			not.Ranges = append(not.Ranges, Range{From: from, To: Bound{Value: r.From.Value, Excluded: !r.From.Excluded}})
		}
		if open = r.To.Value != nil; !open {
			break
		}
		from = Bound{Value: r.To.Value, Excluded: !r.To.Excluded}
	}
	if open {
		not.Ranges = append(not.Ranges, Range{From: from})
	}
	return not
}

// And returns the intersection of two questions.
func (q Question) And(o Question, order Order) Question {
	both := Question{Null: q.Null && o.Null}
	for _, a := range q.Ranges {
		for _, b := range o.Ranges {
			r := Range{From: later(a.From, b.From, order, 1), To: later(a.To, b.To, order, -1)}
			if !r.isEmpty(order) {
				both.Ranges = append(both.Ranges, r)
			}
		}
	}
	return both
}

// later returns the bound that admits fewer values above it (sign 1) or below it (sign -1).
func later(a, b Bound, order Order, sign int) Bound {
	switch {
	case a.Value == nil:
		return b
	case b.Value == nil:
		return a
	}
	switch c := sign * order(a.Value, 0, b.Value, 0); {
	case c > 0:
		return a
	case c < 0:
		return b
	}
	return Bound{Value: a.Value, Excluded: a.Excluded || b.Excluded}
}

func (r Range) isEmpty(order Order) bool {
	if r.From.Value == nil || r.To.Value == nil {
		return false
	}
	c := order(r.From.Value, 0, r.To.Value, 0)
	return c > 0 || c == 0 && (r.From.Excluded || r.To.Excluded)
}

// String returns the question in the form that plans and messages show.
func (q Question) String() string {
	var parts []string
	for _, r := range q.Ranges {
		parts = append(parts, r.String())
	}
	if q.Null {
		parts = append(parts, "NULL")
	}
	for _, part := range q.All {
		parts = append(parts, "and {"+part.String()+"}")
	}
	for _, part := range q.Any {
		parts = append(parts, "or {"+part.String()+"}")
	}
	for _, part := range q.None {
		parts = append(parts, "without {"+part.String()+"}")
	}
	return strings.Join(parts, " ")
}

// String returns the range in interval notation, such as [2, 5) or (, 7].
func (r Range) String() string {
	left, right := "[", "]"
	if r.From.Excluded || r.From.Value == nil {
		left = "("
	}
	if r.To.Excluded || r.To.Value == nil {
		right = ")"
	}
	text := func(b Bound) string {
		if b.Value == nil {
			return ""
		}
		return b.Value.ValueStr(0)
	}
	return fmt.Sprintf("%s%s, %s%s", left, text(r.From), text(r.To), right)
}
