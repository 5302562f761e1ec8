package quantize

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/float16"
)

// A Tensor is a matrix of numbers: the centroids of partitions, a codebook, a rotation. Its message is
//
//	1  data_type  enum  FLOAT16 1, FLOAT32 2, FLOAT64 3, UINT8 4, others are not used by vector indices
//	2  shape      repeated uint32
//	3  data       bytes, little-endian, row by row
//
// Source: protos/index.proto of the format.
type Tensor struct {
	Element arrow.Type
	Rows    int
	Width   int
	Values  []float32 // Rows times Width numbers; float64 is rounded to float32
	Bytes   []uint8   // the same of UINT8
}

// NewTensor returns a tensor of vectors of dim values; see [DimOf].
func NewTensor(element arrow.Type, dim int, values []float32) *Tensor {
	t := &Tensor{Element: element, Rows: len(values) / dim, Width: width(element, dim), Values: values}
	if element == arrow.UINT8 {
		t.Bytes = PackBits(values)
	}
	return t
}

// TensorOf returns a tensor of the given width of data in little-endian order, row by row.
func TensorOf(element arrow.Type, width int, data []byte) *Tensor {
	t := &Tensor{Element: element, Rows: len(data) / (Column{Element: element, Width: width}).RowBytes(), Width: width}
	t.read(data)
	return t
}

// Unpacked returns the values that NewTensor makes the tensor of.
func (t *Tensor) Unpacked() []float32 {
	if t.Element == arrow.UINT8 {
		return appendBits(make([]float32, 0, 8*len(t.Bytes)), t.Bytes)
	}
	return t.Values
}

// maxDim bounds the width of a tensor, like the dimensions of vectors.
const maxDim = 1 << 16

// TensorMemory estimates the memory of [DecodeTensor] for a message of the given size in bytes.
func TensorMemory(message int64) int64 { return 5 * message }

// DecodeTensor decodes a message of two dimensions.
func DecodeTensor(message []byte) (*Tensor, error) {
	s := pb.NewScanner(message)
	var kind uint64
	var shape []uint64
	var data []byte
	for s.Next() {
		switch s.Num {
		case 1:
			kind = s.Uint64()
		case 2:
			s.Varints(func(n uint64) { shape = append(shape, n) })
		case 3:
			data = s.Bytes()
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%w: tensor: %w", lance.ErrCorrupt, err)
	}
	elements := map[uint64]arrow.Type{1: arrow.FLOAT16, 2: arrow.FLOAT32, 3: arrow.FLOAT64, 4: arrow.UINT8}
	t := &Tensor{Element: elements[kind]}
	if t.Element == arrow.NULL {
		return nil, fmt.Errorf("%w: tensor with elements of type %d", lance.ErrUnsupported, kind)
	}
	if len(shape) != 2 || shape[0] > math.MaxInt32 || shape[1] < 1 || shape[1] > maxDim {
		return nil, fmt.Errorf("%w: tensor of shape %v", lance.ErrCorrupt, shape)
	}
	t.Rows, t.Width = int(shape[0]), int(shape[1])
	if want := t.Rows * (Column{Element: t.Element, Width: t.Width}).RowBytes(); want != len(data) {
		return nil, fmt.Errorf("%w: tensor of shape %v and type %s in %d bytes", lance.ErrCorrupt, shape, t.Element, len(data))
	}
	t.read(data)
	return t, nil
}

// Encode returns the message of the tensor. Values are rounded to its elements.
func (t *Tensor) Encode() []byte {
	kinds := map[arrow.Type]uint64{arrow.FLOAT16: 1, arrow.FLOAT32: 2, arrow.FLOAT64: 3, arrow.UINT8: 4}
	var e pb.Encoder
	e.Uint64(1, kinds[t.Element])
	pb.Packed(&e, 2, []uint32{uint32(t.Rows), uint32(t.Width)})
	e.AlwaysBytes(3, t.Data())
	return e.B
}

// Data encodes the values in little-endian order, row by row. They are rounded to the elements.
func (t *Tensor) Data() []byte {
	var data []byte
	switch t.Element {
	case arrow.FLOAT16:
		for _, h := range vector.RoundToFloat16(t.Values) {
			data = binary.LittleEndian.AppendUint16(data, h)
		}
	case arrow.FLOAT32:
		for _, x := range t.Values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
	case arrow.FLOAT64:
		for _, x := range t.Values {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(x)))
		}
	case arrow.UINT8:
		data = t.Bytes
	}
	return data
}

// read decodes the values. Bytes are kept, too, because Hamming distances need them.
func (t *Tensor) read(data []byte) {
	t.Values = make([]float32, t.Rows*t.Width)
	switch t.Element {
	case arrow.FLOAT16:
		for i := range t.Values {
			t.Values[i] = float16.Widen(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case arrow.FLOAT32:
		for i := range t.Values {
			t.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case arrow.FLOAT64:
		for i := range t.Values {
			t.Values[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
		}
	case arrow.UINT8:
		t.Bytes = append([]uint8{}, data...)
		for i, b := range data {
			t.Values[i] = float32(b)
		}
	}
}
