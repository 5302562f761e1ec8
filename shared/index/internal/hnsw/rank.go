package hnsw

import (
	"cmp"
	"math"
)

// byDistance orders hits, the nearest first.
func byDistance(a, b Hit) int { return cmp.Compare(keyOf(a), keyOf(b)) }

// keyOf maps a hit to a number. The numbers sort by distance, and at equal distance by node. NaN is farther
// than all other distances.
func keyOf(h Hit) uint64 { return uint64(rankOf(h.Distance))<<32 | uint64(h.Node) }

// hitOf is the inverse of keyOf.
func hitOf(key uint64) Hit { return Hit{uint32(key), distanceOf(uint32(key >> 32))} }

// rankOf maps a distance to an integer in the same order.
func rankOf(d float32) uint32 {
	bits := math.Float32bits(d)
	switch {
	case d != d:
		return math.MaxUint32
	case bits>>31 != 0:
		return ^bits
	}
	return bits | 1<<31
}

func distanceOf(rank uint32) float32 {
	if rank>>31 != 0 {
		return math.Float32frombits(rank &^ (1 << 31))
	}
	return math.Float32frombits(^rank)
}
