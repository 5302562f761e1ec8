package hnsw

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// opened is the graph as its readers see it.
func opened(t testing.TB, b *Built, vectors int) (*Graph, *Links) {
	t.Helper()
	text, err := b.Header()
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHeader(text)
	if err != nil || len(h.Levels) != MaxLevel+1 {
		t.Fatalf("header %s: %v", text, err)
	}
	var ids, neighbors []uint32
	var ends []int32
	for node, edges := range b.Rows {
		ids = append(ids, node)
		seen := map[uint32]bool{node: true}
		for _, e := range edges {
			if seen[e.Node] {
				t.Errorf("node %d has an edge to itself, or two to %d", node, e.Node)
			}
			seen[e.Node] = true
			neighbors = append(neighbors, e.Node)
		}
		ends = append(ends, int32(len(neighbors)))
	}
	g, links, err := parts(h, vectors, ids, ends, neighbors)
	if err != nil {
		t.Fatal(err)
	}
	return g, links
}

// parts divides the rows of a graph into the levels above 0 and level 0.
func parts(h *Header, vectors int, ids []uint32, ends []int32, neighbors []uint32) (*Graph, *Links, error) {
	if int64(len(ids)) != h.Rows() || len(ends) != len(ids) {
		return nil, nil, lance.ErrCorrupt
	}
	n, from := int(h.Nodes()), int32(0)
	if n > 0 {
		from = ends[n-1]
	}
	var above []int32
	for _, end := range ends[n:] {
		above = append(above, end-from)
	}
	if from < 0 || int(from) > len(neighbors) {
		return nil, nil, lance.ErrCorrupt
	}
	g, err := New(h, vectors, ids[n:], above, neighbors[from:])
	if err != nil {
		return nil, nil, err
	}
	links, err := g.Level0(0, ids[:n], ends[:n], neighbors[:from])
	return g, links, err
}

// A space measures nodes by a function.
type space struct {
	*Links
	distance func(node uint32) float32
}

func (s space) Neighbors(node uint32) []uint32 { return s.Of(int(node)) }

func (s space) Distances(_ context.Context, nodes []uint32, out []float32) error {
	for i, n := range nodes {
		out[i] = s.distance(n)
	}
	return nil
}

// searched are the hits of a search without a limit.
func searched(t testing.TB, g *Graph, links *Links, ef int, distance func(node uint32) float32, accept func(Hit) bool) []Hit {
	t.Helper()
	hits, measured, err := g.Search(t.Context(), space{links, distance}, ef, math.MaxInt, accept)
	if err != nil || measured < len(hits) {
		t.Fatalf("%d hits of %d nodes, %v", len(hits), measured, err)
	}
	return hits
}

// all admits each node.
func all(Hit) bool { return true }

// A table is the vectors of a graph, row by row.
type table struct {
	values []float32
	dim    int
	metric vector.Metric
}

func (v table) Len() int           { return len(v.values) / v.dim }
func (v table) Measurer() Measurer { return v }

func (v table) Distances(from uint32, to []uint32, out []float32) {
	query, err := vector.NewQuery(v.metric, v.values[int(from)*v.dim:][:v.dim])
	if err != nil {
		panic(err)
	}
	for i, n := range to {
		query.Distances(v.values[int(n)*v.dim:][:v.dim], out[i:i+1])
	}
}

func randomVectors(seed uint64, n, dim int) []float32 {
	random, vectors := rand.New(rand.NewPCG(seed, 1)), make([]float32, n*dim)
	for i := range vectors {
		vectors[i] = float32(random.NormFloat64())
	}
	return vectors
}

func TestBuildMakesAGraphThatFindsTheNearestNodes(t *testing.T) {
	const dim, k = 12, 10
	for _, metric := range []vector.Metric{vector.L2, vector.Dot} {
		for _, n := range []int{1, 2, 30, 3000} {
			vectors := randomVectors(uint64(n), n, dim)
			b, err := Build(t.Context(), table{vectors, dim, metric}, Options{Edges: 8, Candidates: 80})
			if err != nil {
				t.Fatal(err)
			}
			g, links := opened(t, b, n)
			found, queries := 0, 50
			for q := range queries {
				query, err := vector.NewQuery(metric, randomVectors(uint64(1000+q), 1, dim))
				if err != nil {
					t.Fatal(err)
				}
				distances := make([]float32, n)
				query.Distances(vectors, distances)
				hits := searched(t, g, links, 80, func(node uint32) float32 { return distances[node] }, all)
				slices.Sort(distances)
				for _, h := range hits[:min(k, len(hits))] {
					if h.Distance <= distances[min(k, n)-1] {
						found++
					}
				}
			}
			if want := queries * min(k, n); found < want*95/100 {
				t.Errorf("%s: %d of the %d nodes nearest are found among %d", metric, found, want, n)
			}
		}
	}
}

// Each node can be reached, even if all vectors are equal.
func TestBuildReachesEachNode(t *testing.T) {
	const dim = 3
	for name, vectors := range map[string][]float32{"random": randomVectors(5, 2000, dim), "equal": make([]float32, 500*dim)} {
		b, err := Build(t.Context(), table{vectors, dim, vector.L2}, Options{Edges: 4, Candidates: 10})
		if err != nil {
			t.Fatal(err)
		}
		n := len(vectors) / dim
		g, links := opened(t, b, n)
		hits := searched(t, g, links, n, func(uint32) float32 { return 0 }, all)
		if len(hits) != n {
			t.Errorf("%s: %d of %d nodes are reached", name, len(hits), n)
		}
	}
}

func TestBuildEndsWithItsContextAndItsMemory(t *testing.T) {
	vectors := randomVectors(5, 500, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, table{vectors, 4, vector.L2}, Options{Edges: 8, Candidates: 50}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
	share := memory.NewBudget(1<<10, 1<<10).Open()
	defer share.Close()
	var refused *memory.Error
	if _, err := Build(memory.WithShare(t.Context(), share), table{vectors, 4, vector.L2}, Options{Edges: 8, Candidates: 50}); !errors.As(err, &refused) {
		t.Errorf("got %v, want that there is no memory", err)
	}
}

func TestBuildReportsItsNodes(t *testing.T) {
	for _, n := range []int{0, 1, watchEvery, 3*watchEvery + 1} {
		var joined atomic.Int64
		if _, err := Build(t.Context(), table{randomVectors(1, n, 4), 4, vector.L2}, Options{Edges: 4, Candidates: 10, Watch: func(n int64) { joined.Add(n) }}); err != nil {
			t.Fatal(err)
		}
		if joined.Load() != int64(n) {
			t.Errorf("%d of %d nodes were reported", joined.Load(), n)
		}
	}
}
