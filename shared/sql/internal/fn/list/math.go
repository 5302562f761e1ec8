package list

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// listMathFunctions treat lists as vectors, or count their dimensions.
var listMathFunctions = map[string]*expr.Function{
	"array_distance":  {MinArgs: 2, MaxArgs: 2, Bind: bindVectors(expr.Gives(column.TypeFloat64)), Eval: vectorPairs(euclidean)},
	"cosine_distance": {MinArgs: 2, MaxArgs: 2, Bind: bindVectors(expr.Gives(column.TypeFloat64)), Eval: vectorPairs(cosine)},
	"inner_product":   {MinArgs: 2, MaxArgs: 2, Bind: bindVectors(expr.Gives(column.TypeFloat64)), Eval: vectorPairs(inner)},
	"array_normalize": {MinArgs: 1, MaxArgs: 1, Bind: bindVectors(expr.LikeFirst), Eval: evalArrayNormalize},
	"array_dims":      {MinArgs: 1, MaxArgs: 1, Bind: bindLists(expr.Gives(arrow.ListOf(column.TypeUint64))), Eval: evalArrayDims},
	"array_ndims":     {MinArgs: 1, MaxArgs: 1, Bind: bindArrayNDims, Eval: evalArrayNDims},
}

// bindVectors casts lists of numbers to lists of float64.
func bindVectors(result func([]arrow.DataType) arrow.DataType) func(n *expr.Node) (*expr.Node, error) {
	return expr.Signature(result, func(t arrow.DataType) arrow.DataType {
		if !column.IsSimpleList(t) || !column.IsNumeric(column.ValueType(column.ElemType(t))) {
			return nil
		}
		return column.ListLike(t, column.TypeFloat64)
	})
}

// vectorPairs computes a number for two vectors of the same length. The result is NULL if
// an element is NULL, or if f returns false.
func vectorPairs(f func(x, y []float64) (float64, bool)) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		l, lSpan := args[0].ListsOf()
		r, rSpan := args[1].ListsOf()
		xs, ys := l.Elems.Data.([]float64), r.Elems.Data.([]float64)
		found := column.NewBitset(max(args[0].N, args[1].N))
		out, err := expr.FixedRows(m, n, args, rows, func(i int) (float64, error) {
			from, to := lSpan(i)
			from2, to2 := rSpan(i)
			if anyNull(l.Elems, from, to) || anyNull(r.Elems, from2, to2) {
				return 0, nil
			}
			if to-from != to2-from2 {
				return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "%s of lists of %d and of %d elements", n.Func.Name, to-from, to2-from2)
			}
			value, ok := f(xs[from:to], ys[from2:to2])
			if ok {
				found.Set(i)
			}
			return value, nil
		})
		out.Valid = column.And(out.Valid, found)
		return out, err
	}
}

// anyNull reports whether a slot in [from, to) is NULL.
func anyNull(v column.Vec, from, to int) bool {
	for j := from; j < to; j++ {
		if v.IsNull(j) {
			return true
		}
	}
	return false
}

// euclidean returns -0.0 for empty vectors, because an empty sum of floats has that value
// in Rust.
func euclidean(x, y []float64) (float64, bool) {
	sum := math.Copysign(0, -1)
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum), true
}

// cosine returns false for vectors of length zero.
func cosine(x, y []float64) (float64, bool) {
	var dot, xx, yy float64
	for i := range x {
		dot += x[i] * y[i]
		xx += x[i] * x[i]
		yy += y[i] * y[i]
	}
	if xx == 0 || yy == 0 {
		return 0, false
	}
	return 1 - dot/(math.Sqrt(xx)*math.Sqrt(yy)), true
}

func inner(x, y []float64) (float64, bool) {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum, true
}

// evalArrayNormalize scales vectors to length 1. The result is NULL for a vector with a
// NULL and for a zero vector, except the empty one.
func evalArrayNormalize(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, span := args[0].ListsOf()
	xs := l.Elems.Data.([]float64)
	values := make([]float64, len(xs))
	scaled := column.Lists{Elems: column.Vec{Type: column.TypeFloat64, N: len(xs), Data: values}}
	b := column.NewListBuilder(m, args[0].N, scaled.Elems)
	return expr.ListRows(n, args, rows, b, func(i int) bool {
		from, to := span(i)
		length, _ := inner(xs[from:to], xs[from:to])
		if anyNull(l.Elems, from, to) || length == 0 && from < to {
			return false
		}
		for j := from; j < to; j++ {
			values[j] = xs[j] / math.Sqrt(length)
			b.Add(0, j)
		}
		return true
	})
}

// evalArrayDims returns the length of a list, in a list; it is NULL for an empty list.
func evalArrayDims(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	_, span := args[0].ListsOf()
	lengths := make([]uint64, args[0].N)
	b := column.NewListBuilder(m, args[0].N, column.Vec{Type: column.TypeUint64, N: len(lengths), Data: lengths})
	return expr.ListRows(n, args, rows, b, func(i int) bool {
		from, to := span(i)
		lengths[i] = uint64(to - from)
		b.Add(0, i)
		return from < to
	})
}

// bindArrayNDims accepts lists nested to any depth.
func bindArrayNDims(n *expr.Node) (*expr.Node, error) {
	if !column.IsList(n.Args[0].Type) {
		return nil, expr.Mismatch(n)
	}
	n = n.With(n.Args...)
	n.Type = column.TypeUint64
	return n, nil
}

func evalArrayNDims(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	depth := uint64(0)
	for t := args[0].Type; column.IsList(t); t = column.ElemType(t) {
		depth++
	}
	return expr.FixedRows(m, n, args, rows, func(int) (uint64, error) { return depth, nil })
}
