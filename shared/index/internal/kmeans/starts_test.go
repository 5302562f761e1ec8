package kmeans

import (
	"math/rand/v2"
	"testing"

	"tiltyard/shared/index/vector"
)

// merit returns the merit of centroids for searches among rows that they were not trained with.
func merit(t *testing.T, rows, centroids []float32, dim int) float64 {
	t.Helper()
	c, err := newClustering(t.Context(), rows, dim, Options{Clusters: len(centroids) / dim, Metric: vector.L2, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.state = state{centroids: centroids}
	e, err := newExam(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.merit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSearchesFindMoreByTheBestOfSeveralStarts(t *testing.T) {
	const dim, n, seeds = 16, 3000, 10
	several, one := 0.0, 0.0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows, _ := heaps(random, 2*n, 60, dim)
		rows, others := rows[:n*dim], rows[n*dim:]
		o := Options{Clusters: 12, Iterations: 50, Balanced: true, Workers: 1, Random: random}
		centroids, err := Train(t.Context(), rows, dim, o)
		if err != nil {
			t.Fatal(err)
		}
		several += merit(t, others, centroids, dim) / seeds
		if centroids, err = lloyd(t.Context(), rows, dim, o); err != nil {
			t.Fatal(err)
		}
		one += merit(t, others, centroids, dim) / seeds
	}
	if several < one+0.005 {
		t.Errorf("got a merit of %.4f by the best start and of %.4f by one", several, one)
	}
}

// Few rows, equal ones and distances that overflow give starts nothing to choose by.
func TestStartsWithoutMerit(t *testing.T) {
	const huge = 3e38
	cases := map[string][]float32{
		"two rows":   {1, 2, 3, 4},
		"equal rows": {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		"overflows":  {huge, -huge, huge, huge, -huge, huge, 0, 1},
	}
	for name, rows := range cases {
		for _, metric := range []vector.Metric{vector.L2, vector.Dot} {
			o := Options{Clusters: 2, Iterations: 9, Balanced: true, Metric: metric, Random: rand.New(rand.NewPCG(1, 1))}
			if centroids, err := Train(t.Context(), rows, 2, o); err != nil || len(centroids) != 4 {
				t.Errorf("%s, %s: got %v, %v; want 2 centroids", name, metric, centroids, err)
			}
		}
	}
}

// A division does not compare the rows of a cluster with the centroids of others; the iterations after it do.
func TestRowsAreNearerAfterARefinement(t *testing.T) {
	const dim = 8
	random := rand.New(rand.NewPCG(3, 1))
	rows := make([]float32, 9000*dim)
	for i := range rows {
		rows[i] = random.Float32()
	}
	o := Options{Clusters: 300, Iterations: 50, Balanced: true, Workers: 2, Random: random}
	centroids, err := divide(t.Context(), rows, dim, o)
	if err != nil {
		t.Fatal(err)
	}
	before := loss(t, vector.L2, rows, centroids, dim)
	if err := refine(t.Context(), rows, dim, centroids, o); err != nil {
		t.Fatal(err)
	}
	if after := loss(t, vector.L2, rows, centroids, dim); after > 0.97*before {
		t.Errorf("rows are %v from their centroids after a refinement, and were %v", after, before)
	}
}
