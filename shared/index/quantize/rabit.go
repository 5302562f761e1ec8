package quantize

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/vector"
)

// rabit is RaBitQ: of the residual, vector minus centroid of the partition, each dimension is stored with
// 1 to 9 bits after a rotation. The first is its sign; the others are a magnitude, which is stored with
// all its bits inverted if the sign is negative. Two factors of a row turn the inner product of its code
// and the rotated query into the distance.
//
//	_rabit_codes        fixed-size list of bytes: the signs, 1 for positive; see packedRows
//	__add_factors       float32, for the signs alone
//	__scale_factors     float32
//	__error_factors     float32, a bound of the error of the signs alone
//	__blocked_ex_codes  fixed-size list of bytes: the magnitudes; see magnitudeBit
//	__add_factors_ex    float32, for signs and magnitudes
//	__scale_factors_ex  float32
//
// With 1 bit there are only the first four columns.
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

// magnitude is how many bits a dimension has besides its sign.
func (r *rabit) magnitude() int { return r.bits - 1 }

func (r *rabit) signWidth() int { return r.dim / 8 }

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
	return 4 * 256 * int64(r.signWidth()+magnitudeBytes(r.dim, r.magnitude()))
}

// arrange unpacks the signs.
func (r *rabit) arrange(codes *Codes) {
	codes.Columns[0] = unpackSigns(codes.Columns[0], codes.Rows, r.signWidth())
}

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

type rabitQuery struct {
	*rabit
	values            []float32 // not rotated
	sum               float32   // of the rotated values
	signs, magnitudes []byteTable
}

func (q *rabitQuery) Meter(codes *Codes) Meter {
	m := &rabitMeter{rabitQuery: q, codes: codes.Columns, addScale: 1}
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
	// The factor of a row corrects the product with the centroid. A query has as much of it as it has of
	// the direction of the centroid.
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

// rabitMargin is by how much the bound of an error is widened: to about three standard deviations, so
// that hardly any row is left out that is near.
const rabitMargin = 1.5

// A rabitMeter measures rows by their signs and, of those that may be near enough, by all bits.
type rabitMeter struct {
	*rabitQuery
	codes                   [][]byte
	bySigns, exact          rabitFactors
	errors                  []float32 // of rows measured by signs, with a query at distance 1
	reach                   float32   // the distance of the query, for the errors
	addBase, addScale, base float32
}

// rabitFactors turn the sums of the bits of rows into distances.
type rabitFactors struct {
	add, scale []float32 // by row
	zero       float32   // the sum of bits that is in the middle
}

// factors returns those in two columns. Codes lie around 0: from the bits of each dimension the middle of
// their range is taken off.
func (m *rabitMeter) factors(column, magnitude int) rabitFactors {
	return rabitFactors{
		add: arrow.GetData[float32](m.codes[column]), scale: arrow.GetData[float32](m.codes[column+1]),
		zero: m.sum * (float32(int(1)<<magnitude) - 0.5),
	}
}

// distance returns the distance of a row from the sum of its bits.
func (m *rabitMeter) distance(f *rabitFactors, row int, sum float32) float32 {
	return (f.add[row]-m.addBase)*m.addScale + f.scale[row]*(sum-f.zero) + m.base
}

func (m *rabitMeter) Measure(from int, limit float32, out []float32) {
	clear(out)
	addSums(m.signs, m.codes[0][from*m.signWidth():], out)
	if m.bits == 1 {
		for i, sum := range out {
			out[i] = m.distance(&m.bySigns, from+i, sum)
		}
		return
	}
	weight := float32(int(1) << m.magnitude())
	for i, sum := range out {
		if m.distance(&m.bySigns, from+i, sum)-m.errors[from+i]*m.reach > limit {
			out[i] = noLimit
		} else {
			out[i] = weight * sum
		}
	}
	addSums(m.magnitudes, m.codes[4][from*len(m.magnitudes):], out)
	for i, sum := range out {
		if sum < noLimit {
			out[i] = m.distance(&m.exact, from+i, sum)
		}
	}
}

func (m *rabitMeter) One(row int) float32 {
	var out [1]float32
	m.Measure(row, noLimit, out[:])
	return out[0]
}
