package ivf

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Partitions are ordered by distance, and by number at equal distances.
func TestPartitionsAreRankedByTheirDistances(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), -float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1, -1, 1, math.SmallestNonzeroFloat32}
	rapid.Check(t, func(t *rapid.T) {
		distances := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(special), rapid.Float32()), 0, 30).Draw(t, "distances")
		most := rapid.IntRange(0, 40).Draw(t, "most")
		want := make([]int, len(distances))
		for i := range want {
			want[i] = i
		}
		slices.SortFunc(want, func(a, b int) int { return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b)) })
		if most > 0 && most < len(want) {
			want = want[:most]
		}
		if got := nearestOf(distances, most); !slices.Equal(got, want) {
			t.Errorf("the nearest %d of %v: got %v, want %v", most, distances, got, want)
		}
	})
}
