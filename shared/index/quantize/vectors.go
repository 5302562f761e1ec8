package quantize

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/vector"
)

// Vectors are vectors that an index is built of, one after another. Under cosine they have length 1.
type Vectors struct {
	Element arrow.Type // of the column
	Dim     int
	Metric  vector.Metric
	Values  []float32 // those of float64 are rounded
	Wide    []float64 // in a column of float64: the exact values
}

// NewVectors returns no vectors, with space for n.
func NewVectors(element arrow.Type, dim int, metric vector.Metric, n int) *Vectors {
	v := &Vectors{Element: element, Dim: dim, Metric: metric, Values: make([]float32, 0, n*dim)}
	if element == arrow.FLOAT64 {
		v.Wide = make([]float64, 0, n*dim)
	}
	return v
}

// Bytes is how much memory n vectors take.
func (v *Vectors) Bytes(n int) int64 {
	if v.Element == arrow.FLOAT64 {
		return 12 * int64(n) * int64(v.Dim)
	}
	return 4 * int64(n) * int64(v.Dim)
}

// Rows returns the number of vectors.
func (v *Vectors) Rows() int { return len(v.Values) / v.Dim }

// Append appends the vectors of a column and returns the rows that they came from. It leaves out
// those that are NULL or not finite, or under cosine have no direction, because an index has none of
// these.
func (v *Vectors) Append(column arrow.Array) ([]int32, error) {
	list, ok := column.(*array.FixedSizeList)
	if !ok || int(list.DataType().(*arrow.FixedSizeListType).Len()) != v.Dim || list.ListValues().DataType().ID() != v.Element {
		return nil, fmt.Errorf("%w: vectors in a column of type %s", lance.ErrUnsupported, column.DataType())
	}
	items := list.ListValues()
	read := v.reader(items)
	var rows []int32
	for i := range list.Len() {
		if list.IsNull(i) {
			continue
		}
		from, to := list.ValueOffsets(i)
		if items.NullN() > 0 && hasNull(items, int(from), int(to)) {
			continue
		}
		before := len(v.Values)
		read(int(from), int(to))
		if v.finish(before) {
			rows = append(rows, int32(i))
		} else {
			v.cut(before)
		}
	}
	return rows, nil
}

func hasNull(items arrow.Array, from, to int) bool {
	for i := from; i < to; i++ {
		if items.IsNull(i) {
			return true
		}
	}
	return false
}

// reader returns a function that appends elements as they are.
func (v *Vectors) reader(items arrow.Array) func(from, to int) {
	switch items := items.(type) {
	case *array.Float16:
		return func(from, to int) {
			for _, h := range items.Values()[from:to] {
				v.Values = append(v.Values, h.Float32())
			}
		}
	case *array.Float64:
		return func(from, to int) {
			for _, x := range items.Float64Values()[from:to] {
				v.Wide, v.Values = append(v.Wide, x), append(v.Values, float32(x))
			}
		}
	}
	values := items.(*array.Float32).Float32Values()
	return func(from, to int) { v.Values = append(v.Values, values[from:to]...) }
}

// finish normalizes the last vector, which begins at an element, and reports whether it is finite.
func (v *Vectors) finish(from int) bool {
	last := v.Values[from:]
	if v.Wide != nil {
		wide := v.Wide[from:]
		if v.Metric == vector.Cosine {
			normalize(wide)
			for i, x := range wide {
				last[i] = float32(x)
			}
		}
		return isFinite(wide)
	}
	if v.Metric == vector.Cosine {
		normalize(last)
		if v.Element == arrow.FLOAT16 {
			RoundHalf(last)
		}
	}
	return isFinite(last)
}

func isFinite[T float32 | float64](values []T) bool {
	for _, x := range values {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return false
		}
	}
	return true
}

// Put copies a vector of others to a place, or behind the last one.
func (v *Vectors) Put(at int, others *Vectors, row int) {
	from, to := row*v.Dim, (row+1)*v.Dim
	v.Values = append(v.Values[:at*v.Dim], others.Values[from:to]...)[:max(len(v.Values), (at+1)*v.Dim)]
	if v.Wide != nil {
		v.Wide = append(v.Wide[:at*v.Dim], others.Wide[from:to]...)[:max(len(v.Wide), (at+1)*v.Dim)]
	}
}

// Swap exchanges two vectors.
func (v *Vectors) Swap(i, j int) {
	for k := range v.Dim {
		a, b := i*v.Dim+k, j*v.Dim+k
		v.Values[a], v.Values[b] = v.Values[b], v.Values[a]
		if v.Wide != nil {
			v.Wide[a], v.Wide[b] = v.Wide[b], v.Wide[a]
		}
	}
}

// cut leaves the elements before one.
func (v *Vectors) cut(element int) {
	v.Values = v.Values[:element]
	if v.Wide != nil {
		v.Wide = v.Wide[:element]
	}
}
