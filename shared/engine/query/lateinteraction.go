package query

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// listBlock is the approximate number of vectors in lists that are measured at a time.
const listBlock = 1 << 12

// measureLists writes the distance of each row of lists of vectors: the sum, over the query
// vectors, of the distance to the nearest vector of the row. Late interaction defines the distance
// in this way. Null rows and empty lists have the distance NaN.
func (t *target) measureLists(column *array.List, out []float32) {
	vectors := column.ListValues().(*array.FixedSizeList).Data()
	distances := make([][]float32, t.measure.queries())
	for from := 0; from < len(out); {
		to, first, last := listRun(column, from, len(out))
		// All query vectors measure the run at once, and the buffers are reused by the next run.
		n := last - first
		for q := range distances {
			if cap(distances[q]) < n {
				distances[q] = make([]float32, n)
			}
			distances[q] = distances[q][:n]
		}
		if n > 0 {
			t.measure.measure(vectors.Children()[0], vectors.Offset()+first, n, distances)
		}
		for i := from; i < to; i++ {
			start, end := column.ValueOffsets(i)
			if column.IsNull(i) || start == end {
				out[i] = float32(math.NaN())
				continue
			}
			out[i] = lateInteraction(distances, int(start)-first, int(end)-first)
		}
		from = to
	}
}

// listRun returns the end of a run of whole rows that begins at row from, and the range of vectors
// in the run. The run ends after listBlock vectors.
func listRun(column *array.List, from, rows int) (to, first, last int) {
	start, _ := column.ValueOffsets(from)
	first, last = int(start), int(start)
	for to = from; to < rows && last-first < listBlock; to++ {
		_, end := column.ValueOffsets(to)
		last = int(end)
	}
	return to, first, last
}

// lateInteraction returns the sum of each query vector's least distance to the vectors [from, to).
func lateInteraction(distances [][]float32, from, to int) float32 {
	sum := float32(0)
	for _, d := range distances {
		nearest := d[from]
		for _, x := range d[from+1 : to] {
			if totalLess(x, nearest) {
				nearest = x
			}
		}
		sum += nearest
	}
	return sum
}

// totalLess compares floats in their total order, as native Lance does: a NaN with its sign bit
// set is less than all other values, and any other NaN is greater.
func totalLess(a, b float32) bool {
	if a == a && b == b { // neither is NaN
		return a < b
	}
	order := func(f float32) int32 {
		bits := int32(math.Float32bits(f))
		return bits ^ int32(uint32(bits>>31)>>1)
	}
	return order(a) < order(b)
}
