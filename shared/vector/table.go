package vector

import (
	"iter"
	"math"
)

// A Table is float32 vectors with which many rows are compared, to find the nearest for each: the
// centroids of a clustering, or a codebook. It does not change and is safe for concurrent use.
//
// The vectors lie in panels of 16, element by element, so that a vector register takes the same
// element of several of them. A score is an offset less the dot product of row and vector: under L2
// with half the square of the vector as the offset it is half the distance less half the square of
// the row, which is the same for all vectors.
type Table struct {
	metric  Metric
	dim, n  int
	panels  []float32
	offsets []float32 // one for each vector; +Inf for those that fill up the last panel
}

const (
	panelWidth = 16
	tileRows   = 4  // rows that a kernel compares with a panel
	tableRows  = 32 // rows that are compared with a panel while it is in the core's cache
)

// NewTable returns a table of vectors that lie one after another. The metric is L2 or Dot.
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

// TableBytes is how much memory a table of n vectors takes.
func TableBytes(n, dim int) int64 { return 4 * int64(n+panelWidth) * int64(dim+1) }

// Len returns the number of vectors.
func (t *Table) Len() int { return t.n }

// Vectors returns a copy of the vectors, one after another.
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

// Nearest finds the nearest vector for each of len(numbers) rows, which lie one after another, and
// writes its number and its distance. bias is added to the distances for the comparison only, one
// for each vector; nil is none. Of equal distances the smaller number is nearer. A row whose
// distances are NaN has number 0.
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

// A tableBlock is rows that are compared with a panel while it is in the core's cache.
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

// blocks yields rows in blocks, and the number of the first row of each. A block is good until the next one.
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

// Distances writes what lies between a row and each vector: the square of the distance under L2, and the
// negative dot product under Dot.
func (t *Table) Distances(row, out []float32) {
	var small [tileRows * panelWidth]float32 // for short rows, as those of a codebook are
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

// smallestPortable defines the position that smallest finds: that of the smallest score, the first of
// equal ones, and 0 if all are NaN.
func smallestPortable(scores []float32) int {
	best, at := float32(math.Inf(1)), 0
	for i, s := range scores {
		if s < best {
			best, at = s, i
		}
	}
	return at
}

// scorePortable defines what scoreTile computes: out[r*stride+j] is offsets[j] less the dot product
// of row r of tileRows rows and of vector j of a panel.
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
