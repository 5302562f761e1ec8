package hnsw

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// opened is the graph as its readers see it.
func opened(t *testing.T, b *Built, vectors int) *Graph {
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
	g, err := New(h, vectors, ids, ends, neighbors)
	if err != nil {
		t.Fatal(err)
	}
	return g
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
			b, err := Build(t.Context(), vectors, dim, Options{Metric: metric, Edges: 8, Candidates: 80})
			if err != nil {
				t.Fatal(err)
			}
			g, found, queries := opened(t, b, n), 0, 50
			for q := range queries {
				query, err := vector.NewQuery(metric, randomVectors(uint64(1000+q), 1, dim))
				if err != nil {
					t.Fatal(err)
				}
				all := make([]float32, n)
				query.Distances(vectors, all)
				hits := g.Search(80, func(node uint32) float32 { return all[node] }, func(Hit) bool { return true })
				slices.Sort(all)
				for _, h := range hits[:min(k, len(hits))] {
					if h.Distance <= all[min(k, n)-1] {
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

// Each node can be reached, also if all are the same.
func TestBuildReachesEachNode(t *testing.T) {
	const dim = 3
	for name, vectors := range map[string][]float32{"random": randomVectors(5, 2000, dim), "equal": make([]float32, 500*dim)} {
		b, err := Build(t.Context(), vectors, dim, Options{Metric: vector.L2, Edges: 4, Candidates: 10})
		if err != nil {
			t.Fatal(err)
		}
		n := len(vectors) / dim
		hits := opened(t, b, n).Search(n, func(uint32) float32 { return 0 }, func(Hit) bool { return true })
		if len(hits) != n {
			t.Errorf("%s: %d of %d nodes are reached", name, len(hits), n)
		}
	}
}

func TestBuildEndsWithItsContextAndItsMemory(t *testing.T) {
	vectors := randomVectors(5, 500, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, vectors, 4, Options{Metric: vector.L2, Edges: 8, Candidates: 50}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
	share := memory.NewBudget(1<<10, 1<<10).Open()
	defer share.Close()
	var refused *memory.Error
	if _, err := Build(memory.WithShare(t.Context(), share), vectors, 4, Options{Metric: vector.L2, Edges: 8, Candidates: 50}); !errors.As(err, &refused) {
		t.Errorf("got %v, want that there is no memory", err)
	}
}

func TestBuildReportsItsNodes(t *testing.T) {
	for _, n := range []int{0, 1, watchEvery, 3*watchEvery + 1} {
		var joined atomic.Int64
		if _, err := Build(t.Context(), randomVectors(1, n, 4), 4, Options{Metric: vector.L2, Edges: 4, Candidates: 10, Watch: func(n int64) { joined.Add(n) }}); err != nil {
			t.Fatal(err)
		}
		if joined.Load() != int64(n) {
			t.Errorf("%d of %d nodes were reported", joined.Load(), n)
		}
	}
}
