package quantize

import (
	"unsafe"

	"tiltyard/shared/index/vector"
)

// A Gatherer measures rows that lie anywhere in memory. It belongs to one goroutine.
type Gatherer interface {
	// Gather writes the distance of each row from the query. Each element of rows points to the first
	// byte of a code, which has only one column.
	Gather(rows []*byte, out []float32)
}

// GathererOf returns the Gatherer of a query, or nil if distances depend on more than the code.
func GathererOf(q Prepared) Gatherer {
	if q, ok := q.(interface{ gatherer() Gatherer }); ok {
		return q.gatherer()
	}
	return nil
}

// gatherer returns the Gatherer for codes of SQ, or nil if the metric is dot: then the query is not quantized.
func (q *scalarQuery) gatherer() Gatherer {
	if q.metric == vector.Dot {
		return nil
	}
	return &scalarGatherer{query: q}
}

type scalarGatherer struct {
	query *scalarQuery
	sums  []uint32
}

func (g *scalarGatherer) Gather(rows []*byte, out []float32) {
	if len(g.sums) < len(rows) {
		g.sums = make([]uint32, 2*len(rows))
	}
	vector.BytesL2(g.query.code, rows, g.sums)
	square := g.query.step * g.query.step
	for i := range rows {
		out[i] = float32(g.sums[i]) * square
	}
}

// gatherer returns the Gatherer for whole vectors.
func (q flatQuery[T]) gatherer() Gatherer { return flatGatherer[T](q) }

type flatGatherer[T vector.Element] flatQuery[T]

func (g flatGatherer[T]) Gather(rows []*byte, out []float32) {
	dim := g.query.Dim()
	for i, row := range rows {
		g.query.Distances(unsafe.Slice((*T)(unsafe.Pointer(row)), dim), out[i:i+1])
	}
}
