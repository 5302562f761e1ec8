package quantize

import (
	"encoding/json"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
)

// An Encoder encodes the vectors of a segment. It is immutable and safe for concurrent use.
type Encoder interface {
	// Columns returns the columns of a row's code.
	Columns() []Column
	// Residual reports whether Encode expects residuals: vectors minus the centroid of their partition.
	Residual() bool
	// Encode writes the codes of vectors to out, row by row, each with its columns one after another.
	// partitions has the partition of each vector. out has [RowBytes] of Columns for each vector.
	Encode(v *Vectors, partitions []uint32, out []byte)
	// Store returns the columns of a partition from the codes of its rows.
	Store(codes []byte, rows int) [][]byte
	// Buffer is the global buffer that the metadata refer to; nil is none.
	Buffer() []byte
	// Metadata returns the metadata of the quantizer as JSON, with the number of the buffer.
	Metadata(buffer int) ([]byte, error)
}

// A Decoder is an Encoder that can also reconstruct approximate vectors from codes.
type Decoder interface {
	Encoder
	// Decode writes the approximate vector of a code. out has an element for each dimension.
	Decode(code []byte, out []float32)
}

// split converts codes from row-major order to one slice per column.
func split(codes []byte, rows int, columns []Column) [][]byte {
	if len(columns) == 1 {
		return [][]byte{codes}
	}
	var parts [][]byte
	from, width := 0, RowBytes(columns)
	for _, c := range columns {
		to := from + c.RowBytes()
		part := make([]byte, 0, rows*c.RowBytes())
		for row := range rows {
			part = append(part, codes[row*width+from:row*width+to]...)
		}
		parts, from = append(parts, part), to
	}
	return parts
}

// A flatEncoder stores vectors unchanged.
type flatEncoder struct{ flat }

// NewFlatEncoder returns the FLAT encoder for vectors of dim elements.
func NewFlatEncoder(element arrow.Type, dim int) Decoder {
	return &flatEncoder{flat{column: Column{"flat", element, width(element, dim)}}}
}

func (*flatEncoder) Residual() bool { return false }
func (*flatEncoder) Buffer() []byte { return nil }

func (f *flatEncoder) Store(codes []byte, rows int) [][]byte { return split(codes, rows, f.Columns()) }

func (f *flatEncoder) Encode(v *Vectors, _ []uint32, out []byte) {
	switch f.column.Element {
	case arrow.FLOAT16:
		copy(out, arrow.Uint16Traits.CastToBytes(vector.RoundToFloat16(v.Values)))
	case arrow.FLOAT64:
		copy(out, arrow.Float64Traits.CastToBytes(v.Wide))
	case arrow.UINT8:
		copy(out, PackBits(v.Values))
	default:
		copy(out, arrow.Float32Traits.CastToBytes(v.Values))
	}
}

func (f *flatEncoder) Decode(code []byte, out []float32) {
	if f.column.Element == arrow.UINT8 {
		appendBits(out[:0], code)
		return
	}
	t := Tensor{Element: f.column.Element, Rows: 1, Width: f.column.Width}
	t.read(code)
	copy(out, t.Values)
}

func (f *flatEncoder) Metadata(int) ([]byte, error) {
	return json.Marshal(map[string]int{"dim": f.column.Width})
}

// A scalarEncoder makes the codes of SQ.
type scalarEncoder struct{ scalar }

// scalarBits is the length of a code of SQ.
const scalarBits = 8

// NewScalarEncoder returns the SQ encoder. The sample determines its bounds.
func NewScalarEncoder(sample *Vectors) Decoder {
	s := &scalarEncoder{scalar{dim: sample.Dim, start: math.MaxFloat64, end: -math.MaxFloat64}}
	for i, x := range sample.Values {
		wide := float64(x)
		if sample.Wide != nil {
			wide = sample.Wide[i]
		}
		s.start, s.end = min(s.start, wide), max(s.end, wide)
	}
	return s
}

func (*scalarEncoder) Residual() bool { return false }
func (*scalarEncoder) Buffer() []byte { return nil }

// Step returns the distance between two vectors whose codes differ by 1 in one place. Under L2, the distance
// of any two vectors is that of their codes times this.
func (s *scalarEncoder) Step() float32 { return float32(s.end-s.start) / 255 }

func (s *scalarEncoder) Store(codes []byte, rows int) [][]byte {
	return split(codes, rows, s.Columns())
}

func (s *scalarEncoder) Encode(v *Vectors, _ []uint32, out []byte) {
	if v.Wide != nil {
		for i, x := range v.Wide {
			out[i] = s.quantize(x)
		}
		return
	}
	for i, x := range v.Values {
		out[i] = s.quantize(float64(x))
	}
}

func (s *scalarEncoder) Decode(code []byte, out []float32) {
	step := (s.end - s.start) / 255
	for i, c := range code {
		out[i] = float32(s.start + float64(c)*step)
	}
}

// Metadata returns the storage_metadata of SQ.
func (s *scalarEncoder) Metadata(int) ([]byte, error) {
	var m struct {
		Dim    int `json:"dim"`
		Bits   int `json:"num_bits"`
		Bounds struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
		} `json:"bounds"`
	}
	m.Dim, m.Bits, m.Bounds.Start, m.Bounds.End = s.dim, scalarBits, s.start, s.end
	return json.Marshal(m)
}
