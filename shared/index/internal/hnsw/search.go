package hnsw

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tiltyard/shared/index/internal/keyheap"
)

// A Space has the vectors and level 0 of a graph. It belongs to one goroutine.
type Space interface {
	// Distances writes the distances of nodes from the query.
	Distances(ctx context.Context, nodes []uint32, out []float32) error
	// Neighbors returns the neighbours on level 0 of a node that Distances has measured.
	Neighbors(node uint32) []uint32
}

// A Hit is a node with its distance.
type Hit struct {
	Node     uint32
	Distance float32
}

// Search returns up to ef near nodes that accept admits, nearest first, and the number of nodes that it has
// measured. It also traverses nodes that are not admitted. most bounds the number of measured nodes: rather
// than exceed it, Search gives up with [ErrTooFar].
func (g *Graph) Search(ctx context.Context, space Space, ef, most int, accept func(Hit) bool) (hits []Hit, measured int, err error) {
	if g.nodes == 0 || ef < 1 {
		return nil, 0, nil
	}
	w := walks.Get().(*walk)
	defer w.end()
	w.begin(space, most)
	nearest, err := w.from(ctx, g.entry)
	for i := len(g.above) - 1; i >= 0 && err == nil; i-- {
		nearest, err = w.descend(ctx, g.above[i], nearest)
	}
	if err == nil {
		hits, err = w.explore(ctx, nearest, ef, accept)
	}
	return hits, w.measured, err
}

// ErrTooFar reports that a search has measured the permitted number of nodes.
var ErrTooFar = errors.New("the search has measured too many nodes")

// A walk is the state of a search. Its memory is used again by the next search.
type walk struct {
	space          Space
	measured, most int

	visited    visits
	candidates keyheap.Heap
	results    keyheap.Least
	nodes      []uint32 // that are measured next
	distances  []float32
}

var walks = sync.Pool{New: func() any { return &walk{} }}

func (w *walk) begin(space Space, most int) {
	w.space, w.measured, w.most = space, 0, most
	w.visited.clear()
	w.candidates = w.candidates[:0]
}

func (w *walk) end() {
	w.space = nil
	walks.Put(w)
}

// from measures the node at which a search begins.
func (w *walk) from(ctx context.Context, node uint32) (Hit, error) {
	w.nodes = append(w.nodes[:0], node)
	if err := w.measure(ctx); err != nil {
		return Hit{}, err
	}
	return Hit{node, w.distances[0]}, nil
}

// measure writes the distances of w.nodes to w.distances.
func (w *walk) measure(ctx context.Context) error {
	w.measured += len(w.nodes)
	if w.measured > w.most {
		return ErrTooFar
	}
	w.distances = slices.Grow(w.distances[:0], len(w.nodes))[:len(w.nodes)]
	return w.space.Distances(ctx, w.nodes, w.distances)
}

// descend walks on a level, each time to the neighbour nearest to the query, until no neighbour is nearer.
func (w *walk) descend(ctx context.Context, u upper, at Hit) (Hit, error) {
	for {
		next := at
		w.nodes = append(w.nodes[:0], u.of(at.Node)...)
		if err := w.measure(ctx); err != nil {
			return at, err
		}
		for i, d := range w.distances {
			if d < next.Distance {
				next = Hit{w.nodes[i], d}
			}
		}
		if next.Node == at.Node {
			return at, nil
		}
		at = next
	}
}

// explore visits the neighbourhood of a node on level 0 until all unvisited candidates are farther than the
// farthest result.
func (w *walk) explore(ctx context.Context, from Hit, ef int, accept func(Hit) bool) ([]Hit, error) {
	w.results.Reset(ef)
	w.visited.add(from.Node)
	w.candidates.Push(keyOf(from))
	if accept(from) {
		w.results.Add(keyOf(from))
	}
	for len(w.candidates) > 0 {
		current := w.candidates.Pop()
		if w.results.IsFull() && current>>32 > w.results.Greatest()>>32 {
			break
		}
		w.nodes = w.nodes[:0]
		for _, n := range w.space.Neighbors(uint32(current)) {
			if w.visited.add(n) {
				w.nodes = append(w.nodes, n)
			}
		}
		if err := w.measure(ctx); err != nil {
			return nil, err
		}
		for i, d := range w.distances {
			if w.results.IsFull() && uint64(rankOf(d)) > w.results.Greatest()>>32 {
				continue
			}
			h := Hit{w.nodes[i], d}
			if accept(h) {
				w.results.Add(keyOf(h))
			}
			w.candidates.Push(keyOf(h))
		}
	}
	hits := make([]Hit, 0, w.results.Len())
	for _, key := range w.results.Sorted() {
		hits = append(hits, hitOf(key))
	}
	return hits, nil
}

// visits is a set of nodes: a hash table with linear probing, at most half full. Its memory grows with the
// nodes that a search visits, and does not depend on the size of the graph.
type visits struct {
	slots []uint32 // a node plus 1, or 0
	n     int
}

const (
	leastVisits = 1 << 11 // slots of an empty set
	mostKept    = 1 << 14 // slots that a set keeps for the next search
)

func (v *visits) clear() {
	if len(v.slots) == 0 || len(v.slots) > mostKept {
		v.slots = make([]uint32, leastVisits)
	} else {
		clear(v.slots)
	}
	v.n = 0
}

// add adds a node, and reports whether it was new.
func (v *visits) add(node uint32) bool {
	const factor = 0x9e3779b1 // 2^32 divided by the golden ratio spreads neighbouring numbers
	mask := uint32(len(v.slots) - 1)
	for i := node * factor >> 7 & mask; ; i = (i + 1) & mask {
		switch v.slots[i] {
		case node + 1:
			return false
		case 0:
			v.slots[i] = node + 1
			if v.n++; 2*v.n > len(v.slots) {
				v.grow()
			}
			return true
		}
	}
}

func (v *visits) grow() {
	old := v.slots
	v.slots, v.n = make([]uint32, 4*len(old)), 0
	for _, slot := range old {
		if slot != 0 {
			v.add(slot - 1)
		}
	}
}
