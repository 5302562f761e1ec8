package index

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

func numbers(values ...int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

// has reports whether a question matches a value.
func (q Question) has(value arrow.Array, order Order) bool {
	for _, r := range q.Ranges {
		if !(Range{later(r.From, Bound{Value: value}, order, 1), later(r.To, Bound{Value: value}, order, -1)}).isEmpty(order) {
			return true
		}
	}
	return false
}

func drawQuestion(t *rapid.T, order Order) Question {
	value := rapid.Int64Range(-3, 3)
	bound := func() Bound {
		if rapid.IntRange(0, 3).Draw(t, "open") == 0 {
			return Bound{}
		}
		return Bound{Value: numbers(value.Draw(t, "bound")), Excluded: rapid.Bool().Draw(t, "excluded")}
	}
	if rapid.Bool().Draw(t, "equal") {
		return Equal(numbers(rapid.SliceOfN(value, 1, 4).Draw(t, "values")...), order)
	}
	return Question{Ranges: []Range{{From: bound(), To: bound()}}}
}

func TestQuestionsAreSetsOfValues(t *testing.T) {
	order, err := OrderOf(arrow.PrimitiveTypes.Int64)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawQuestion(t, order), drawQuestion(t, order)
		both, not := a.And(b, order), Equal(numbers(1, -2, 1), order).Not()
		for v := int64(-4); v <= 4; v++ {
			value := numbers(v)
			if got, want := both.has(value, order), a.has(value, order) && b.has(value, order); got != want {
				t.Errorf("%s and %s is %s, which has %d: %t, want %t", a, b, both, v, got, want)
			}
			if got, want := not.has(value, order), v != 1 && v != -2; got != want {
				t.Errorf("%s has %d: %t, want %t", not, v, got, want)
			}
		}
		for i, r := range both.Ranges {
			for _, other := range both.Ranges[:i] {
				if !(Range{later(r.From, other.From, order, 1), later(r.To, other.To, order, -1)}).isEmpty(order) {
					t.Errorf("%s and %s is %s, of which two overlap", a, b, both)
				}
			}
		}
	})
}

func TestFloatsHaveTheTotalOrder(t *testing.T) {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{math.Copysign(math.NaN(), -1), math.Inf(-1), -1, math.Copysign(0, -1), 0, 1, math.Inf(1), math.NaN()}, nil)
	values := b.NewArray()
	order, err := OrderOf(values.DataType())
	if err != nil {
		t.Fatal(err)
	}
	for i := range values.Len() {
		for j := range values.Len() {
			if got := order(values, i, values, j); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s compare as %d", values.ValueStr(i), values.ValueStr(j), got)
			}
		}
	}
}
