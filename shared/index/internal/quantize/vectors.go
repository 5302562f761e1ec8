package quantize

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// Vectors are contiguous vectors to build an index of. Under cosine they have length 1. Byte vectors are
// expanded to one value, 0 or 1, per bit. So their L2 distance is the Hamming distance, and algorithms for
// L2 apply to them.
type Vectors struct {
	Element arrow.Type // of the column
	Dim     int        // values of a vector; see DimOf
	Metric  vector.Metric
	Values  []float32 // float64 is rounded to float32
	Wide    []float64 // in a column of float64: the exact values
}

// DimOf returns the number of values for a vector with the given number of elements: 8 per byte, else 1.
func DimOf(element arrow.Type, elements int) int {
	if element == arrow.UINT8 {
		return 8 * elements
	}
	return elements
}

// width is the opposite of DimOf.
func width(element arrow.Type, dim int) int {
	if element == arrow.UINT8 {
		return dim / 8
	}
	return dim
}

// Count returns an upper bound of the number of vectors in a column. In a column of lists it counts the
// elements of all lists.
func Count(column arrow.Array) int {
	lists, ok := column.(*array.List)
	if !ok || lists.Len() == 0 {
		return column.Len()
	}
	first, _ := lists.ValueOffsets(0)
	_, last := lists.ValueOffsets(lists.Len() - 1)
	return int(last - first)
}

// NewVectors returns no vectors, with space for n.
func NewVectors(element arrow.Type, dim int, metric vector.Metric, n int) *Vectors {
	v := &Vectors{Element: element, Dim: dim, Metric: metric, Values: make([]float32, 0, n*dim)}
	if element == arrow.FLOAT64 {
		v.Wide = make([]float64, 0, n*dim)
	}
	return v
}

// Bytes returns the memory of n vectors.
func (v *Vectors) Bytes(n int) int64 {
	if v.Element == arrow.FLOAT64 {
		return 12 * int64(n) * int64(v.Dim)
	}
	return 4 * int64(n) * int64(v.Dim)
}

// Rows returns the number of vectors.
func (v *Vectors) Rows() int { return len(v.Values) / v.Dim }

// Append appends the vectors of a column, or of its lists of vectors, and returns the row of each. It skips
// vectors that are NULL or not finite, and zero vectors under cosine, because an index does not contain
// them.
func (v *Vectors) Append(column arrow.Array) ([]int32, error) {
	var rows []int32
	lists, ok := column.(*array.List)
	if !ok {
		err := v.append(column, 0, column.Len(), func(i int) { rows = append(rows, int32(i)) })
		return rows, err
	}
	for i := range lists.Len() {
		if lists.IsNull(i) {
			continue
		}
		from, to := lists.ValueOffsets(i)
		if err := v.append(lists.ListValues(), int(from), int(to), func(int) { rows = append(rows, int32(i)) }); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// append appends the vectors [from, to) of a column. It calls added for each vector that it does not skip.
func (v *Vectors) append(column arrow.Array, from, to int, added func(i int)) error {
	list, ok := column.(*array.FixedSizeList)
	if !ok || DimOf(v.Element, int(list.DataType().(*arrow.FixedSizeListType).Len())) != v.Dim || list.ListValues().DataType().ID() != v.Element {
		return fmt.Errorf("%w: vectors in a column of type %s", lance.ErrUnsupported, column.DataType())
	}
	items := list.ListValues()
	read := v.reader(items)
	for i := from; i < to; i++ {
		if list.IsNull(i) {
			continue
		}
		first, last := list.ValueOffsets(i)
		if items.NullN() > 0 && hasNull(items, int(first), int(last)) {
			continue
		}
		before := len(v.Values)
		read(int(first), int(last))
		if v.finish(before) {
			added(i)
		} else {
			v.cut(before)
		}
	}
	return nil
}

func hasNull(items arrow.Array, from, to int) bool {
	for i := from; i < to; i++ {
		if items.IsNull(i) {
			return true
		}
	}
	return false
}

// reader returns a function that appends elements unchanged.
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
	case *array.Uint8:
		return func(from, to int) { v.Values = appendBits(v.Values, items.Uint8Values()[from:to]) }
	}
	values := items.(*array.Float32).Float32Values()
	return func(from, to int) { v.Values = append(v.Values, values[from:to]...) }
}

// finish normalizes the last vector, which begins at element from, and reports whether it is finite.
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

// Put copies a vector from others over the vector at position at, or appends it.
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

// cut truncates the vectors to the elements before the given one.
func (v *Vectors) cut(element int) {
	v.Values = v.Values[:element]
	if v.Wide != nil {
		v.Wide = v.Wide[:element]
	}
}

// appendBits appends a value for each bit of bytes.
func appendBits(values []float32, bytes []uint8) []float32 {
	for _, b := range bytes {
		for bit := range 8 {
			values = append(values, float32(b>>bit&1))
		}
	}
	return values
}

// PackBits returns bytes of the bits that values are nearest to.
func PackBits(values []float32) []uint8 {
	bytes := make([]uint8, len(values)/8)
	for i, x := range values {
		if x >= 0.5 {
			bytes[i/8] |= 1 << (i % 8)
		}
	}
	return bytes
}

// Round rounds values to the precision of an element type.
func Round(element arrow.Type, values []float32) {
	switch element {
	case arrow.FLOAT16:
		RoundHalf(values)
	case arrow.UINT8:
		copy(values, appendBits(make([]float32, 0, len(values)), PackBits(values)))
	}
}
