package vector_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/vector"
)

func TestNewQueryRefusesWhatItCannotMeasure(t *testing.T) {
	_, empty := vector.NewQuery(vector.L2, []float32{})
	_, bits := vector.NewQuery(vector.Hamming, []float32{1})
	_, halfBits := vector.NewQuery(vector.Hamming, []uint16{1})
	_, doubleBits := vector.NewQuery(vector.Hamming, []float64{1})
	_, bytes := vector.NewQuery(vector.L2, []uint8{1})
	_, unknown := vector.NewQuery(vector.Metric(9), []float32{1})
	for name, err := range map[string]error{
		"empty": empty, "hamming of float32": bits, "hamming of float16": halfBits,
		"hamming of float64": doubleBits, "l2 of bytes": bytes, "unknown metric": unknown,
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestDistancesPanicOnWrongLengths(t *testing.T) {
	q, err := vector.NewQuery(vector.L2, []float32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	q.Distances(nil, nil) // no rows are fine
	for _, rows := range []int{2, 4, 7} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d elements for 1 row of 3: got no panic", rows)
				}
			}()
			q.Distances(make([]float32, rows), make([]float32, 1))
		}()
	}
}

func TestDistancesAllocateNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	rows, query, out := gaussian(rng, 7000), gaussian(rng, 7), make([]float32, 1000)
	for _, metric := range []vector.Metric{vector.L2, vector.Cosine, vector.Dot} {
		q, err := vector.NewQuery(metric, query)
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(10, func() { q.Distances(rows, out) }); got != 0 {
			t.Errorf("%s: got %v allocations, want none", metric, got)
		}
	}
}

func TestDistancesManyEqualsOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, metric := range []vector.Metric{vector.L2, vector.Cosine, vector.Dot} {
		const dim, n = 50, 2000 // some blocks and a rest
		rows := gaussian(rng, n*dim)
		var queries []*vector.Query[float32]
		var want, got [][]float32
		for range 3 {
			q, err := vector.NewQuery(metric, gaussian(rng, dim))
			if err != nil {
				t.Fatal(err)
			}
			out := make([]float32, n)
			q.Distances(rows, out)
			queries, want, got = append(queries, q), append(want, out), append(got, make([]float32, n))
		}

		vector.DistancesMany(queries, rows, got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-one by one +many):\n%s", metric, diff)
		}
	}
	vector.DistancesMany[float32](nil, nil, nil)
}

func gaussian(rng *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(rng.NormFloat64())
	}
	return s
}

// BenchmarkFlat measures a whole flat search, distances and the ten nearest, of 100,000
// vectors, by one and by two workers.
func BenchmarkFlat(b *testing.B) {
	const n, k = 100_000, 10
	rng := rand.New(rand.NewPCG(7, 8))
	for _, dim := range []int{128, 768} {
		rows, query := gaussian(rng, n*dim), gaussian(rng, dim)
		half, double := vector.RoundToFloat16(rows), widenAll(rows)
		for _, metric := range []vector.Metric{vector.L2, vector.Cosine, vector.Dot} {
			for _, workers := range []int{1, 2} {
				name := func(element string) string {
					return fmt.Sprintf("%s/%s/dim=%d/workers=%d", metric, element, dim, workers)
				}
				b.Run(name("float32"), func(b *testing.B) { benchmarkSearch(b, metric, query, rows, 4, k, workers) })
				b.Run(name("float16"), func(b *testing.B) { benchmarkSearch(b, metric, vector.RoundToFloat16(query), half, 2, k, workers) })
				b.Run(name("float64"), func(b *testing.B) { benchmarkSearch(b, metric, widenAll(query), double, 8, k, workers) })
			}
		}
	}
}

func widenAll(s []float32) []float64 {
	out := make([]float64, len(s))
	for i, x := range s {
		out[i] = float64(x)
	}
	return out
}

func benchmarkSearch[T vector.Element](b *testing.B, metric vector.Metric, query, rows []T, bytes, k, workers int) {
	q, err := vector.NewQuery(metric, query)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(rows) * bytes))
	b.ReportAllocs()
	for b.Loop() {
		search(q, rows, k, workers)
	}
}

func search[T vector.Element](q *vector.Query[T], rows []T, k, workers int) []vector.Hit {
	n := len(rows) / q.Dim()
	share := (n + workers - 1) / workers
	tops := make([]*vector.TopK, workers)
	var wg sync.WaitGroup
	for w := range tops {
		wg.Go(func() {
			tops[w] = vector.NewTopK(k, vector.Bounds{})
			distances := make([]float32, 1024)
			for lo := w * share; lo < min((w+1)*share, n); lo += len(distances) {
				hi := min(lo+len(distances), (w+1)*share, n)
				q.Distances(rows[lo*q.Dim():hi*q.Dim()], distances[:hi-lo])
				tops[w].AddRun(distances[:hi-lo], uint64(lo))
			}
		})
	}
	wg.Wait()
	for _, other := range tops[1:] {
		tops[0].Merge(other)
	}
	return tops[0].Hits()
}

func TestWorkersFindWhatOneFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const dim = 9
	rows := gaussian(rng, 5000*dim)
	q, err := vector.NewQuery(vector.L2, gaussian(rng, dim))
	if err != nil {
		t.Fatal(err)
	}
	want := search(q, rows, 5000, 1)[:70]
	for workers := 1; workers <= 3; workers++ {
		if got := search(q, rows, 70, workers); !slices.Equal(got, want) {
			t.Errorf("%d workers: got %v, want %v", workers, got, want)
		}
	}
}

func BenchmarkDistancesMany(b *testing.B) {
	const n, dim, count = 100_000, 128, 16
	rng := rand.New(rand.NewPCG(11, 12))
	rows := gaussian(rng, n*dim)
	var queries []*vector.Query[float32]
	var outs [][]float32
	for range count {
		q, err := vector.NewQuery(vector.L2, gaussian(rng, dim))
		if err != nil {
			b.Fatal(err)
		}
		queries, outs = append(queries, q), append(outs, make([]float32, n))
	}
	b.SetBytes(count * n * dim * 4)
	for b.Loop() {
		vector.DistancesMany(queries, rows, outs)
	}
}

func BenchmarkTopK(b *testing.B) {
	const n = 1_000_000
	rng := rand.New(rand.NewPCG(13, 14))
	distances := gaussian(rng, n)
	for _, k := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint("k=", k), func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				top := vector.NewTopK(k, vector.Bounds{})
				top.AddRun(distances, 0)
			}
		})
	}
}
