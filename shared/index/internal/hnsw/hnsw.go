// Package hnsw builds and searches HNSW graphs of the vectors of a partition. A node is a vector; its
// neighbours are vectors near to it. Level 0 contains all nodes, and each level above a random subset of
// the level below. A search descends from the entry point, on each level to the node nearest to the query.
// On level 0 it explores the neighbourhood of that node and returns the nearest nodes.
//
// The package reads no files. The caller passes the rows of the levels above 0, each the number of a node
// and the numbers of its neighbours. They are a small part of the graph. Level 0 and the vectors belong to a
// [Space] of the caller, which may read them in pages as a search visits them.
//
// Source: vector/hnsw/builder.rs and vector/graph.rs of crate lance-index.
package hnsw

import (
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

// Nodes returns the number of rows on level 0, which contains all nodes.
func (h *Header) Nodes() int64 {
	if len(h.Levels) < 2 {
		return 0
	}
	return int64(h.Levels[1])
}

// A Graph is the entry point and the levels above 0 of a graph. It is immutable.
type Graph struct {
	entry uint32
	nodes uint32  // on level 0
	above []upper // from level 1 on
}

// Links are the neighbours of some nodes: the node in row i has neighbors[ends[i-1]:ends[i]]. They are
// immutable.
type Links struct {
	ends      []int32
	neighbors []uint32
}

// Of returns the neighbours of the node in a row.
func (l *Links) Of(row int) []uint32 {
	from := int32(0)
	if row > 0 {
		from = l.ends[row-1]
	}
	return l.neighbors[from:l.ends[row]]
}

// Bytes returns the memory of the links.
func (l *Links) Bytes() int64 { return 4 * int64(len(l.ends)+len(l.neighbors)) }

// An upper level has some of the nodes, in arbitrary order.
type upper struct {
	*Links
	rows map[uint32]int // by node
}

func (u upper) of(node uint32) []uint32 {
	if row, ok := u.rows[node]; ok {
		return u.Links.Of(row)
	}
	return nil
}

// New makes the graph of vectors from the rows of the levels above 0. ids[i] is the node of row i, whose
// neighbours are neighbors[ends[i-1]:ends[i]]. The error is [lance.ErrCorrupt] if a node is not on level 0
// or has no vector.
func New(h *Header, vectors int, ids []uint32, ends []int32, neighbors []uint32) (*Graph, error) {
	if h.Nodes() > int64(vectors) {
		return nil, fmt.Errorf("%w: %d nodes of %d vectors", lance.ErrCorrupt, h.Nodes(), vectors)
	}
	g := &Graph{entry: h.Entry, nodes: uint32(h.Nodes())}
	if int64(len(ids)) != h.Rows()-h.Nodes() || len(ends) != len(ids) {
		return nil, fmt.Errorf("%w: %d rows above level 0 of a graph that has %d", lance.ErrCorrupt, len(ids), h.Rows()-h.Nodes())
	}
	if h.Nodes() == 0 {
		return g, nil
	}
	for _, node := range slices.Concat(ids, []uint32{h.Entry}) {
		if node >= g.nodes {
			return nil, fmt.Errorf("%w: node %d in a graph of %d nodes", lance.ErrCorrupt, node, g.nodes)
		}
	}
	links, err := g.links(ends, neighbors)
	if err != nil {
		return nil, err
	}
	for i := 1; i+1 < len(h.Levels); i++ {
		from, to := int(h.Levels[i]-h.Levels[1]), int(h.Levels[i+1]-h.Levels[1])
		u := upper{Links: links, rows: make(map[uint32]int, to-from)}
		for row := from; row < to; row++ {
			u.rows[ids[row]] = row
		}
		g.above = append(g.above, u)
	}
	return g, nil
}

// Level0 returns the links of consecutive rows of level 0, starting with row first. On this level, row i
// must have node i. The error is [lance.ErrCorrupt] if a link leads to a node that does not exist.
func (g *Graph) Level0(first int, ids []uint32, ends []int32, neighbors []uint32) (*Links, error) {
	for i, id := range ids {
		if int64(id) != int64(first+i) || id >= g.nodes {
			return nil, fmt.Errorf("%w: node %d is in row %d of %d", lance.ErrCorrupt, id, first+i, g.nodes)
		}
	}
	if len(ends) != len(ids) {
		return nil, fmt.Errorf("%w: %d lists of neighbours of %d nodes", lance.ErrCorrupt, len(ends), len(ids))
	}
	return g.links(ends, neighbors)
}

// links checks that the lists of neighbours do not overlap, and that the neighbours exist.
func (g *Graph) links(ends []int32, neighbors []uint32) (*Links, error) {
	if !slices.IsSorted(ends) || len(ends) > 0 && (ends[0] < 0 || int(ends[len(ends)-1]) > len(neighbors)) {
		return nil, fmt.Errorf("%w: lists of neighbours that overlap, or have more than %d together", lance.ErrCorrupt, len(neighbors))
	}
	for _, node := range neighbors {
		if node >= g.nodes {
			return nil, fmt.Errorf("%w: neighbour %d in a graph of %d nodes", lance.ErrCorrupt, node, g.nodes)
		}
	}
	return &Links{ends, neighbors}, nil
}

// Nodes returns the number of nodes.
func (g *Graph) Nodes() int { return int(g.nodes) }

// Bytes returns the approximate memory of the graph.
func (g *Graph) Bytes() int64 {
	const perNode = 32 // bytes of a map entry
	n := int64(0)
	for i, u := range g.above {
		if i == 0 {
			n = u.Bytes()
		}
		n += perNode * int64(len(u.rows))
	}
	return n
}
