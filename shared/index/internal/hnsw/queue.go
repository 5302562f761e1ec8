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

// A queue is a heap of keys with the least on top. Complements of keys give a queue with the farthest hit on
// top.
type queue []uint64

func (q *queue) push(key uint64) {
	*q = append(*q, key)
	keys := *q
	i := len(keys) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if keys[parent] <= key {
			break
		}
		keys[i] = keys[parent]
		i = parent
	}
	keys[i] = key
}

// pop removes the top and returns it.
func (q *queue) pop() uint64 {
	keys := *q
	top, last := keys[0], len(keys)-1
	*q = keys[:last]
	if last > 0 {
		q.replace(keys[last])
	}
	return top
}

// replace removes the top and adds a key.
func (q queue) replace(key uint64) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if key <= q[child] {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = key
}

// A nearest holds the nearest of the hits that were added, up to a maximal number.
type nearest struct {
	most int
	keys queue // complements, so that the farthest is on top
}

func (n *nearest) isFull() bool { return len(n.keys) >= n.most }

// farthest returns the rank of the farthest hit. There must be one.
func (n *nearest) farthest() uint32 { return uint32(^n.keys[0] >> 32) }

// admits reports whether a hit of a rank would be among the nearest.
func (n *nearest) admits(rank uint32) bool { return !n.isFull() || rank < n.farthest() }

// add adds a hit. If n is full, a nearer hit replaces the farthest, and any other is dropped.
func (n *nearest) add(key uint64) {
	switch {
	case !n.isFull():
		n.keys.push(^key)
	case key < ^n.keys[0]:
		n.keys.replace(^key)
	}
}
