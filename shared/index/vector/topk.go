package vector

import (
	"cmp"
	"math"
	"slices"
)

// A Hit is a row in the result, or a part of a row.
type Hit struct {
	Distance float32
	Part     uint32 // its number; 0 for whole rows
	RowID    uint64
}

// Bounds limit the distances in the result; nil is no limit.
type Bounds struct {
	Lower *float32 // inclusive
	Upper *float32 // exclusive
}

// A TopK keeps the k nearest of the added rows within its bounds. Ties go to the smaller row id, then to
// the smaller part. NaN distances are never kept, infinite ones are. The result does not depend on the
// order of the rows.
//
// Its memory grows with the number of kept hits, so k may be any number. A TopK belongs to one goroutine.
type TopK struct {
	k     int
	lower float32
	limit float32 // largest distance that can still enter, or NaN if none can

	// hits are unordered until there are k of them; then they are a heap whose top is the farthest, which
	// the next hit replaces.
	hits []Hit
}

// NewTopK returns an empty TopK. With k of 0 or less it stays empty.
func NewTopK(k int, bounds Bounds) *TopK {
	t := &TopK{k: k, lower: float32(math.Inf(-1)), limit: float32(math.Inf(1))}
	if bounds.Lower != nil {
		t.lower = *bounds.Lower
	}
	if bounds.Upper != nil {
		t.limit = below(*bounds.Upper)
	}
	if k <= 0 {
		t.limit = float32(math.NaN())
	}
	return t
}

// below returns the largest float32 less than x, or NaN if there is none.
func below(x float32) float32 {
	if math.IsInf(float64(x), -1) {
		return float32(math.NaN())
	}
	return math.Nextafter32(x, float32(math.Inf(-1)))
}

// Add adds one row.
func (t *TopK) Add(distance float32, rowID uint64) {
	if distance <= t.limit { // false for NaN on either side
		t.consider(Hit{Distance: distance, RowID: rowID})
	}
}

// AddPart adds one part of a row.
func (t *TopK) AddPart(distance float32, rowID uint64, part uint32) {
	if distance <= t.limit {
		t.consider(Hit{distance, part, rowID})
	}
}

// AddAll adds rows with their ids.
func (t *TopK) AddAll(distances []float32, rowIDs []uint64) {
	rowIDs = rowIDs[:len(distances)]
	for i, d := range distances {
		if d <= t.limit {
			t.consider(Hit{Distance: d, RowID: rowIDs[i]})
		}
	}
}

// AddRun adds rows with consecutive ids from first.
func (t *TopK) AddRun(distances []float32, first uint64) {
	for i, d := range distances {
		if d <= t.limit {
			t.consider(Hit{Distance: d, RowID: first + uint64(i)})
		}
	}
}

// Merge adds the hits of another TopK, which does not change.
func (t *TopK) Merge(other *TopK) {
	for _, h := range other.hits {
		t.AddPart(h.Distance, h.RowID, h.Part)
	}
}

// Limit returns the largest distance that can still enter, or NaN if none can. It falls as hits are added.
// A caller can skip rows that are certainly farther.
func (t *TopK) Limit() float32 { return t.limit }

// K returns how many hits are kept at most.
func (t *TopK) K() int { return max(0, t.k) }

// Clone returns a copy.
func (t *TopK) Clone() *TopK {
	copied := *t
	copied.hits = slices.Clone(t.hits)
	return &copied
}

// Len returns the number of hits that are kept.
func (t *TopK) Len() int { return len(t.hits) }

// Hits returns the kept hits, nearest first. The caller owns the slice.
func (t *TopK) Hits() []Hit {
	hits := slices.Clone(t.hits)
	slices.SortFunc(hits, compareHits)
	return hits
}

// consider adds a hit whose distance is within the limit. It is a separate function, so that the hot path
// of Add is inlined: few rows get here.
func (t *TopK) consider(h Hit) {
	switch {
	case !(h.Distance >= t.lower): // so that a bound of NaN lets nothing pass
		return
	case len(t.hits) < t.k:
		t.hits = append(t.hits, h)
		if len(t.hits) < t.k {
			return
		}
		for i := len(t.hits)/2 - 1; i >= 0; i-- {
			t.siftDown(i)
		}
	case farther(t.hits[0], h):
		t.hits[0] = h
		t.siftDown(0)
	default:
		return
	}
	t.limit = t.hits[0].Distance
}

// siftDown restores the heap under position i.
func (t *TopK) siftDown(i int) {
	hits := t.hits
	h := hits[i]
	for {
		child := 2*i + 1
		if child >= len(hits) {
			break
		}
		if child+1 < len(hits) && farther(hits[child+1], hits[child]) {
			child++
		}
		if !farther(hits[child], h) {
			break
		}
		hits[i] = hits[child]
		i = child
	}
	hits[i] = h
}

func farther(a, b Hit) bool {
	if a.Distance != b.Distance {
		return a.Distance > b.Distance
	}
	return a.RowID > b.RowID || a.RowID == b.RowID && a.Part > b.Part
}

func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.RowID, b.RowID), cmp.Compare(a.Part, b.Part))
}
