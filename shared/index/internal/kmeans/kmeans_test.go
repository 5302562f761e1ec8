package kmeans

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// heaps returns n vectors around some centres, in random order, and the centres.
func heaps(random *rand.Rand, n, centres, dim int) (rows, middles []float32) {
	for range centres * dim {
		middles = append(middles, float32(10*random.NormFloat64()))
	}
	for range n {
		at := random.IntN(centres)
		for _, x := range middles[at*dim : (at+1)*dim] {
			rows = append(rows, x+float32(0.01*random.NormFloat64()))
		}
	}
	return rows, middles
}

// loss is the mean distance of rows to the nearest centroid.
func loss(t *testing.T, metric vector.Metric, rows, centroids []float32, dim int) float64 {
	t.Helper()
	n := len(rows) / dim
	numbers, distances := make([]uint32, n), make([]float32, n)
	if err := Assign(t.Context(), vector.NewTable(metric, centroids, dim), rows, nil, numbers, distances, 2); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, d := range distances {
		sum += float64(d)
	}
	return sum / float64(n)
}

func TestCentroidsAreInTheMiddleOfHeaps(t *testing.T) {
	for _, c := range []struct{ n, heaps, clusters, dim int }{{400, 1, 1, 3}, {5000, 5, 20, 8}, {9000, 40, 300, 4}} {
		random := rand.New(rand.NewPCG(uint64(c.n), 1))
		rows, _ := heaps(random, c.n, c.heaps, c.dim)
		centroids, err := Train(t.Context(), rows, c.dim, Options{Clusters: c.clusters, Iterations: 50, Random: random})
		if err != nil || len(centroids) != c.clusters*c.dim {
			t.Fatalf("%+v: got %d centroids, %v", c, len(centroids)/c.dim, err)
		}
		if got := loss(t, vector.L2, rows, centroids, c.dim); got > 0.001*float64(c.dim) {
			t.Errorf("%+v: rows are %v far from their centroids", c, got)
		}
	}
}

func TestBalancedClustersHaveSimilarSizes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, 8000*4)
	for i := range rows {
		rows[i] = random.Float32()
	}
	spread := func(balanced bool) float64 {
		centroids, err := Train(t.Context(), rows, 4, Options{Clusters: 32, Iterations: 30, Balanced: balanced, Random: rand.New(rand.NewPCG(9, 9))})
		if err != nil {
			t.Fatal(err)
		}
		numbers, distances, sizes := make([]uint32, 8000), make([]float32, 8000), make([]float64, 32)
		if err := Assign(t.Context(), vector.NewTable(vector.L2, centroids, 4), rows, nil, numbers, distances, 1); err != nil {
			t.Fatal(err)
		}
		squares := 0.0
		for _, n := range numbers {
			sizes[n]++
		}
		for _, s := range sizes {
			squares += (s - 250) * (s - 250)
		}
		return math.Sqrt(squares / 32)
	}
	if with, without := spread(true), spread(false); with > without {
		t.Errorf("sizes differ by %v when balanced, and by %v otherwise", with, without)
	}
}

func TestCentroidsUnderDotHaveLengthOne(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	rows, _ := heaps(random, 2000, 6, 5)
	centroids, err := Train(t.Context(), rows, 5, Options{Clusters: 6, Iterations: 20, Metric: vector.Dot, Random: random})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		square := 0.0
		for _, x := range centroids[i*5 : (i+1)*5] {
			square += float64(x) * float64(x)
		}
		if math.Abs(square-1) > 1e-4 {
			t.Errorf("centroid %d has length %v", i, math.Sqrt(square))
		}
	}
}

// Rows that are equal leave nothing to divide; fewer rows than clusters are their own centroids.
func TestThereMayBeFewerClusters(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	same := make([]float32, 2000*2)
	for i := range same {
		same[i] = 3
	}
	centroids, err := Train(t.Context(), same, 2, Options{Clusters: 500, Iterations: 10, Random: random})
	if err != nil || len(centroids) == 0 || len(centroids) > 500*2 {
		t.Fatalf("got %d centroids, %v", len(centroids)/2, err)
	}
	if got := loss(t, vector.L2, same, centroids, 2); got != 0 {
		t.Errorf("rows are %v far from their centroids", got)
	}
	few, err := Train(t.Context(), []float32{1, 2, 3, 4}, 2, Options{Clusters: 7, Iterations: 10, Random: random})
	if err != nil || len(few) != 4 {
		t.Errorf("got %v, %v; want 2 centroids", few, err)
	}
}

func TestTrainingEndsWithItsContextAndItsMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	rows, _ := heaps(random, 3000, 6, 5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	share := memory.NewBudget(1<<10, 1<<10).Open()
	defer share.Close()
	for _, o := range []Options{{Clusters: 6}, {Clusters: 6, Balanced: true}, {Clusters: 300}} {
		o.Iterations, o.Random = 20, random
		if _, err := Train(ctx, rows, 5, o); !errors.Is(err, context.Canceled) {
			t.Errorf("%d clusters: got %v, want the error of the context", o.Clusters, err)
		}
		var refused *memory.Error
		if _, err := Train(memory.WithShare(t.Context(), share), rows, 5, o); !errors.As(err, &refused) {
			t.Errorf("%d clusters: got %v, want that there is no memory", o.Clusters, err)
		}
	}
}
