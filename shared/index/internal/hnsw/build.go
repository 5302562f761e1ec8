package hnsw

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// MaxLevel is the maximal number of levels of a new graph.
//
// Source: vector/hnsw/builder.rs of crate lance-index, HnswBuildParams.
const MaxLevel = 7

// Options holds the parameters of a new graph.
type Options struct {
	Metric     vector.Metric // L2 or Dot
	Edges      int           // per inserted node and level (M); existing nodes keep up to twice as many on level 0
	Candidates int           // that a new node chooses from

	// Watch is called from several goroutines with the number of newly inserted nodes. It may be nil.
	Watch func(nodes int64)
}

// watchEvery is the number of nodes per call of Watch.
const watchEvery = 256

func (o Options) watch(nodes int64) {
	if o.Watch != nil {
		o.Watch(nodes)
	}
}

// A Built is a graph that has been built.
type Built struct {
	options Options
	dim     int
	vectors []float32
	entry   uint32
	nodes   []node
}

// A node has the edges of a vector, by level.
type node struct {
	mu    sync.Mutex
	edges [][]Hit
}

// Build builds the graph of vectors of dim elements, which are stored contiguously. It searches the
// neighbours of each new node and adds edges in both directions. Among near candidates it prefers
// neighbours in different directions. All cores insert nodes concurrently, so two graphs of the same
// vectors may differ.
func Build(ctx context.Context, vectors []float32, dim int, o Options) (*Built, error) {
	n, workers := len(vectors)/dim, runtime.GOMAXPROCS(0)
	const nodeBytes = 128 // without edges
	held, err := memory.Take(ctx, int64(n)*int64(nodeBytes+4*workers+8*2*(2*o.Edges+2)))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	g := &Built{options: o, dim: dim, vectors: vectors, nodes: make([]node, n)}
	if n == 0 {
		return g, nil
	}
	g.raise()
	var next atomic.Int64
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			v := &visitor{graph: g, seen: make([]uint32, n)}
			joined := int64(0)
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if uint32(i) != g.entry {
					v.insert(uint32(i))
				}
				if joined++; joined%watchEvery == 0 {
					o.watch(watchEvery)
				}
			}
			o.watch(joined % watchEvery)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return g, g.connect(ctx)
}

// raise assigns random levels to the nodes: each level has about one in o.Edges nodes of the level below.
// The first of the highest nodes becomes the entry point.
func (g *Built) raise() {
	const seed = 42 // as in native Lance: the same number of vectors has the same levels
	random := rand.New(rand.NewPCG(seed, seed))
	for i := range g.nodes {
		level := min(int(-math.Log(1-random.Float64())/math.Log(float64(g.options.Edges))), MaxLevel-1)
		g.nodes[i].edges = make([][]Hit, level+1)
		if level >= len(g.nodes[g.entry].edges) {
			g.entry = uint32(i)
		}
	}
}

func (g *Built) vector(n uint32) []float32 { return g.vectors[int(n)*g.dim : (int(n)+1)*g.dim] }

// A visitor searches a graph. It belongs to one goroutine.
type visitor struct {
	graph *Built
	seen  []uint32 // the walk that saw a node last
	walk  uint32
	near  []uint32 // the neighbours at hand
	query *vector.Query[float32]
	one   [1]float32
}

// ask makes the vector of node n the query.
func (v *visitor) ask(n uint32) {
	v.query, _ = vector.NewQuery(v.graph.options.Metric, v.graph.vector(n)) // vectors are not empty
}

func (v *visitor) distance(n uint32) float32 {
	v.query.Distances(v.graph.vector(n), v.one[:])
	return v.one[0]
}

// neighbors returns the neighbours of a node, until the next call.
func (v *visitor) neighbors(n uint32, level int) []uint32 {
	at := &v.graph.nodes[n]
	at.mu.Lock()
	defer at.mu.Unlock()
	v.near = v.near[:0]
	if level < len(at.edges) {
		for _, e := range at.edges[level] {
			v.near = append(v.near, e.Node)
		}
	}
	return v.near
}

// insert adds a node to the graph on each of its levels.
func (v *visitor) insert(n uint32) {
	g := v.graph
	v.ask(n)
	self, nearest := &g.nodes[n], Hit{g.entry, v.distance(g.entry)}
	top := len(self.edges) - 1
	for level := len(g.nodes[g.entry].edges) - 1; level > top; level-- {
		nearest = v.descend(nearest, level)
	}
	chosen := make([][]Hit, top+1)
	for level := top; level >= 0; level-- {
		found := v.look(nearest, level)
		nearest = found[0]
		self.mu.Lock()
		for _, e := range self.edges[level] {
			found = with(found, e)
		}
		chosen[level] = v.choose(found, g.options.Edges)
		self.edges[level] = slices.Clone(chosen[level])
		self.mu.Unlock()
	}
	for level, edges := range chosen {
		most := g.options.Edges
		if level == 0 {
			most *= 2
		}
		for _, e := range edges {
			other := &g.nodes[e.Node]
			other.mu.Lock()
			other.edges[level] = v.choose(with(other.edges[level], Hit{n, e.Distance}), most)
			other.mu.Unlock()
		}
	}
}

// with adds an edge unless it exists: two nodes that are inserted concurrently may find each other.
func with(edges []Hit, e Hit) []Hit {
	if slices.ContainsFunc(edges, func(other Hit) bool { return other.Node == e.Node }) {
		return edges
	}
	return append(edges, e)
}

