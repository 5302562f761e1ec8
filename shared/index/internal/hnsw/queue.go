package hnsw

import "cmp"

// byDistance orders hits, the nearest first.
func byDistance(a, b Hit) int {
	switch {
	case a.Distance < b.Distance:
		return -1
	case a.Distance > b.Distance:
		return 1
	}
	return cmp.Compare(a.Node, b.Node)
}

// A queue is a heap of hits: the nearest on top, or else the farthest.
type queue struct {
	nearer bool
	hits   []Hit
}

func (q *queue) less(i, j int) bool {
	if q.nearer {
		return q.hits[i].Distance < q.hits[j].Distance
	}
	return q.hits[i].Distance > q.hits[j].Distance
}

func (q *queue) push(h Hit) {
	q.hits = append(q.hits, h)
	for i := len(q.hits) - 1; i > 0 && q.less(i, (i-1)/2); i = (i - 1) / 2 {
		q.hits[i], q.hits[(i-1)/2] = q.hits[(i-1)/2], q.hits[i]
	}
}

// pop removes the top.
func (q *queue) pop() Hit {
	top, last := q.hits[0], len(q.hits)-1
	q.hits[0] = q.hits[last]
	q.hits = q.hits[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return top
		}
		q.hits[i], q.hits[child] = q.hits[child], q.hits[i]
		i = child
	}
}
