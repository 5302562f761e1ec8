package hnsw

import (
	"slices"
	"sync"
	"sync/atomic"
)

// edges are the edges of the nodes on one level of a graph that is being built. All lists lie in two
// arrays, so that a search touches few cache lines when it reads the neighbours of a node.
//
// Lists are changed under the lock of a node, but read without it. A reader may see a mixture of the old
// and the new list. That does no harm, because each entry is a node.
type edges struct {
	most      int       // edges per node that the graph keeps
	stride    int       // numbers per list: its length, and room for the ends
	lists     []uint32  // for each node the length of its list, then the ends
	distances []float32 // of the ends, at the same places
	locks     []sync.Mutex
}

// room returns the number of places in a list of which the graph keeps up to most edges. Reducing a list
// costs as much for one excess edge as for several, so there are some spare places. The last place is
// reserved for [Built.connect].
func room(most int) int { return most + most/4 + 2 }

// edgeBytes is the memory of an edge.
const edgeBytes = 8

func newEdges(lists, most int) *edges {
	stride := 1 + room(most)
	return &edges{
		most: most, stride: stride, locks: make([]sync.Mutex, lists),
		lists: make([]uint32, lists*stride), distances: make([]float32, lists*stride),
	}
}

func (e *edges) len(list int) int { return int(atomic.LoadUint32(&e.lists[list*e.stride])) }

// isFull reports whether a list has no room for another edge.
func (e *edges) isFull(list int) bool { return e.len(list) >= e.stride-2 }

// ends returns the ends of a list. A reader without the lock must load each of them atomically.
func (e *edges) ends(list int) []uint32 { return e.lists[list*e.stride+1:][:e.len(list)] }

// nodes appends the ends of a list to nodes.
func (e *edges) nodes(list int, nodes []uint32) []uint32 {
	ends := e.ends(list)
	for i := range ends {
		nodes = append(nodes, atomic.LoadUint32(&ends[i]))
	}
	return nodes
}

// unseen appends to nodes those ends of a list that a walk has not seen, and marks them as seen by it.
func (e *edges) unseen(list int, seen []uint32, walk uint32, nodes []uint32) []uint32 {
	ends := e.ends(list)
	for i := range ends {
		if n := atomic.LoadUint32(&ends[i]); seen[n] != walk {
			seen[n] = walk
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// hits appends the edges of a list to hits. The caller holds its lock.
func (e *edges) hits(list int, hits []Hit) []Hit {
	distances := e.distances[list*e.stride+1:]
	for i, end := range e.ends(list) {
		hits = append(hits, Hit{end, distances[i]})
	}
	return hits
}

// contains reports whether a list has an edge to a node. The caller holds its lock.
func (e *edges) contains(list int, node uint32) bool { return slices.Contains(e.ends(list), node) }

// add adds an edge to a list that is not full. The caller holds its lock.
func (e *edges) add(list int, h Hit) {
	first, n := list*e.stride, e.len(list)
	e.distances[first+1+n] = h.Distance
	atomic.StoreUint32(&e.lists[first+1+n], h.Node)
	atomic.StoreUint32(&e.lists[first], uint32(n+1))
}

// set replaces a list. The caller holds its lock.
func (e *edges) set(list int, hits []Hit) {
	first := list * e.stride
	for i, h := range hits {
		e.distances[first+1+i] = h.Distance
		atomic.StoreUint32(&e.lists[first+1+i], h.Node)
	}
	atomic.StoreUint32(&e.lists[first], uint32(len(hits)))
}
