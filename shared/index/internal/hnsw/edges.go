package hnsw

import (
	"sync"
	"sync/atomic"
)

// edges are the edges of the nodes on one level of a graph that is being built. All lists lie in two
// arrays, so that a search that reads the neighbours of a node meets few lines of memory.
//
// Lists are changed under the lock of a node. They are read without it: a reader may see a list in part
// before and in part after a change, which is a list of nodes all the same.
type edges struct {
	most      int // edges per node that the graph keeps
	stride    int // edges per node that there is room for
	lengths   []uint32
	ends      []uint32  // nodes, stride for each list
	distances []float32 // of these
	locks     []sync.Mutex
}

// A list has room for some more edges than it keeps, because reducing it costs as much for one edge too
// many as for several. The last place is for the edges of [Built.connect].
func room(most int) int { return most + most/4 + 2 }

// edgeBytes is the memory of an edge.
const edgeBytes = 8

func newEdges(lists, most int) *edges {
	stride := room(most)
	return &edges{
		most: most, stride: stride,
		lengths: make([]uint32, lists), locks: make([]sync.Mutex, lists),
		ends: make([]uint32, lists*stride), distances: make([]float32, lists*stride),
	}
}

func (e *edges) len(list int) int { return int(atomic.LoadUint32(&e.lengths[list])) }

// isFull reports whether a list has no room for another edge.
func (e *edges) isFull(list int) bool { return e.len(list) >= e.stride-1 }

// nodes appends the ends of a list to nodes.
func (e *edges) nodes(list int, nodes []uint32) []uint32 {
	ends := e.ends[list*e.stride:][:e.len(list)]
	for i := range ends {
		nodes = append(nodes, atomic.LoadUint32(&ends[i]))
	}
	return nodes
}

// hits appends the edges of a list to hits. The caller holds its lock.
func (e *edges) hits(list int, hits []Hit) []Hit {
	from := list * e.stride
	for i := from; i < from+e.len(list); i++ {
		hits = append(hits, Hit{e.ends[i], e.distances[i]})
	}
	return hits
}

// contains reports whether a list has an edge to a node. The caller holds its lock.
func (e *edges) contains(list int, node uint32) bool {
	for _, end := range e.ends[list*e.stride:][:e.len(list)] {
		if end == node {
			return true
		}
	}
	return false
}

// add adds an edge to a list that is not full. The caller holds its lock.
func (e *edges) add(list int, h Hit) {
	n := e.len(list)
	at := list*e.stride + n
	e.distances[at] = h.Distance
	atomic.StoreUint32(&e.ends[at], h.Node)
	atomic.StoreUint32(&e.lengths[list], uint32(n+1))
}

// set replaces a list. The caller holds its lock.
func (e *edges) set(list int, hits []Hit) {
	from := list * e.stride
	for i, h := range hits {
		e.distances[from+i] = h.Distance
		atomic.StoreUint32(&e.ends[from+i], h.Node)
	}
	atomic.StoreUint32(&e.lengths[list], uint32(len(hits)))
}
