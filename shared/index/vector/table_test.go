package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScoresOfTilesMatchThePortableOnes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for dim := 1; dim <= maxDim; dim++ {
		rows, panel, offsets := make([]float32, tileRows*dim), make([]float32, panelWidth*dim), make([]float32, panelWidth)
		for _, s := range [][]float32{rows, panel, offsets} {
			for i := range s {
				s[i] = float32(random.NormFloat64())
			}
		}
		stride := panelWidth + dim%3
		got, want := make([]float32, tileRows*stride), make([]float32, tileRows*stride)
		scoreTile(rows, panel, offsets, got, stride)
		scorePortable(rows, panel, offsets, want, stride)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-4 {
				t.Fatalf("%d elements: score %d is %v, want %v", dim, i, got[i], want[i])
			}
		}
	}
}

func TestSmallestMatchesThePortableOne(t *testing.T) {
	random, nan, inf := rand.New(rand.NewPCG(7, 7)), float32(math.NaN()), float32(math.Inf(1))
	for n := panelWidth; n <= 20*panelWidth; n += panelWidth {
		scores := make([]float32, n)
		for _, some := range [][]float32{{1, 2, 3}, {nan, 5, 4}, {nan}, {inf}, {inf, nan, -inf, 0}, {0.5, 0.25, -1, nan, inf, 7, 7.5, -1}} {
			for i := range scores {
				scores[i] = some[random.IntN(len(some))]
			}
			if got, want := smallest(scores), smallestPortable(scores); got != want {
				t.Fatalf("of %v the smallest is at %d, want %d", scores, got, want)
			}
		}
	}
}

func TestDistancesToATable(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, metric := range []Metric{L2, Dot} {
		for _, size := range []struct{ vectors, dim int }{{1, 1}, {16, 8}, {17, 3}, {256, 12}} {
			vectors, row := make([]float32, size.vectors*size.dim), make([]float32, size.dim)
			for _, s := range [][]float32{vectors, row} {
				for i := range s {
					s[i] = float32(random.NormFloat64())
				}
			}
			got := make([]float32, size.vectors)
			NewTable(metric, vectors, size.dim).Distances(row, got)
			for i := range got {
				want := 0.0
				for j, x := range row {
					if y := vectors[i*size.dim+j]; metric == Dot {
						want -= float64(x) * float64(y)
					} else {
						want += float64(x-y) * float64(x-y)
					}
				}
				if math.Abs(float64(got[i])-want) > 1e-4 {
					t.Fatalf("%s, %v: distance %d is %v, want %v", metric, size, i, got[i], want)
				}
			}
		}
	}
}

func TestTableNearestFindsTheNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, metric := range []Metric{L2, Dot} {
		for _, size := range []struct{ vectors, dim, rows int }{{1, 1, 1}, {3, 7, 2}, {16, 16, 33}, {50, 5, 131}, {300, 24, 64}} {
			t.Run(fmt.Sprint(metric, size), func(t *testing.T) {
				vectors, rows := make([]float32, size.vectors*size.dim), make([]float32, size.rows*size.dim)
				for _, s := range [][]float32{vectors, rows} {
					for i := range s {
						s[i] = float32(random.NormFloat64())
					}
				}
				bias := make([]float32, size.vectors)
				for i := range bias {
					bias[i] = random.Float32()
				}
				numbers, distances := make([]uint32, size.rows), make([]float32, size.rows)
				for _, b := range [][]float32{nil, bias} {
					NewTable(metric, vectors, size.dim).Nearest(rows, b, numbers, distances)
					for i := range numbers {
						checkNearest(t, metric, vectors, rows[i*size.dim:(i+1)*size.dim], b, int(numbers[i]), distances[i])
					}
				}
			})
		}
	}
}

// checkNearest checks the number and the distance that were found for a row.
func checkNearest(t *testing.T, metric Metric, vectors, row, bias []float32, number int, distance float32) {
	t.Helper()
	q, err := NewQuery(metric, row)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]float32, len(vectors)/len(row))
	q.Distances(vectors, all)
	if math.Abs(float64(all[number]-distance)) > 1e-3 {
		t.Fatalf("the distance of %d is %v, want %v", number, distance, all[number])
	}
	for i := range bias {
		all[i] += bias[i]
	}
	for i, d := range all {
		if d < all[number]-1e-3 {
			t.Fatalf("%d is %v far, but %d only %v", number, all[number], i, d)
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, size := range []struct{ vectors, dim int }{{256, 16}, {12, 128}, {122, 768}} {
		b.Run(fmt.Sprintf("%dx%d", size.vectors, size.dim), func(b *testing.B) {
			table := NewTable(L2, make([]float32, size.vectors*size.dim), size.dim)
			rows, numbers, distances := make([]float32, 1024*size.dim), make([]uint32, 1024), make([]float32, 1024)
			for b.Loop() {
				table.Nearest(rows, nil, numbers, distances)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024/float64(size.vectors), "ns/distance")
		})
	}
}

func TestTableReturnsItsVectors(t *testing.T) {
	for _, n := range []int{1, 16, 37} {
		vectors := make([]float32, n*3)
		for i := range vectors {
			vectors[i] = float32(i)
		}
		if got := NewTable(L2, vectors, 3).Vectors(); !slices.Equal(got, vectors) {
			t.Errorf("%d vectors: got %v, want %v", n, got, vectors)
		}
	}
}

// A batch may have no vectors, as when all of them are NULL.
func TestTableNearestTakesNoRows(t *testing.T) {
	for _, metric := range []Metric{L2, Dot} {
		table := NewTable(metric, []float32{1, 2, 3, 4}, 4)
		guard := []float32{7, 7}
		table.Nearest(nil, nil, nil, guard[:0])
		if guard[0] != 7 || guard[1] != 7 {
			t.Errorf("the distances of no rows are %v", guard)
		}
	}
}
