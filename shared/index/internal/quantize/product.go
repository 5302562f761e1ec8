package quantize

import (
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// product is product quantization. It cuts a vector into sub-vectors of the same length, and stores for
// each the number of the nearest of the 2^bits centroids in the codebook of its place. Under L2 and cosine
// it cuts the residual, the vector minus the centroid of the partition.
//
//	__pq_code  fixed-size list of bytes, one for each sub-vector; with 4 bits one for two
//	           of them, the first in the low half
//
// The bytes of a partition are transposed, first place first, unless the metadata declare them row by row.
//
// The distance from a query q to the code p of a residual to c is |q-c|² - 2q·p + (2c·p + |p|²). The part
// in brackets does not depend on the query, so [Cut] computes it once for each row, and a query has one
// table of products for all partitions.
//
// The codebook is a tensor of shape [2^bits, dimension], but its numbers lie place by place:
// [sub-vectors][2^bits][dimension / sub-vectors].
type product struct {
	metric     vector.Metric
	element    arrow.Type
	bits       int
	places     int // sub-vectors
	width      int // elements of a sub-vector
	transposed bool
	tables     []*vector.Table // of the centroids, by place
	squares    []float32       // of the lengths of the centroids, by place; nil under dot
}

// newProduct parses the storage_metadata of PQ, and validates it against the codebook: Dim must be
// divisible by Places, and 4-bit codes need an even number of places.
func newProduct(s Spec) (Quantizer, error) {
	var m struct {
		Bits       int  `json:"nbits"`
		Places     int  `json:"num_sub_vectors"`
		Dim        int  `json:"dimension"`
		Transposed bool `json:"transposed"`
	}
	if err := decode(s, &m); err != nil {
		return nil, err
	}
	switch {
	case s.Metric == vector.Hamming:
		return nil, fmt.Errorf("%w: product quantization under hamming", lance.ErrUnsupported)
	case m.Bits != 4 && m.Bits != 8:
		return nil, fmt.Errorf("%w: product quantization with %d bits", lance.ErrUnsupported, m.Bits)
	case m.Dim != s.Dim:
		return nil, fmt.Errorf("%w: codes of %d dimensions under centroids of %d", lance.ErrCorrupt, m.Dim, s.Dim)
	case m.Places < 1 || m.Places > m.Dim || m.Dim%m.Places != 0 || m.Bits == 4 && m.Places%2 != 0:
		return nil, fmt.Errorf("%w: %d dimensions in %d sub-vectors of %d bits", lance.ErrCorrupt, m.Dim, m.Places, m.Bits)
	}
	book, err := DecodeTensor(s.Buffer)
	if err != nil {
		return nil, fmt.Errorf("codebook: %w", err)
	}
	if len(book.Values) != m.Dim<<m.Bits {
		return nil, fmt.Errorf("%w: codebook of %d numbers for %d dimensions of %d bits", lance.ErrCorrupt, len(book.Values), m.Dim, m.Bits)
	}
	p := &product{metric: s.Metric, element: s.Element, bits: m.Bits, places: m.Places, width: m.Dim / m.Places, transposed: m.Transposed}
	p.tables = tablesOf(vector.Dot, book.Values, p.width<<m.Bits, p.width)
	if s.Metric != vector.Dot {
		for centroid := range slices.Chunk(book.Values, p.width) {
			square := float32(0)
			for _, x := range centroid {
				square += x * x
			}
			p.squares = append(p.squares, square)
		}
	}
	return p, nil
}

// tablesOf returns one table per place of a codebook. place is the number of elements per place, width the
// length of a sub-vector.
func tablesOf(metric vector.Metric, codebook []float32, place, width int) []*vector.Table {
	var tables []*vector.Table
	for part := range slices.Chunk(codebook, place) {
		tables = append(tables, vector.NewTable(metric, part, width))
	}
	return tables
}

// rowBytes is the length of a code.
func (p *product) rowBytes() int { return p.places * p.bits / 8 }

func (p *product) Columns() []Column { return []Column{{"__pq_code", arrow.UINT8, p.rowBytes()}} }
func (p *product) Bytes() int64 {
	return int64(p.places)*vector.TableBytes(1<<p.bits, p.width) + 4*int64(len(p.squares))
}

func (p *product) QueryBytes() int64 {
	return 4*256*int64(p.rowBytes()) + vector.CodeTableBytes(p.rowBytes())
}

// arrange computes the part of the distance of each row that is the same for all queries.
func (p *product) arrange(codes *Codes) {
	if p.squares == nil || codes.Rows == 0 {
		return
	}
	entries := p.products(codes.Centroid)
	for i, square := range p.squares {
		entries[i] = square - 2*entries[i]
	}
	codes.Offsets = make([]float32, codes.Rows)
	p.addSums(p.table(entries), codes, 0, codes.Offsets)
}

// Prepare computes the products of the query with all codebook entries, doubled for the term 2q·p of the
// squared distance.
func (p *product) Prepare(v *Vector) (Prepared, error) {
	entries := p.products(v.Values)
	if p.metric != vector.Dot {
		for i := range entries {
			entries[i] *= 2
		}
	}
	return &productQuery{product: p, vector: v, table: p.table(entries)}, nil
}

// productQuery is a query prepared for all partitions: the table of its products with all codebook entries.
type productQuery struct {
	*product
	vector *Vector
	table  []float32

	onceBounds sync.Once
	bounds     *vector.CodeTable
}

// boundsTable returns the table for lower bounds of distances, made on first use, or nil if the query has
// none.
func (q *productQuery) boundsTable() *vector.CodeTable {
	q.onceBounds.Do(func() { q.bounds = vector.NewCodeTable(q.table) })
	return q.bounds
}

// Meter computes the part of the distance that does not depend on the row: |q-c|² under L2 and cosine, 1
// under dot.
func (q *productQuery) Meter(codes *Codes) Meter {
	m := &productMeter{productQuery: q, codes: codes}
	if q.metric == vector.Dot {
		m.base = 1
		return m
	}
	for i, x := range q.vector.Values {
		d := x - codes.Centroid[i]
		m.base += d * d
	}
	return m
}

// products returns the negative dot products of a vector with the centroids of each place.
func (p *product) products(v []float32) []float32 {
	n := 1 << p.bits
	entries := make([]float32, p.places*n)
	for place, table := range p.tables {
		table.Distances(v[place*p.width:(place+1)*p.width], entries[place*n:(place+1)*n])
	}
	return entries
}

// table expands entries, one per place and centroid, to a table with 256 sums for each byte of a code. A
// byte of two 4-bit codes gets the sum of both entries.
func (p *product) table(entries []float32) []float32 {
	if p.bits == 8 {
		return entries
	}
	pairs := make([]float32, p.places/2*256)
	for i := range p.places / 2 {
		low, high := entries[i*32:i*32+16], entries[i*32+16:i*32+32]
		for code := range 256 {
			pairs[i*256+code] = low[code&15] + high[code>>4]
		}
	}
	return pairs
}

// addSums adds each row's table sums to out. The first row is from. The sums equal those of addSum to the
// last bit.
func (p *product) addSums(table []float32, codes *Codes, from int, out []float32) {
	if !p.transposed {
		for i, sum := range out {
			out[i] = p.addSum(table, codes, from+i, sum)
		}
		return
	}
	columns, rows, n := codes.Columns[0], codes.Rows, len(out)
	byteAt := func(b int) ([]byte, *[256]float32) {
		return columns[b*rows+from:][:n], (*[256]float32)(table[b*256:])
	}
	b := 0
	for ; b+4 <= p.rowBytes(); b += 4 {
		c0, t0 := byteAt(b)
		c1, t1 := byteAt(b + 1)
		c2, t2 := byteAt(b + 2)
		c3, t3 := byteAt(b + 3)
		c1, c2, c3 = c1[:len(c0)], c2[:len(c0)], c3[:len(c0)]
		for i, c := range c0 {
			out[i] += (t0[c] + t1[c1[i]]) + (t2[c2[i]] + t3[c3[i]])
		}
	}
	for ; b < p.rowBytes(); b++ {
		column, entries := byteAt(b)
		for i, c := range column {
			out[i] += entries[c]
		}
	}
}

// addSum returns sum plus the table entries of the bytes of one row.
func (p *product) addSum(table []float32, codes *Codes, row int, sum float32) float32 {
	step, at := codes.Rows, row
	if !p.transposed {
		step, at = 1, row*p.rowBytes()
	}
	column := codes.Columns[0]
	b := 0
	for ; b+4 <= p.rowBytes(); b += 4 {
		t := (*[4 * 256]float32)(table[b*256:])
		c0, c1, c2, c3 := int(column[at]), int(column[at+step]), int(column[at+2*step]), int(column[at+3*step])
		sum += (t[c0] + t[256+c1]) + (t[512+c2] + t[768+c3])
		at += 4 * step
	}
	for ; b < p.rowBytes(); b++ {
		sum += table[b*256+int(column[at])]
		at += step
	}
	return sum
}

// A productMeter adds up distances. Sums that should be 0 may be a little below, and become 0.
type productMeter struct {
	*productQuery
	codes *Codes
	base  float32 // of the distances of all rows
}

// Measure implements Meter.
func (m *productMeter) Measure(from int, out []float32) {
	for i := range out {
		out[i] = m.base
	}
	m.addSums(m.table, m.codes, from, out)
	if m.metric == vector.Dot {
		return
	}
	for i, offset := range m.codes.Offsets[from:][:len(out)] {
		if out[i] += offset; out[i] < 0 {
			out[i] = 0
		}
	}
}

// Near leaves out rows by bounds of their distances, which take a fraction of the time of distances.
func (m *productMeter) Near(from, to int, limit float32, found []Found) []Found {
	if !m.transposed || !(limit < noLimit) {
		return nearOf(m, from, to, limit, found)
	}
	bounds := m.boundsTable()
	if bounds == nil {
		return nearOf(m, from, to, limit, found)
	}
	terms := vector.Terms{Base: m.base}
	if m.metric != vector.Dot {
		terms.Factor, terms.Adds = 1, m.codes.Offsets[from:to]
	}
	var space [nearRows]int32
	for _, row := range bounds.Near(m.codes.Columns[0][from:], m.codes.Rows, to-from, &terms, limit, space[:0]) {
		if d := m.One(from + int(row)); d <= limit {
			found = append(found, Found{from + int(row), d})
		}
	}
	return found
}

// nearRows is the number of near rows that a meter remembers without an allocation.
const nearRows = 256

// One returns the distance of a row. Rounding may make a squared distance slightly negative; it is then 0.
func (m *productMeter) One(row int) float32 {
	distance := m.addSum(m.table, m.codes, row, m.base)
	if m.metric == vector.Dot {
		return distance
	}
	if distance += m.codes.Offsets[row]; distance < 0 {
		return 0
	}
	return distance
}
