package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The kernels equal the portable ones, bit for bit if the processor has both.
func TestTilesFindWhatThePortableOnesFind(t *testing.T) {
	if !hasWideTables {
		t.Log("THE WIDE KERNELS ARE NOT TESTED: this processor has none")
	}
	random := rand.New(rand.NewPCG(3, 5))
	some := []float32{0, 0, 1, -1, 0.5, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	for _, dim := range []int{1, 2, 16, 37, 128} {
		for panels := 1; panels <= 7; panels++ {
			rows, vectors, offsets := make([]float32, tileRows*dim), make([]float32, panels*panelWidth*dim), make([]float32, panels*panelWidth)
			for i, s := range [][]float32{rows, vectors, offsets} {
				for j := range s {
					if s[j] = float32(random.NormFloat64()); panels > 4 { // scores that are equal, or not numbers
						s[j] = some[random.IntN(3+5*(i/2)*(panels%2))]
					}
				}
			}
			got, want := noBest, noBest
			for _, from := range []int{0, 1 << 10} { // the second time into existing results
				nearestTile(rows, vectors, offsets, from, &got)
				nearestTilePortable(rows, vectors, offsets, from, &want)
			}
			if got != want {
				t.Fatalf("%d elements, %d panels: got %v, want %v", dim, panels, got, want)
			}
			var scores, wantScores [tileRows]float32
			var numbers, wantNumbers [tileRows]uint32
			smallestOfTile(&got, &scores, &numbers)
			smallestOfTilePortable(&want, &wantScores, &wantNumbers)
			if scores != wantScores || numbers != wantNumbers {
				t.Fatalf("%d elements, %d panels: got %v at %v, want %v at %v", dim, panels, scores, numbers, wantScores, wantNumbers)
			}
		}
	}
}

// Both ways to the nearest vectors lead to the same ones.
func TestWideTablesFindTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 5))
	for _, size := range []struct{ vectors, dim, rows int }{{1, 1, 1}, {17, 3, 5}, {256, 16, 70}, {40, 768, 33}, {700, 24, 64}} {
		vectors, rows := make([]float32, size.vectors*size.dim), make([]float32, size.rows*size.dim)
		for _, s := range [][]float32{vectors, rows} {
			for i := range s {
				s[i] = float32(random.IntN(5)) // many are equally near
			}
		}
		table := NewTable(L2, vectors, size.dim)
		got, want := make([]uint32, size.rows), make([]uint32, size.rows)
		gotScores, wantScores := table.nearestWide(rows, table.offsets, got), table.nearest(rows, table.offsets, want)
		if !slices.Equal(got, want) || !slices.Equal(gotScores, wantScores) {
			t.Errorf("%+v: got %v, want %v", size, got, want)
		}
	}
}