// descend walks to a node of a level that has no nearer neighbour.
func (v *visitor) descend(at Hit, level int) Hit {
	for {
		next := at
		for _, n := range v.neighbors(at.Node, level) {
			if d := v.distance(n); d < next.Distance {
				next = Hit{n, d}
			}
		}
		if next.Node == at.Node {
			return at
		}
		at = next
	}
}

// look returns nodes of a level near the query, nearest first, starting at from.
func (v *visitor) look(from Hit, level int) []Hit {
	v.walk++
	v.seen[from.Node] = v.walk
	most := v.graph.options.Candidates
	candidates, results := &queue{nearer: true, hits: []Hit{from}}, &queue{hits: []Hit{from}}
	for len(candidates.hits) > 0 {
		current := candidates.pop()
		if len(results.hits) >= most && current.Distance > results.hits[0].Distance {
			break
		}
		for _, n := range v.neighbors(current.Node, level) {
			if v.seen[n] == v.walk {
				continue
			}
			v.seen[n] = v.walk
			h := Hit{n, v.distance(n)}
			if len(results.hits) >= most && !(h.Distance < results.hits[0].Distance) {
				continue
			}
			candidates.push(h)
			if results.push(h); len(results.hits) > most {
				results.pop()
			}
		}
	}
	slices.SortFunc(results.hits, byDistance)
	return results.hits
}

// choose selects up to most edges of a node. It first takes each edge that is shorter than the distances
// between its end and the ends of all edges already chosen, nearest first; then it fills up with the
// nearest others.
func (v *visitor) choose(edges []Hit, most int) []Hit {
	if len(edges) <= most {
		return edges
	}
	slices.SortFunc(edges, byDistance)
	chosen, others := make([]Hit, 0, most), make([]Hit, 0, len(edges))
	for _, e := range edges {
		if len(chosen) == most {
			return chosen
		}
		if v.isApart(e, chosen) {
			chosen = append(chosen, e)
		} else {
			others = append(others, e)
		}
	}
	return append(chosen, others[:most-len(chosen)]...)
}

// isApart reports whether the end of an edge is nearer to the edge's own node than to the ends of the
// others.
func (v *visitor) isApart(e Hit, others []Hit) bool {
	if len(others) == 0 {
		return true
	}
	query, _ := vector.NewQuery(v.graph.options.Metric, v.graph.vector(e.Node)) // vectors are not empty
	var one [1]float32
	for _, o := range others {
		query.Distances(v.graph.vector(o.Node), one[:])
		if one[0] <= e.Distance {
			return false
		}
	}
	return true
}

// connect adds an edge to each node that is unreachable on level 0, from a reachable node near to it,
// because searches follow edges only. Concurrent inserts may have displaced all edges to a node.
func (g *Built) connect(ctx context.Context) error {
	reached := make([]bool, len(g.nodes))
	g.reach(g.entry, reached)
	v, last := &visitor{graph: g, seen: make([]uint32, len(g.nodes))}, g.entry
	for i := range g.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if reached[i] {
			continue
		}
		v.ask(uint32(i))
		from := Hit{last, v.distance(last)} // which has space for an edge
		for _, h := range v.look(Hit{g.entry, v.distance(g.entry)}, 0) {
			if len(g.nodes[h.Node].edges[0]) <= 2*g.options.Edges {
				from = h
				break
			}
		}
		at := &g.nodes[from.Node]
		at.edges[0] = append(at.edges[0], Hit{uint32(i), from.Distance})
		g.reach(uint32(i), reached)
		last = uint32(i)
	}
	return nil
}

// reach marks the nodes that are reachable from a node on level 0.
func (g *Built) reach(from uint32, reached []bool) {
	reached[from] = true
	for open := []uint32{from}; len(open) > 0; {
		current := open[len(open)-1]
		open = open[:len(open)-1]
		for _, e := range g.nodes[current].edges[0] {
			if !reached[e.Node] {
				reached[e.Node] = true
				open = append(open, e.Node)
			}
		}
	}
}

// Rows yields the rows of the graph for its file, level by level from level 0 on: a node and its edges.
func (g *Built) Rows(yield func(node uint32, edges []Hit) bool) {
	for level := range MaxLevel {
		for i := range g.nodes {
			if level < len(g.nodes[i].edges) && !yield(uint32(i), g.nodes[i].edges[level]) {
				return
			}
		}
	}
}

// Header returns the metadata of the graph as JSON, the inverse of [ParseHeader].
func (g *Built) Header() (string, error) {
	var h struct {
		Header
		Params struct {
			MaxLevel   int `json:"max_level"`
			Edges      int `json:"m"`
			Candidates int `json:"ef_construction"`
			Prefetch   int `json:"prefetch_distance"`
		} `json:"params"`
	}
	const prefetch = 2 // vectors ahead, which is up to readers
	h.Entry, h.Levels = g.entry, []uint32{0}
	h.Params.MaxLevel, h.Params.Edges, h.Params.Candidates, h.Params.Prefetch = MaxLevel, g.options.Edges, g.options.Candidates, prefetch
	for level := range MaxLevel {
		rows := h.Levels[level]
		for i := range g.nodes {
			if level < len(g.nodes[i].edges) {
				rows++
			}
		}
		h.Levels = append(h.Levels, rows)
	}
	text, err := json.Marshal(h)
	return string(text), err
}
