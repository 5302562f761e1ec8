package quantize

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/vector"
)

// product is product quantization: a vector is cut into sub-vectors of the same length, and each is
// stored as the number of the nearest of 2^bits centroids that the codebook has for its place. Under
// L2 and cosine it is the residual, vector minus centroid of the partition, that is cut.
//
//	__pq_code  fixed-size list of bytes, one for each sub-vector; with 4 bits one for two
//	           of them, the first in the low half
//
// The bytes of a partition are transposed: those of all rows for the first place, then for the second.
// Only if the metadata denies it they lie row by row.
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
}

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
	metric := vector.L2
	if s.Metric == vector.Dot {
		metric = vector.Dot
	}
	p.tables = tablesOf(metric, book.Values, p.width<<m.Bits, p.width)
	return p, nil
}

// tablesOf returns the tables of a codebook, of which the part of each place has so many numbers.
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
func (p *product) Bytes() int64      { return int64(p.places) * vector.TableBytes(1<<p.bits, p.width) }
func (p *product) QueryBytes() int64 { return 4 * 256 * int64(p.rowBytes()) }

func (p *product) Prepare(v *Vector) (Prepared, error) {
	q := &productQuery{product: p, vector: v}
	if p.metric == vector.Dot {
		q.table = p.table(v.Values)
	}
	return q, nil
}

type productQuery struct {
	*product
	vector *Vector
	table  []float32 // for all partitions, under dot
}

func (q *productQuery) Meter(codes *Codes) Meter {
	m := &productMeter{product: q.product, codes: codes, table: q.table}
	if m.table == nil {
		m.table = q.product.table(q.residual(codes.Centroid))
	}
	if q.metric == vector.Dot {
		m.base = 1
	}
	return m
}

// residual returns the query minus the centroid of a partition.
func (q *productQuery) residual(centroid []float32) []float32 {
	residual := make([]float32, len(centroid))
	for i, x := range q.vector.Values {
		residual[i] = x - centroid[i]
	}
	if q.element == arrow.FLOAT16 {
		RoundHalf(residual)
	}
	return residual
}

// table returns what each byte of a code adds to the distance: 256 numbers for each byte.
func (p *product) table(query []float32) []float32 {
	entries := 1 << p.bits
	single := make([]float32, p.places*entries)
	for place, table := range p.tables {
		table.Distances(query[place*p.width:(place+1)*p.width], single[place*entries:(place+1)*entries])
	}
	if p.bits == 8 {
		return single
	}
	pairs := make([]float32, p.places/2*256)
	for i := range p.places / 2 {
		low, high := single[i*32:i*32+16], single[i*32+16:i*32+32]
		for code := range 256 {
			pairs[i*256+code] = low[code&15] + high[code>>4]
		}
	}
	return pairs
}

type productMeter struct {
	*product
	codes *Codes
	table []float32
	base  float32 // of the distance
}

func (m *productMeter) Measure(from int, _ float32, out []float32) {
	if !m.transposed {
		for i := range out {
			out[i] = m.One(from + i)
		}
		return
	}
	for i := range out {
		out[i] = m.base
	}
	codes, rows, n := m.codes.Columns[0], m.codes.Rows, len(out)
	byteAt := func(b int) ([]byte, *[256]float32) {
		return codes[b*rows+from:][:n], (*[256]float32)(m.table[b*256:])
	}
	b := 0
	for ; b+4 <= m.rowBytes(); b += 4 {
		c0, t0 := byteAt(b)
		c1, t1 := byteAt(b + 1)
		c2, t2 := byteAt(b + 2)
		c3, t3 := byteAt(b + 3)
		c1, c2, c3 = c1[:len(c0)], c2[:len(c0)], c3[:len(c0)]
		for i, c := range c0 {
			out[i] += (t0[c] + t1[c1[i]]) + (t2[c2[i]] + t3[c3[i]])
		}
	}
	for ; b < m.rowBytes(); b++ {
		column, table := byteAt(b)
		for i, c := range column {
			out[i] += table[c]
		}
	}
}

func (m *productMeter) One(row int) float32 {
	codes, step, at := m.codes.Columns[0], m.codes.Rows, row
	if !m.transposed {
		step, at = 1, row*m.rowBytes()
	}
	sum := m.base
	for b := range m.rowBytes() {
		sum += m.table[b*256+int(codes[at])]
		at += step
	}
	return sum
}
