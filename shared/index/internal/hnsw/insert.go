package hnsw

import (
	"slices"

	"tiltyard/shared/index/internal/keyheap"
)

// A visitor searches a graph that is being built, and inserts nodes. It belongs to one goroutine.
type visitor struct {
	graph   *Built
	measure Measurer
	query   uint32   // the node whose neighbours are sought
	seen    []uint32 // by node: the last walk that saw it
	walk    uint32

	candidates     keyheap.Heap
	results        keyheap.Least
	found          []Hit    // the results, sorted
	near           []uint32 // nodes that are measured next
	distances      []float32
	chosen, others []Hit
	ends           []uint32 // of the chosen edges
	list           []Hit
	self           [][]Hit // the edges of the new node, by level
}

func newVisitor(g *Built) *visitor {
	return &visitor{
		graph: g, measure: g.vectors.Measurer(), seen: make([]uint32, len(g.levels)),
		self: make([][]Hit, MaxLevel),
	}
}

// distanceTo returns a node with its distance from the query.
func (v *visitor) distanceTo(node uint32) Hit {
	v.near = append(v.near[:0], node)
	return Hit{node, v.measured()[0]}
}

// measured returns the distances of v.near from the query.
func (v *visitor) measured() []float32 { return v.between(v.query, v.near) }

func (v *visitor) between(from uint32, to []uint32) []float32 {
	v.distances = slices.Grow(v.distances[:0], len(to))[:len(to)]
	v.measure.Distances(from, to, v.distances)
	return v.distances
}

// insert adds a node to the graph on each of its levels.
func (v *visitor) insert(n uint32) {
	g := v.graph
	v.query = n
	nearest, top := v.distanceTo(g.entry), g.top(n)
	for level := g.top(g.entry); level > top; level-- {
		nearest = v.descend(nearest, level)
	}
	for level := top; level >= 0; level-- {
		found := v.look(nearest, level)
		nearest = found[0]
		v.self[level] = append(v.self[level][:0], v.choose(found, g.options.Edges)...)
		at, place := g.at(n, level)
		at.locks[place].Lock()
		at.set(place, v.self[level]) // nothing leads to the node yet, so its list was empty
		at.locks[place].Unlock()
	}
	for level, edges := range v.self[:top+1] {
		for _, e := range edges {
			at, place := g.at(e.Node, level)
			at.locks[place].Lock()
			if !at.contains(place, n) {
				if at.isFull(place) {
					v.reduce(at, place)
				}
				at.add(place, Hit{n, e.Distance})
			}
			at.locks[place].Unlock()
		}
	}
}

// reduce cuts a list to the number of edges that the graph keeps. The caller holds its lock.
func (v *visitor) reduce(at *edges, place int) {
	if at.len(place) > at.most {
		v.list = at.hits(place, v.list[:0])
		at.set(place, v.choose(v.list, at.most))
	}
}

// descend walks on a level, each time to the neighbour nearest to the query, until no neighbour is nearer.
func (v *visitor) descend(at Hit, level int) Hit {
	for {
		next := at
		edges, place := v.graph.at(at.Node, level)
		v.near = edges.nodes(place, v.near[:0])
		for i, d := range v.measured() {
			if d < next.Distance {
				next = Hit{v.near[i], d}
			}
		}
		if next.Node == at.Node {
			return at
		}
		at = next
	}
}

// look searches a level, starting at a node, and returns the nodes near the query, nearest first. They are
// valid until the next call.
func (v *visitor) look(from Hit, level int) []Hit {
	v.walk++
	v.seen[from.Node] = v.walk
	v.candidates = append(v.candidates[:0], keyOf(from))
	v.results.Reset(v.graph.options.Candidates)
	v.results.Add(keyOf(from))
	for len(v.candidates) > 0 {
		current := v.candidates.Pop()
		if v.results.IsFull() && current>>32 > v.results.Greatest()>>32 {
			break
		}
		edges, place := v.graph.at(uint32(current), level)
		v.near = edges.unseen(place, v.seen, v.walk, v.near[:0])
		for i, d := range v.measured() {
			key := keyOf(Hit{v.near[i], d})
			if v.results.IsFull() && key>>32 >= v.results.Greatest()>>32 {
				continue
			}
			v.candidates.Push(key)
			v.results.Add(key)
		}
	}
	v.found = v.found[:0]
	for _, key := range v.results.Sorted() {
		v.found = append(v.found, hitOf(key))
	}
	return v.found
}

// choose selects edges of a node; most is their maximal number. From the shortest edge on, it takes each one
// whose end is nearer to the node than to the ends of all edges taken so far. It then fills up with the
// shortest of the others. The result is valid until the next call.
func (v *visitor) choose(edges []Hit, most int) []Hit {
	if len(edges) <= most {
		return edges
	}
	slices.SortFunc(edges, byDistance)
	v.chosen, v.others, v.ends = v.chosen[:0], v.others[:0], v.ends[:0]
	for _, e := range edges {
		if len(v.chosen) == most {
			break
		}
		if v.isApart(e) {
			v.chosen, v.ends = append(v.chosen, e), append(v.ends, e.Node)
		} else {
			v.others = append(v.others, e)
		}
	}
	return append(v.chosen, v.others[:min(most-len(v.chosen), len(v.others))]...)
}

// isApart reports whether the end of an edge is nearer to the node of the edge than to the ends of all
// chosen edges.
func (v *visitor) isApart(e Hit) bool {
	const block = 8 // ends that are measured at a time
	for ends := range slices.Chunk(v.ends, block) {
		for _, d := range v.between(e.Node, ends) {
			if d <= e.Distance {
				return false
			}
		}
	}
	return true
}
