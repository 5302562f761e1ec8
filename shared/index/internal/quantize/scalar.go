package quantize

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// scalar is scalar quantization: each element is stored as one of 256 steps between two bounds.
//
//	__sq_code  fixed-size list of bytes: (x - start) * 255 / (end - start), truncated and
//	           clamped to 0 … 255
//
// Under L2 and cosine the query is quantized too; under dot it is not.
type scalar struct {
	metric     vector.Metric
	dim        int
	start, end float64
}

// newScalar parses the storage_metadata of SQ. Only 8 bits are supported.
func newScalar(s Spec) (Quantizer, error) {
	var m struct {
		Dim    int `json:"dim"`
		Bits   int `json:"num_bits"`
		Bounds struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
		} `json:"bounds"`
	}
	if err := decode(s, &m); err != nil {
		return nil, err
	}
	switch {
	case s.Metric == vector.Hamming:
		return nil, fmt.Errorf("%w: scalar quantization under hamming", lance.ErrUnsupported)
	case m.Bits != 8:
		return nil, fmt.Errorf("%w: scalar quantization with %d bits", lance.ErrUnsupported, m.Bits)
	case m.Dim > vector.MaxBytesL2:
		return nil, fmt.Errorf("%w: scalar quantization of more than %d dimensions", lance.ErrUnsupported, vector.MaxBytesL2)
	case m.Dim != s.Dim:
		return nil, fmt.Errorf("%w: codes of %d dimensions under centroids of %d", lance.ErrCorrupt, m.Dim, s.Dim)
	}
	return &scalar{s.Metric, m.Dim, m.Bounds.Start, m.Bounds.End}, nil
}

func (s *scalar) Columns() []Column { return []Column{{"__sq_code", arrow.UINT8, s.dim}} }
func (s *scalar) Bytes() int64      { return 0 }
func (s *scalar) QueryBytes() int64 { return 4 * int64(s.dim) }

// Prepare quantizes the query under L2 and cosine. Under dot it keeps the query, whose sum is needed for
// the offset of the codes.
func (s *scalar) Prepare(v *Vector) (Prepared, error) {
	q := &scalarQuery{scalar: s, step: float32(s.end-s.start) / 255}
	if s.metric == vector.Dot {
		q.values = v.Values
		for _, x := range v.Values {
			q.sum += x
		}
		return q, nil
	}
	q.code = make([]uint8, s.dim)
	for i, x := range v.Values {
		wide := float64(x)
		if v.Wide != nil {
			wide = v.Wide[i]
		}
		q.code[i] = s.quantize(wide)
	}
	return q, nil
}

// quantize returns the step of a value, clamped to the bounds. NaN becomes 0.
func (s *scalar) quantize(x float64) uint8 {
	if s.start == s.end {
		return 0
	}
	x = (x - s.start) * 255 / (s.end - s.start)
	if math.IsNaN(x) {
		return 0
	}
	return uint8(min(max(x, 0), 255))
}

// scalarQuery is a query prepared for all partitions.
type scalarQuery struct {
	*scalar
	code   []uint8   // under L2 and cosine
	values []float32 // under dot, with their sum
	sum    float32
	step   float32 // between two codes
}

func (q *scalarQuery) Meter(codes *Codes) Meter { return scalarMeter{q, codes.Columns[0]} }

// scalarMeter measures the codes of one partition, which are stored row by row.
type scalarMeter struct {
	*scalarQuery
	codes []byte
}

// scalarRows is the number of rows per call of a kernel.
const scalarRows = 32

func (m scalarMeter) Near(from, to int, limit float32, found []Found) []Found {
	return nearOf(m, from, to, limit, found)
}

func (m scalarMeter) Measure(from int, out []float32) {
	if m.metric == vector.Dot {
		for i := range out {
			out[i] = m.One(from + i)
		}
		return
	}
	var rows [scalarRows]*byte
	var sums [scalarRows]uint32
	square := m.step * m.step
	for len(out) > 0 {
		n := min(len(out), scalarRows)
		for i := range n {
			rows[i] = &m.codes[(from+i)*m.dim]
		}
		vector.BytesL2(m.code, rows[:n], sums[:])
		for i, sum := range sums[:n] {
			out[i] = float32(sum) * square
		}
		from, out = from+n, out[n:]
	}
}

// One returns the distance of a row. Under L2 it is computed between two codes, in integers.
func (m scalarMeter) One(row int) float32 {
	code := m.codes[row*m.dim:][:m.dim]
	if m.metric == vector.Dot {
		return m.dot(code)
	}
	var sum [1]uint32
	vector.BytesL2(m.code, []*byte{&code[0]}, sum[:])
	return float32(sum[0]) * (m.step * m.step)
}

func (m scalarMeter) dot(code []byte) float32 {
	sum := float32(0)
	for i, x := range m.values {
		sum += float32(code[i]) * x
	}
	return 1 - (float32(m.start)*m.sum + m.step*sum)
}
