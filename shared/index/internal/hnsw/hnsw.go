// Package hnsw builds and searches HNSW graphs of the vectors of a partition. A node is a vector; its
// neighbours are vectors near to it. Level 0 contains all nodes, and each level above a random subset of
// the level below. A search descends from the entry point, on each level to the node nearest to the query.
// On level 0 it explores the neighbourhood of that node and returns the nearest nodes.
//
// The package reads no files: the caller passes the rows of a graph, level by level. A row is the number of
// a node and the numbers of its neighbours.
//
// Source: vector/hnsw/builder.rs and vector/graph.rs of crate lance-index.
package hnsw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"tiltyard/shared/lance"
)

// A Header is the JSON metadata of one graph:
//
//	{"entry_point": 69, "params": {"max_level": 7, …}, "level_offsets": [0, 147, 165, …]}
//
// level_offsets holds the first row of each level, and at its end the total number of rows.
type Header struct {
	Entry  uint32   `json:"entry_point"`
	Levels []uint32 `json:"level_offsets"`
}

// ParseHeader parses the metadata of a graph. An empty text is an empty graph.
func ParseHeader(text string) (*Header, error) {
	h := &Header{}
	if text == "" {
		return h, nil
	}
	if err := json.Unmarshal([]byte(text), h); err != nil {
		return nil, fmt.Errorf("%w: graph: %w", lance.ErrCorrupt, err)
	}
	if !slices.IsSorted(h.Levels) || len(h.Levels) > 0 && h.Levels[0] != 0 {
		return nil, fmt.Errorf("%w: graph with levels at %v", lance.ErrCorrupt, h.Levels)
	}
	return h, nil
}

// Rows returns the number of rows of the graph on all levels.
func (h *Header) Rows() int64 {
	if len(h.Levels) == 0 {
		return 0
	}
	return int64(h.Levels[len(h.Levels)-1])
}

// A Graph connects the nodes of a partition. It is immutable.
type Graph struct {
	entry  uint32
	bottom level
	above  []upper // from level 1 on
}

// A level holds the neighbours of its rows: row i has neighbors[ends[i-1]:ends[i]].
type level struct {
	ends      []int32
	neighbors []uint32
}

func (l level) of(row int) []uint32 {
	from := int32(0)
	if row > 0 {
		from = l.ends[row-1]
	}
	return l.neighbors[from:l.ends[row]]
}

// An upper level has some of the nodes, in arbitrary order.
type upper struct {
	level
	rows map[uint32]int // by node
}

func (u upper) of(node uint32) []uint32 {
	if row, ok := u.rows[node]; ok {
		return u.level.of(row)
	}
	return nil
}

// New makes a graph of vectors. ids[i] is the node of row i, whose neighbours are
// neighbors[ends[i-1]:ends[i]]. A node number of vectors or above is [lance.ErrCorrupt].
func New(h *Header, vectors int, ids []uint32, ends []int32, neighbors []uint32) (*Graph, error) {
	if int64(len(ids)) != h.Rows() || len(ends) != len(ids) {
		return nil, fmt.Errorf("%w: %d rows of a graph of %d", lance.ErrCorrupt, len(ids), h.Rows())
	}
	g := &Graph{entry: h.Entry}
	if len(ids) == 0 {
		return g, nil
	}
	nodes := min(int64(h.Levels[1]), int64(vectors)) // all are on the lowest level
	for _, node := range slices.Concat(ids, neighbors, []uint32{h.Entry}) {
		if int64(node) >= nodes {
			return nil, fmt.Errorf("%w: node %d in a graph of %d nodes", lance.ErrCorrupt, node, nodes)
		}
	}
	if !slices.IsSorted(ends) || ends[0] < 0 || int(ends[len(ends)-1]) > len(neighbors) {
		return nil, fmt.Errorf("%w: lists of neighbours that overlap, or have more than %d together", lance.ErrCorrupt, len(neighbors))
	}
	whole := level{ends, neighbors}
	for i := range len(h.Levels) - 1 {
		from, to := int(h.Levels[i]), int(h.Levels[i+1])
		if i == 0 {
			for row := range to {
				if ids[row] != uint32(row) {
					return nil, fmt.Errorf("%w: node %d is in row %d", lance.ErrCorrupt, ids[row], row)
				}
			}
			g.bottom = level{ends[:to], neighbors}
			continue
		}
		u := upper{level: whole, rows: make(map[uint32]int, to-from)}
		for row := from; row < to; row++ {
			u.rows[ids[row]] = row
		}
		g.above = append(g.above, u)
	}
	return g, nil
}

