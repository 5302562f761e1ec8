// Package keyheap orders integers that stand for hits: the high half of a key is the rank of a distance, the
// low half the number of a node or of a partition. Integers compare faster than distances, and equal
// distances are ordered by number.
package keyheap

import "slices"

// A Heap is a binary heap with the least key on top.
type Heap []uint64

// Push adds a key.
func (h *Heap) Push(key uint64) {
	*h = append(*h, key)
	keys := *h
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

// Pop removes the least key. The heap must not be empty.
func (h *Heap) Pop() uint64 {
	keys := *h
	top, last := keys[0], len(keys)-1
	*h = keys[:last]
	if last > 0 {
		h.replace(keys[last])
	}
	return top
}

// replace removes the top and adds a key.
func (h Heap) replace(key uint64) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if key <= h[child] {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = key
}

// A Least holds the least keys that were added, up to a number of them.
type Least struct {
	most int
	keys Heap // complements, so that the greatest is on top
}

// Reset empties it, and sets the number of keys that it holds: one or more.
func (l *Least) Reset(most int) { l.most, l.keys = most, l.keys[:0] }

// Len returns the number of keys.
func (l *Least) Len() int { return len(l.keys) }

// IsFull reports whether a key that is not less than Greatest would be left out.
func (l *Least) IsFull() bool { return len(l.keys) >= l.most }

// Greatest returns the greatest key. There must be one.
func (l *Least) Greatest() uint64 { return ^l.keys[0] }

// Add adds a key, in place of the greatest if it is full.
func (l *Least) Add(key uint64) {
	switch {
	case !l.IsFull():
		l.keys.Push(^key)
	case key < l.Greatest():
		l.keys.replace(^key)
	}
}

// Sorted returns the keys in order, and empties it. They are valid until the next Add.
func (l *Least) Sorted() []uint64 {
	keys := l.keys
	for i, key := range keys {
		keys[i] = ^key
	}
	slices.Sort(keys)
	l.keys = l.keys[:0]
	return keys
}
