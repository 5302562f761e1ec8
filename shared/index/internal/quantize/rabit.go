package quantize

import (
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// rabit is RaBitQ. It rotates the residual, the vector minus the centroid of the partition, and stores each
// dimension with 1 to 9 bits. The first bit is the sign; the others are a magnitude, whose bits are
// inverted if the sign is negative. Two factors of a row turn the inner product of its code and the rotated
// query into the distance.
//
//	_rabit_codes        fixed-size list of bytes: the signs, 1 for positive; see packedRows
//	__add_factors       float32, for the signs alone
//	__scale_factors     float32
//	__error_factors     float32, a bound of the error of the signs alone
//	__blocked_ex_codes  fixed-size list of bytes: the magnitudes; see magnitudeBit
//	__add_factors_ex    float32, for signs and magnitudes
//	__scale_factors_ex  float32
//
// With 1 bit per dimension only the first four columns exist.
type rabit struct {
	metric   vector.Metric
	dim      int
	bits     int // of a dimension: 1 to 9
	rotation *rotation
}

// maxRabitBits bounds the bits of a dimension.
const maxRabitBits = 9

// Words in the metadata.
const (
	rabitFast     = "fast"   // rotation
	rabitMatrix   = "matrix" // rotation
	rabitRawQuery = "raw_query"
)

// newRabit parses the storage_metadata of RQ. Older formats, with another query estimator or unpacked
// codes, are lance.ErrUnsupported.
func newRabit(s Spec) (Quantizer, error) {
	var m struct {
		Signs     []int  `json:"fast_rotation_signs"`
		Rotation  string `json:"rotation_type"`
		Dim       int    `json:"code_dim"`
		Bits      int    `json:"num_bits"`
		Packed    bool   `json:"packed"`
		Estimator string `json:"query_estimator"`
	}
	if err := decode(s, &m); err != nil {
		return nil, err
	}
	switch {
	case s.Metric == vector.Hamming:
		return nil, fmt.Errorf("%w: RaBitQ under hamming", lance.ErrUnsupported)
	case m.Estimator != rabitRawQuery || !m.Packed:
		return nil, fmt.Errorf("%w: RaBitQ of an older format (query_estimator %q, packed %t)", lance.ErrUnsupported, m.Estimator, m.Packed)
	case m.Rotation != rabitFast && m.Rotation != rabitMatrix:
		return nil, fmt.Errorf("%w: RaBitQ with a rotation of type %q", lance.ErrUnsupported, m.Rotation)
	case m.Bits < 1 || m.Bits > maxRabitBits:
		return nil, fmt.Errorf("%w: RaBitQ with %d bits", lance.ErrUnsupported, m.Bits)
	case m.Dim != s.Dim || m.Dim < 1 || m.Dim%8 != 0:
		return nil, fmt.Errorf("%w: codes of %d dimensions under centroids of %d", lance.ErrCorrupt, m.Dim, s.Dim)
	case (m.Rotation == rabitMatrix) != (s.Buffer != nil):
		return nil, fmt.Errorf("%w: rotation of type %q with a matrix of %d bytes", lance.ErrCorrupt, m.Rotation, len(s.Buffer))
	}
	r := &rabit{metric: s.Metric, dim: m.Dim, bits: m.Bits}
	var err error
	r.rotation, err = newRotation(m.Dim, m.Signs, s.Buffer)
	return r, err
}

// magnitude returns the number of bits per dimension beside the sign.
func (r *rabit) magnitude() int { return r.bits - 1 }

func (r *rabit) signWidth() int { return r.dim / 8 }

// Columns returns the columns of a row. Those of the magnitudes exist only with more than one bit per
// dimension.
func (r *rabit) Columns() []Column {
	columns := []Column{
		{"_rabit_codes", arrow.UINT8, r.signWidth()},
		{"__add_factors", arrow.FLOAT32, 0}, {"__scale_factors", arrow.FLOAT32, 0}, {"__error_factors", arrow.FLOAT32, 0},
	}
	if r.bits == 1 {
		return columns
	}
	return append(columns, Column{"__blocked_ex_codes", arrow.UINT8, magnitudeBytes(r.dim, r.magnitude())},
		Column{"__add_factors_ex", arrow.FLOAT32, 0}, Column{"__scale_factors_ex", arrow.FLOAT32, 0})
}

func (r *rabit) Bytes() int64 { return int64(len(r.rotation.signs)) + 4*int64(len(r.rotation.matrix)) }

func (r *rabit) QueryBytes() int64 {
	return 4*256*int64(r.signWidth()+magnitudeBytes(r.dim, r.magnitude())) + vector.CodeTableBytes(r.signWidth())
}

// arrange transposes the signs.
func (r *rabit) arrange(codes *Codes) {
	codes.Columns[0] = unpackSigns(codes.Columns[0], codes.Rows, r.signWidth())
}

// Prepare rotates the query and builds the tables for sign bits and magnitudes.
func (r *rabit) Prepare(v *Vector) (Prepared, error) {
	rotated := make([]float32, r.dim)
	r.rotation.apply(v.Values, rotated)
	q := &rabitQuery{rabit: r, values: v.Values, signs: signTables(rotated)}
	for _, x := range rotated {
		q.sum += x
	}
	if r.bits > 1 {
		q.magnitudes = magnitudeTables(rotated, r.magnitude())
	}
	return q, nil
}

// rabitQuery is a query prepared for all partitions: its rotated values as tables for signs and magnitudes.
type rabitQuery struct {
	*rabit
	values            []float32 // not rotated
	sum               float32   // of the rotated values
	signs, magnitudes byteTables

	onceBounds sync.Once
	bounds     *vector.CodeTable
}

// boundsTable returns the table for bounds of sums by signs, made on first use, or nil if the query has none.
func (q *rabitQuery) boundsTable() *vector.CodeTable {
	q.onceBounds.Do(func() { q.bounds = vector.NewCodeTable(q.signs) })
	return q.bounds
}

// Meter computes the terms of the distance that depend on the centroid of the partition.
func (q *rabitQuery) Meter(codes *Codes) Meter {
	m := &rabitMeter{rabitQuery: q, rows: codes.Rows, codes: codes.Columns, addScale: 1}
	m.bySigns = m.factors(1, 0)
	if q.bits > 1 {
		m.exact = m.factors(5, q.magnitude())
		m.errors = arrow.GetData[float32](codes.Columns[3])
	}
	if q.metric != vector.Dot {
		for i, x := range q.values {
			d := x - codes.Centroid[i]
			m.base += d * d
		}
		m.reach = rabitMargin * float32(math.Sqrt(float64(m.base)))
		return m
	}
	product, square := float32(0), float32(0)
	for i, x := range q.values {
		c := codes.Centroid[i]
		product += x * c
		square += c * c
	}
	// The factor of a row includes a correction for the product with the centroid. It applies to the query
	// in proportion to the query's component along the centroid.
	if m.addScale = product / square; math.IsNaN(float64(m.addScale)) || math.IsInf(float64(m.addScale), 0) {
		m.addScale = 0
	}
	m.base, m.addBase = 1-product, 1
	rest := 0.0
	for i, x := range q.values {
		d := float64(x) - float64(m.addScale)*float64(codes.Centroid[i])
		rest += d * d
	}
	m.reach = rabitMargin * float32(math.Sqrt(rest))
	return m
}

// rabitMargin widens the error bound to about three standard deviations, so that hardly any near row is
// missed.
const rabitMargin = 1.5

// A rabitMeter estimates rows by their signs, and measures near ones by all bits.
type rabitMeter struct {
	*rabitQuery
	rows                    int
	codes                   [][]byte
	bySigns, exact          rabitFactors
	errors                  []float32 // of rows measured by signs, with a query at distance 1
	reach                   float32   // the distance of the query, for the errors
	addBase, addScale, base float32
}

// rabitFactors turn the sum over the bits of a row into its distance.
type rabitFactors struct {
	add, scale []float32 // by row
	zero       float32   // the sum for a code in the middle of the range
}

// factors returns the factors in two columns. Codes are centered around 0, so the middle of the range is
// subtracted from each dimension.
func (m *rabitMeter) factors(column, magnitude int) rabitFactors {
	return rabitFactors{
		add: arrow.GetData[float32](m.codes[column]), scale: arrow.GetData[float32](m.codes[column+1]),
		zero: m.sum * (float32(int(1)<<magnitude) - 0.5),
	}
}

// distance converts the sum over the bits of a row to its distance.
func (m *rabitMeter) distance(f *rabitFactors, row int, sum float32) float32 {
	return (f.add[row]-m.addBase)*m.addScale + f.scale[row]*(sum-f.zero) + m.base
}

// Measure implements Meter.
func (m *rabitMeter) Measure(from int, out []float32) {
	clear(out)
	m.signs.addColumns(m.codes[0][from:], m.rows, out)
	for i, sum := range out {
		out[i] = m.exactly(from+i, sum)
	}
}

// exactly returns the distance of a row by all bits, given its sum over the signs.
func (m *rabitMeter) exactly(row int, sum float32) float32 {
	if m.bits == 1 {
		return m.distance(&m.bySigns, row, sum)
	}
	width := m.magnitudes.len()
	sum *= float32(int(1) << m.magnitude())
	return m.distance(&m.exact, row, m.magnitudes.add(m.codes[4][row*width:], 1, sum))
}

// Near implements Meter. It first estimates rows by their sign bits. Only rows whose estimate, less the
// error bound, is within the limit are measured with all bits. Most others are left out by a bound of their
// estimate, which takes a fraction of the time.
func (m *rabitMeter) Near(from, to int, limit float32, found []Found) []Found {
	if !(limit < noLimit) {
		return nearOf(m, from, to, limit, found)
	}
	consider := func(row int, sum float32) {
		if m.bits > 1 && m.distance(&m.bySigns, row, sum)-m.errors[row]*m.reach > limit {
			return
		}
		if d := m.exactly(row, sum); d <= limit {
			found = append(found, Found{row, d})
		}
	}
	if bounds := m.boundsTable(); bounds != nil {
		terms := m.terms(from, to)
		var space [nearRows]int32
		for _, row := range bounds.Near(m.codes[0][from:], m.rows, to-from, &terms, limit, space[:0]) {
			row := from + int(row)
			consider(row, m.signs.add(m.codes[0][row:], m.rows, 0))
		}
		return found
	}
	var space [nearRows]float32
	for ; from < to; from += nearRows {
		sums := space[:min(nearRows, to-from)]
		clear(sums)
		m.signs.addColumns(m.codes[0][from:], m.rows, sums)
		for i, sum := range sums {
			consider(from+i, sum)
		}
	}
	return found
}

// terms returns the terms of the estimates of rows, less their error bounds.
func (m *rabitMeter) terms(from, to int) vector.Terms {
	abs := func(x float32) float32 { return float32(math.Abs(float64(x))) }
	rest := m.addBase * m.addScale
	terms := vector.Terms{
		Base: m.base - rest, Beside: abs(m.base) + abs(rest), Factor: m.addScale, Zero: m.bySigns.zero,
		Adds: m.bySigns.add[from:to], Scales: m.bySigns.scale[from:to],
	}
	if m.bits > 1 {
		terms.Reach, terms.Errors = m.reach, m.errors[from:to]
	}
	return terms
}

func (m *rabitMeter) One(row int) float32 {
	return m.exactly(row, m.signs.add(m.codes[0][row:], m.rows, 0))
}
