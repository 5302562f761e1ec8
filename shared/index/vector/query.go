package vector

import (
	"errors"
	"fmt"
	"math"
)

// An Element is the type of a vector's elements: float32, float64, the 16 bits of an IEEE
// half (float16 columns, see [RoundToFloat16]), or bytes of packed bits for [Hamming].
type Element interface {
	float32 | float64 | uint16 | uint8
}

// A Query is a vector prepared for the comparison with many rows. It is immutable and safe for concurrent
// use.
type Query[T Element] struct {
	dim     int
	measure func(rows []T, out []float32) // of 1 to blockRows rows
}

// blockRows is the number of rows that are measured at a time. Assembly cannot be
// preempted, so it should return often; and Cosine needs a scratch buffer of this length.
const blockRows = 256

// NewQuery prepares the vector for the metric. The vector has the element type of the rows;
// for a float16 column the caller rounds a float32 query first, as native Lance does. The
// Query keeps the vector, which must not be changed afterwards. An empty vector, or a
// metric that does not measure this type of element, is an error.
func NewQuery[T Element](metric Metric, vector []T) (*Query[T], error) {
	if len(vector) == 0 {
		return nil, errors.New("query vector is empty")
	}

	var measure any
	switch v := any(vector).(type) {
	case []float32:
		measure = measureFloat32(metric, v)
	case []float64:
		measure = measureFloat64(metric, v)
	case []uint16:
		measure = measureFloat16(metric, v)
	case []uint8:
		measure = measureBytes(metric, v)
	}
	m := measure.(func([]T, []float32))
	if m == nil {
		return nil, fmt.Errorf("metric %s does not measure vectors of %T", metric, vector[0])
	}
	return &Query[T]{dim: len(vector), measure: m}, nil
}

// Dim returns the number of elements of the query and of each row.
func (q *Query[T]) Dim() int { return q.dim }

// Distances measures len(out) rows, which lie one after another in rows, and writes their distances to out.
// It allocates nothing. It panics if rows does not have len(out)*Dim() elements.
func (q *Query[T]) Distances(rows []T, out []float32) {
	if len(rows) != len(out)*q.dim {
		panic(fmt.Sprintf("vector: %d elements are not %d rows of %d", len(rows), len(out), q.dim))
	}
	for len(out) > 0 {
		n := min(len(out), blockRows)
		q.measure(rows[:n*q.dim], out[:n])
		rows, out = rows[n*q.dim:], out[n:]
	}
}

// blockElements is the block size of [DistancesMany]: 128 KiB of float32 stay in a core's L2 cache while
// all queries pass.
const blockElements = 32 << 10

// DistancesMany measures the same rows for several queries of one dimension, and reads each row from memory
// only once. It writes the distances of queries[i] to outs[i]. It panics like [Query.Distances].
func DistancesMany[T Element](queries []*Query[T], rows []T, outs [][]float32) {
	if len(queries) == 0 {
		return
	}
	dim := queries[0].dim
	n := len(rows) / dim
	block := max(1, blockElements/dim)

	for lo := 0; lo < n; lo += block {
		hi := min(lo+block, n)
		for i, q := range queries {
			q.Distances(rows[lo*dim:hi*dim], outs[i][lo:hi])
		}
	}
}

// measureFloat32 returns nil for a metric that does not measure floats; so do the functions
// below.
func measureFloat32(metric Metric, query []float32) func(rows, out []float32) {
	switch metric {
	case L2:
		return func(rows, out []float32) { l2Float32(query, rows, out) }
	case Dot:
		return func(rows, out []float32) {
			dotFloat32(query, rows, out)
			subtractFromOne(out)
		}
	case Cosine:
		var xy, square [1]float32
		cosineFloat32(query, query, xy[:], square[:])
		norm := sqrt(square[0])
		return func(rows, out []float32) {
			var yy [blockRows]float32
			cosineFloat32(query, rows, out, yy[:])
			for i, xy := range out {
				out[i] = 1 - xy/norm/sqrt(yy[i])
			}
		}
	}
	return nil
}

// measureFloat64 returns the distance function of a float64 query, or nil for an unsupported metric.
func measureFloat64(metric Metric, query []float64) func(rows []float64, out []float32) {
	switch metric {
	case L2:
		return func(rows []float64, out []float32) { l2Float64(query, rows, out) }
	case Dot:
		return func(rows []float64, out []float32) {
			dotFloat64(query, rows, out)
			subtractFromOne(out)
		}
	case Cosine:
		// Native Lance narrows the query's norm after the root and the rows' norms before
		// it. The order decides which norms overflow.
		var square float64
		for _, x := range query {
			square += x * x
		}
		norm := float32(math.Sqrt(square))
		return func(rows []float64, out []float32) {
			var yy [blockRows]float32
			cosineFloat64(query, rows, out, yy[:])
			for i, xy := range out {
				out[i] = 1 - xy/norm/sqrt(yy[i])
			}
		}
	}
	return nil
}

// measureFloat16 widens the query once; the rows are widened on their way through the kernels.
func measureFloat16(metric Metric, half []uint16) func(rows []uint16, out []float32) {
	query := make([]float32, len(half))
	widen(half, query)

	switch metric {
	case L2:
		return func(rows []uint16, out []float32) { l2Float16(query, rows, out) }
	case Dot:
		return func(rows []uint16, out []float32) {
			dotFloat16(query, rows, out)
			subtractFromOne(out)
		}
	case Cosine:
		var xy, square [1]float32
		cosineFloat32(query, query, xy[:], square[:])
		norm := sqrt(square[0])
		return func(rows []uint16, out []float32) {
			var yy [blockRows]float32
			cosineFloat16(query, rows, out, yy[:])
			for i, xy := range out {
				out[i] = 1 - xy/(norm*sqrt(yy[i]))
			}
		}
	}
	return nil
}

func measureBytes(metric Metric, query []uint8) func(rows []uint8, out []float32) {
	if metric != Hamming {
		return nil
	}
	return func(rows []uint8, out []float32) { hamming(query, rows, out) }
}

func subtractFromOne(out []float32) {
	for i, x := range out {
		out[i] = 1 - x
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
