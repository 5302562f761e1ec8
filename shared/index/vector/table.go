package vector

import (
	"iter"
	"math"
)

// A Table holds float32 vectors, such as the centroids of a clustering or a codebook, and finds the nearest
// of them for many rows. It is immutable and safe for concurrent use.
//
// The vectors are stored in panels of 16, element by element, so that a vector register loads the same
// element of several vectors. A score is an offset minus the dot product of row and vector. Under L2 the
// offset is half the squared length of the vector; the score is then half the squared distance minus half
// the squared length of the row, which is the same for all vectors.
type Table struct {
	metric  Metric
	dim, n  int
	panels  []float32
	offsets []float32 // one per vector; +Inf for the padding of the last panel
}

const (
	panelWidth = 16
	tileRows   = 4  // rows that a kernel compares with a panel
	tableRows  = 32 // rows that are compared with a panel while it is in the cache
)

// NewTable returns a table of contiguous vectors. The metric is L2 or Dot.
func NewTable(metric Metric, vectors []float32, dim int) *Table {
	n := len(vectors) / dim
	padded := (n + panelWidth - 1) / panelWidth * panelWidth
	t := &Table{metric: metric, dim: dim, n: n, panels: make([]float32, padded*dim), offsets: make([]float32, padded)}
	for i := range padded {
		if i >= n {
			t.offsets[i] = float32(math.Inf(1))
			continue
		}
		panel, square := t.panels[i/panelWidth*panelWidth*dim:], float32(0)
		for j, x := range vectors[i*dim : (i+1)*dim] {
			panel[j*panelWidth+i%panelWidth] = x
			square += x * x
		}
		if metric == L2 {
			t.offsets[i] = square / 2
		}
	}
	return t
}

// TableBytes returns the memory of a table of n vectors.
func TableBytes(n, dim int) int64 { return 4 * int64(n+panelWidth) * int64(dim+1) }

// Len returns the number of vectors.
func (t *Table) Len() int { return t.n }

// Vectors returns a contiguous copy of the vectors.
func (t *Table) Vectors() []float32 {
	vectors := make([]float32, t.n*t.dim)
	for i := range t.n {
		panel := t.panels[i/panelWidth*panelWidth*t.dim:]
		for j := range t.dim {
			vectors[i*t.dim+j] = panel[j*panelWidth+i%panelWidth]
		}
	}
	return vectors
}

// Nearest writes the number and the distance of the nearest vector for each of len(numbers) contiguous
// rows. bias is added to the distances for the comparison only, one for each vector; nil is none. Ties go
// to the smaller number. A row whose distances are NaN gets number 0.
func (t *Table) Nearest(rows, bias []float32, numbers []uint32, distances []float32) {
	if len(numbers) == 0 { // kernels need a row
		return
	}
	offsets := t.offsets
	if bias != nil {
		half := float32(1)
		if t.metric == L2 {
			half = 0.5
		}
		offsets = append([]float32(nil), offsets...)
		for i, b := range bias {
			offsets[i] += half * b
		}
	}
	find := t.nearest
	if hasWideTables {
		find = t.nearestWide
	}
	scores := find(rows, offsets, numbers)
	if t.metric == L2 {
		l2Float32(make([]float32, t.dim), rows, distances) // the squares of the rows
	}
	for i, score := range scores {
		if best := numbers[i]; bias != nil {
			score -= offsets[best] - t.offsets[best]
		}
		if t.metric == L2 {
			distances[i] = max(2*score+distances[i], 0)
		} else {
			distances[i] = 1 + score
		}
	}
}

// nearest finds the number of the vector with the smallest score for each row, and returns these scores.
func (t *Table) nearest(rows, offsets []float32, numbers []uint32) []float32 {
	found := make([]float32, len(numbers))
	scores := make([]float32, tableRows*len(offsets))
	for from, block := range t.blocks(rows) {
		for at := 0; at < len(offsets); at += panelWidth {
			panel := t.panels[at*t.dim : (at+panelWidth)*t.dim]
			for i := 0; i < block.n; i += tileRows {
				scoreTile(block.tile(i), panel, offsets[at:at+panelWidth], scores[i*len(offsets)+at:], len(offsets))
			}
		}
		for i := range block.n {
			best := smallest(scores[i*len(offsets) : (i+1)*len(offsets)])
			numbers[from+i], found[from+i] = uint32(best), scores[i*len(offsets)+best]
		}
	}
	return found
}

// A tableBlock holds rows that are compared with a panel while it is in the cache.
type tableBlock struct {
	dim, n int // elements of a row, and rows
	rows   []float32
	rest   []float32 // the last tile, filled up, if it has too few rows
}

// tile returns the rows of the tile that begins with row i.
func (b *tableBlock) tile(i int) []float32 {
	if i+tileRows > b.n {
		return b.rest
	}
	return b.rows[i*b.dim : (i+tileRows)*b.dim]
}

// blocks yields rows in blocks, with the number of the first row of each. A block is valid until the next
// one.
func (t *Table) blocks(rows []float32) iter.Seq2[int, *tableBlock] {
	return func(yield func(int, *tableBlock) bool) {
		b := &tableBlock{dim: t.dim}
		for from, n := 0, len(rows)/t.dim; from < n; from += tableRows {
			b.n = min(tableRows, n-from)
			b.rows = rows[from*t.dim : (from+b.n)*t.dim]
			if extra := b.n % tileRows; extra > 0 {
				b.rest = append(make([]float32, 0, tileRows*t.dim), b.rows[(b.n-extra)*t.dim:]...)[:tileRows*t.dim]
			}
			if !yield(from, b) {
				return
			}
		}
	}
}

// Distances writes the distance of a row from each vector: squared under L2, the negative dot product under
// Dot.
func (t *Table) Distances(row, out []float32) {
	var small [tileRows * panelWidth]float32 // for short rows, such as sub-vectors of a codebook
	tile := small[:]
	if t.dim > panelWidth {
		tile = make([]float32, tileRows*t.dim)
	}
	tile = tile[:tileRows*t.dim]
	copy(tile, row)
	square := float32(0)
	if t.metric == L2 {
		for _, x := range row {
			square += x * x
		}
	}
	var scores [tileRows * panelWidth]float32
	for at := 0; at < len(t.offsets); at += panelWidth {
		scoreTile(tile, t.panels[at*t.dim:(at+panelWidth)*t.dim], t.offsets[at:at+panelWidth], scores[:], panelWidth)
		for i, score := range scores[:min(panelWidth, t.n-at)] {
			if t.metric == L2 {
				score = max(2*score+square, 0)
			}
			out[at+i] = score
		}
	}
}

// smallestPortable is the reference implementation of smallest.
func smallestPortable(scores []float32) int {
	best, at := float32(math.Inf(1)), 0
	for i, s := range scores {
		if s < best {
			best, at = s, i
		}
	}
	return at
}

// scorePortable is the reference implementation of scoreTile: out[r*stride+j] is offsets[j] minus the dot
// product of row r of tileRows rows and vector j of a panel.
func scorePortable(rows, panel, offsets, out []float32, stride int) {
	dim := len(panel) / panelWidth
	for r := range tileRows {
		var sums [panelWidth]float32
		copy(sums[:], offsets)
		for i, x := range rows[r*dim : (r+1)*dim] {
			p := panel[i*panelWidth : (i+1)*panelWidth : (i+1)*panelWidth]
			for j := range sums {
				sums[j] -= x * p[j]
			}
		}
		copy(out[r*stride:], sums[:])
	}
}
