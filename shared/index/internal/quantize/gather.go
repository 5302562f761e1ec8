package quantize

import (
	"unsafe"

	"tiltyard/shared/index/vector"
)

// A Gatherer measures rows that lie anywhere in memory. It belongs to one goroutine.
type Gatherer interface {
	// Gather writes the distance of each row from the query. A row is the first byte of its code in the
	// only column.
	Gather(rows []*byte, out []float32)
}

// GathererOf returns the Gatherer of a query, or nil if distances depend on more than the code.
func GathererOf(q Prepared) Gatherer {
	if q, ok := q.(interface{ gatherer() Gatherer }); ok {
		return q.gatherer()
	}
	return nil
}

// gatherer implements GathererOf for codes of SQ, but not under dot, where the query is not quantized.
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

// gatherer implements GathererOf for whole vectors.
func (q flatQuery[T]) gatherer() Gatherer { return flatGatherer[T](q) }

type flatGatherer[T vector.Element] flatQuery[T]

func (g flatGatherer[T]) Gather(rows []*byte, out []float32) {
	dim := g.query.Dim()
	for i, row := range rows {
		g.query.Distances(unsafe.Slice((*T)(unsafe.Pointer(row)), dim), out[i:i+1])
	}
}
