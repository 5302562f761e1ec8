package ivf

import (
	"math"
	"sort"

	"tiltyard/shared/index/vector"
)

// A profile bounds the number of partitions that a search without a fixed number probes first. The number
// counts the centroids within margin of the distance of the nearest one, and is clamped to [least, most].
type profile struct {
	margin      float32
	least, most int
}

// profiles are indexed by metric, then by the requested number of rows: up to 1, 10, 100, 200, 500, 1000,
// 10,000 and 100,000.
//
// Source: io/exec/knn/adaptive_probe.rs of crate lance.
var profiles = map[vector.Metric][8]profile{
	vector.L2: {
		{.2175, 5, 19}, {.265, 6, 24}, {.33, 11, 38}, {.375, 15, 56},
		{.3725, 22, 81}, {.4175, 29, 93}, {.57, 98, 238}, {.75, 463, 704},
	},
	vector.Cosine: {
		{.235, 3, 50}, {.2875, 8, 77}, {.38, 7, 106}, {.415, 18, 156},
		{.45, 28, 192}, {.47, 34, 248}, {.6475, 104, 447}, {.58, 738, 958},
	},
	vector.Dot: {
		{.14, 56, 112}, {.055, 144, 432}, {.0625, 200, 768}, {.0675, 211, 833},
		{.07, 244, 971}, {.0725, 279, 1092}, {.0825, 517, 1824}, {.21, 1009, 2528},
	},
}

var profileLimits = [8]int{1, 10, 100, 200, 500, 1000, 10_000, 100_000}

// firstProbes returns the number of partitions that a search always probes. distances are the distances of
// the centroids within the maximum, nearest first. Effort 0 selects the minimum, 1 all partitions, and 0.5
// the number that the distances suggest; in between the number grows geometrically.
//
// Source: io/exec/knn/adaptive_probe.rs of crate lance, AutoProbePolicy::apply.
func firstProbes(metric vector.Metric, p Params, distances []float32) int {
	suggested := suggestedProbes(metric, p, distances)
	if p.Effort == nil || *p.Effort == 0.5 || len(distances) == 0 {
		return suggested
	}
	effort, most := *p.Effort, len(distances)
	least := min(max(p.Minimum, 1), most)
	suggested = min(max(suggested, least), most)
	switch {
	case effort == 0:
		return least
	case effort == 1:
		return most
	case effort < 0.5:
		return min(max(between(least, suggested, 2*effort), least), suggested)
	}
	return min(max(between(suggested, most, 2*effort-1), suggested), most)
}

// between interpolates geometrically from low (share 0) to high (share 1), rounded up.
func between(low, high int, share float64) int {
	return int(math.Ceil(float64(low) * math.Pow(float64(high)/float64(low), share)))
}

// suggestedProbes returns the number of partitions to probe, judged by the distances of their centroids.
func suggestedProbes(metric vector.Metric, p Params, distances []float32) int {
	all := len(distances)
	if p.Minimum == p.Maximum || all == 0 {
		return min(p.Minimum, all)
	}
	bucket := sort.SearchInts(profileLimits[:], p.K)
	rows, ok := profiles[metric]
	if !ok || bucket == len(profileLimits) {
		return min(max(p.Minimum, withinFactor(p.K, distances)), all)
	}
	chosen := rows[bucket]
	n := min(max(withinMargin(metric, float64(chosen.margin), distances), chosen.least), chosen.most)
	return min(max(p.Minimum, n), all)
}

// mostSuggested returns the greatest number of partitions that suggestedProbes returns for k rows.
func mostSuggested(metric vector.Metric, k, partitions int) int {
	bucket := sort.SearchInts(profileLimits[:], k)
	if rows, ok := profiles[metric]; ok && bucket < len(profileLimits) {
		return rows[bucket].most
	}
	return partitions
}

// withinMargin counts the centroids about as near as the nearest one.
func withinMargin(metric vector.Metric, margin float64, distances []float32) int {
	nearest := float64(distances[0])
	if math.IsInf(nearest, 0) || math.IsNaN(nearest) {
		return len(distances)
	}
	scale := nearest
	if metric == vector.Dot {
		scale = math.Abs(1 - nearest)
	}
	return sort.Search(len(distances), func(i int) bool {
		d := float64(distances[i])
		return math.IsInf(d, 0) || math.IsNaN(d) || d-nearest > margin*scale
	})
}

// withinFactor counts the centroids within a multiple of the nearest distance, for metrics and numbers
// of rows that have no profile.
func withinFactor(k int, distances []float32) int {
	factor := float32(81)
	switch {
	case k <= 1:
		factor = 0.6
	case k <= 10:
		factor = 7
	}
	limit := distances[0] * factor
	return sort.Search(len(distances), func(i int) bool { return !(distances[i] <= limit) })
}
