package hnsw

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/process/memory"
)

// MaxLevel is the maximal number of levels of a new graph.
//
// Source: vector/hnsw/builder.rs of crate lance-index, HnswBuildParams.
const MaxLevel = 7

// Vectors are the vectors of a new graph. They are safe for concurrent use.
type Vectors interface {
	// Len returns the number of vectors.
	Len() int
	// Measurer returns a Measurer for one goroutine.
	Measurer() Measurer
}

// A Measurer measures distances between vectors. It belongs to one goroutine.
type Measurer interface {
	// Distances writes the distances of one vector from others.
	Distances(from uint32, to []uint32, out []float32)
}

// Options holds the parameters of a new graph.
type Options struct {
	Edges      int // per inserted node and level (M); existing nodes keep up to twice as many on level 0
	Candidates int // from which a new node chooses its neighbours

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
	vectors Vectors
	entry   uint32
	levels  []uint8  // the highest level of each node
	bottom  *edges   // level 0, by node
	above   []*edges // from level 1 on, by place
	places  []places // of the nodes on the levels from 1 on
}

// places are the positions of nodes in the edges of a level above 0.
type places map[uint32]int

// Build builds the graph of vectors. It searches the neighbours of each new node and adds edges to and from
// them. Among near candidates it prefers neighbours in different directions. All cores insert nodes
// concurrently, so two graphs of the same vectors may differ.
func Build(ctx context.Context, vectors Vectors, o Options) (*Built, error) {
	n, workers := vectors.Len(), runtime.GOMAXPROCS(0)
	const nodeBytes = 16 // level, lock, length, and a share of the levels above
	held, err := memory.Take(ctx, int64(n)*int64(nodeBytes+4*workers+edgeBytes*room(2*o.Edges)))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	g := &Built{options: o, vectors: vectors}
	g.raise(n)
	if n == 0 {
		return g, nil
	}
	var next atomic.Int64
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			v := newVisitor(g)
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
	if err := g.trim(ctx); err != nil {
		return nil, err
	}
	return g, g.connect(ctx)
}

// raise assigns random levels to n nodes: each level has about one in o.Edges nodes of the level below. The
// first of the highest nodes becomes the entry point.
func (g *Built) raise(n int) {
	const seed = 42 // as in native Lance: graphs of equally many vectors have the same levels
	random := rand.New(rand.NewPCG(seed, seed))
	g.levels = make([]uint8, n)
	for i := range g.levels {
		level := min(int(-math.Log(1-random.Float64())/math.Log(float64(g.options.Edges))), MaxLevel-1)
		g.levels[i] = uint8(level)
		if g.levels[i] > g.levels[g.entry] {
			g.entry = uint32(i)
		}
		for l := range level {
			if l == len(g.places) {
				g.places = append(g.places, places{})
			}
			g.places[l][uint32(i)] = len(g.places[l])
		}
	}
	g.bottom = newEdges(n, 2*g.options.Edges)
	for _, at := range g.places {
		g.above = append(g.above, newEdges(len(at), g.options.Edges))
	}
}

// top returns the highest level of a node.
func (g *Built) top(node uint32) int { return int(g.levels[node]) }

// at returns the edges of a level and the position of a node in them. The node must be on the level.
func (g *Built) at(node uint32, level int) (*edges, int) {
	if level == 0 {
		return g.bottom, int(node)
	}
	return g.above[level-1], g.places[level-1][node]
}

// trim reduces each node to the number of edges that the graph keeps.
func (g *Built) trim(ctx context.Context) error {
	var next atomic.Int64
	var group errgroup.Group
	const each = 1 << 10
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			v := newVisitor(g)
			for from := (next.Add(1) - 1) * each; from < int64(len(g.levels)); from = (next.Add(1) - 1) * each {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				for i := from; i < min(from+each, int64(len(g.levels))); i++ {
					for level := range g.top(uint32(i)) + 1 {
						at, place := g.at(uint32(i), level)
						v.reduce(at, place)
					}
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// connect makes all nodes reachable on level 0, because a search can only follow edges. Concurrent inserts
// may have displaced all edges to a node. Such a node gets an edge from a reachable node near to it.
func (g *Built) connect(ctx context.Context) error {
	reached := make([]bool, len(g.levels))
	g.reach(g.entry, reached)
	v, last := newVisitor(g), g.entry
	for i := range g.levels {
		if err := ctx.Err(); err != nil {
			return err
		}
		if reached[i] {
			continue
		}
		v.query = uint32(i)
		from := v.distanceTo(last) // in case that no near node has space for an edge
		for _, h := range v.look(v.distanceTo(g.entry), 0) {
			if g.bottom.len(int(h.Node)) <= 2*g.options.Edges {
				from = h
				break
			}
		}
		g.bottom.add(int(from.Node), Hit{uint32(i), from.Distance})
		g.reach(uint32(i), reached)
		last = uint32(i)
	}
	return nil
}

// reach marks the nodes that are reachable from a node on level 0.
func (g *Built) reach(from uint32, reached []bool) {
	var near []uint32
	reached[from] = true
	for open := []uint32{from}; len(open) > 0; {
		current := open[len(open)-1]
		open = open[:len(open)-1]
		near = g.bottom.nodes(int(current), near[:0])
		for _, n := range near {
			if !reached[n] {
				reached[n] = true
				open = append(open, n)
			}
		}
	}
}

// Rows yields the rows of the graph for its file, level by level from level 0 on: a node and its edges. The
// edges are valid until the next row.
func (g *Built) Rows(yield func(node uint32, edges []Hit) bool) {
	var hits []Hit
	for level := range MaxLevel {
		for i := range g.levels {
			if level > g.top(uint32(i)) {
				continue
			}
			at, place := g.at(uint32(i), level)
			hits = at.hits(place, hits[:0])
			slices.SortFunc(hits, byDistance)
			if !yield(uint32(i), hits) {
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
	const prefetch = 2 // a hint for readers: fetch two vectors ahead
	h.Entry, h.Levels = g.entry, []uint32{0, uint32(len(g.levels))}
	h.Params.MaxLevel, h.Params.Edges, h.Params.Candidates, h.Params.Prefetch = MaxLevel, g.options.Edges, g.options.Candidates, prefetch
	for level := 1; level < MaxLevel; level++ {
		rows := h.Levels[level]
		if level <= len(g.places) {
			rows += uint32(len(g.places[level-1]))
		}
		h.Levels = append(h.Levels, rows)
	}
	text, err := json.Marshal(h)
	return string(text), err
}