// Bytes returns the approximate memory of the graph.
func (g *Graph) Bytes() int64 {
	n := int64(4 * (len(g.bottom.neighbors) + len(g.bottom.ends)))
	for _, u := range g.above {
		n += 32 * int64(len(u.rows))
	}
	return n
}

// A Hit is a node with its distance.
type Hit struct {
	Node     uint32
	Distance float32
}

// Search returns up to ef near nodes that accept admits, nearest first. It also traverses nodes that are
// not admitted. distance measures a node.
func (g *Graph) Search(ef int, distance func(node uint32) float32, accept func(Hit) bool) []Hit {
	if len(g.bottom.ends) == 0 || ef < 1 {
		return nil
	}
	nearest := Hit{g.entry, distance(g.entry)}
	for i := len(g.above) - 1; i >= 0; i-- {
		nearest = descend(g.above[i], nearest, distance)
	}
	return g.look(nearest, ef, distance, accept)
}

// descend walks to the node of a level that has no nearer neighbour.
func descend(u upper, at Hit, distance func(uint32) float32) Hit {
	for {
		next := at
		for _, n := range u.of(at.Node) {
			if d := distance(n); d < next.Distance {
				next = Hit{n, d}
			}
		}
		if next.Node == at.Node {
			return at
		}
		at = next
	}
}

// look explores the neighbourhood of a node on level 0 until all unvisited candidates are farther than the
// farthest result.
func (g *Graph) look(from Hit, ef int, distance func(uint32) float32, accept func(Hit) bool) []Hit {
	visited := make([]uint64, (len(g.bottom.ends)+63)/64)
	visited[from.Node/64] |= 1 << (from.Node % 64)
	candidates := &queue{nearer: true, hits: []Hit{from}}
	results := &queue{}
	if accept(from) {
		results.push(from)
	}
	for len(candidates.hits) > 0 {
		current := candidates.pop()
		if len(results.hits) >= ef && current.Distance > results.hits[0].Distance {
			break
		}
		for _, n := range g.bottom.of(int(current.Node)) {
			if int(n) >= len(g.bottom.ends) || visited[n/64]&(1<<(n%64)) != 0 {
				continue
			}
			visited[n/64] |= 1 << (n % 64)
			h := Hit{n, distance(n)}
			if len(results.hits) >= ef && !(h.Distance <= results.hits[0].Distance) {
				continue
			}
			if accept(h) {
				results.push(h)
				if len(results.hits) > ef {
					results.pop()
				}
			}
			candidates.push(h)
		}
	}
	slices.SortFunc(results.hits, byDistance)
	return results.hits
}

// byDistance orders hits, the nearest first.
func byDistance(a, b Hit) int {
	switch {
	case a.Distance < b.Distance:
		return -1
	case a.Distance > b.Distance:
		return 1
	}
	return cmp.Compare(a.Node, b.Node)
}

// A queue is a heap of hits: the nearest on top, or else the farthest.
type queue struct {
	nearer bool
	hits   []Hit
}

func (q *queue) less(i, j int) bool {
	if q.nearer {
		return q.hits[i].Distance < q.hits[j].Distance
	}
	return q.hits[i].Distance > q.hits[j].Distance
}

func (q *queue) push(h Hit) {
	q.hits = append(q.hits, h)
	for i := len(q.hits) - 1; i > 0 && q.less(i, (i-1)/2); i = (i - 1) / 2 {
		q.hits[i], q.hits[(i-1)/2] = q.hits[(i-1)/2], q.hits[i]
	}
}

// pop removes the top.
func (q *queue) pop() Hit {
	top, last := q.hits[0], len(q.hits)-1
	q.hits[0] = q.hits[last]
	q.hits = q.hits[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return top
		}
		q.hits[i], q.hits[child] = q.hits[child], q.hits[i]
		i = child
	}
}
