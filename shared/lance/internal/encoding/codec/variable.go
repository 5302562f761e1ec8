package codec

import (
	"encoding/binary"
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// variableChunks are chunks of variable values: offsets and bytes in one buffer.
//
//	0              (n+1) × u32 or u64  where each value begins and the last one ends,
//	                                   counted from the start of this buffer
//	(n+1)*width    bytes of all values, then padding
//
// The values "a", "" and "bcd" with offsets of u32 are
//
//	10 00 00 00 11 00 00 00 11 00 00 00 14 00 00 00   16, 17, 17, 20
//	61 62 63 64                                       abcd
type variableChunks struct {
	width int // bytes of an offset: 4 or 8
}

func newVariableChunks(c *pb.Variable, s *values.Shape) (ChunkDecoder, error) {
	width, err := offsetWidth(c)
	if err != nil {
		return nil, err
	}
	if s.Kind != values.Variable {
		return nil, lance.Corruptf("variable encoding for values of fixed width")
	}
	return variableChunks{width}, nil
}

// offsetWidth returns the size in bytes of the offsets of variable values.
func offsetWidth(c *pb.Variable) (int, error) {
	if c.Values != nil {
		return 0, unsupportedCodec("variable values with buffer compression", c)
	}
	bits, err := flatBits(c.Offsets)
	if err != nil {
		return 0, err
	}
	if bits != 32 && bits != 64 {
		return 0, lance.Corruptf("offsets of %d bits", bits)
	}
	return bits / 8, nil
}

func (variableChunks) Buffers() int { return 1 }

func (c variableChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	buf := bufs[0]
	offsets, err := chunkOffsets(buf, n, c.width)
	if err != nil {
		return err
	}
	return dst.AppendStrings(buf, offsets)
}

// chunkOffsets returns the offsets of the n values of a chunk, after a check that the values end
// within it.
func chunkOffsets(buf []byte, n, width int) ([]int32, error) {
	offsets, err := ParseOffsets(buf, n, width)
	if err != nil {
		return nil, err
	}
	if int(offsets[0]) < width*(n+1) || int(offsets[n]) > len(buf) {
		return nil, lance.Corruptf("variable values from %d to %d in a buffer of %d bytes", offsets[0], offsets[n], len(buf))
	}
	return offsets, nil
}

// ParseOffsets returns the n+1 offsets of the given width at the start of buf, after a check that
// they ascend from 0 or more. The result may share memory with buf.
func ParseOffsets(buf []byte, n, width int) ([]int32, error) {
	if n >= len(buf)/width || len(buf) > math.MaxInt32 {
		return nil, lance.Corruptf("%d variable values in a buffer of %d bytes", n, len(buf))
	}
	var offsets []int32
	if width == 4 {
		offsets = values.ViewAs[int32](buf[:4*(n+1)])
	} else {
		offsets = make([]int32, n+1)
		for i := range offsets {
			// A value beyond int32 becomes negative and is rejected below.
			offsets[i] = int32(min(binary.LittleEndian.Uint64(buf[8*i:]), math.MaxUint32))
		}
	}
	last := int32(0)
	for _, offset := range offsets {
		if offset < last {
			return nil, lance.Corruptf("offset %d of a variable value comes after %d", offset, last)
		}
		last = offset
	}
	return offsets, nil
}

// variableEncoder encodes strings: first offsets, one more than there are values, which count from
// the start of the buffer, then the bytes.
//
//	u32|u64 × (n+1)   offsets
//	bytes             padded to a multiple of the width of an offset
type variableEncoder struct {
	values *values.Values
	width  int // bytes of an offset
	most   int // bytes of a chunk
}

// stringPad fills up the bytes; it is the native writer's choice.
const stringPad = 'H'

// NewVariableEncoder returns an encoder of variable values. Each offset takes width bytes,
// and no chunk is longer than most bytes.
func NewVariableEncoder(v *values.Values, width, most int) ChunkEncoder {
	return &variableEncoder{values: v, width: width, most: most}
}

func (c *variableEncoder) Codec() pb.Codec {
	return &pb.Variable{Offsets: &pb.Flat{BitsPerValue: uint64(8 * c.width)}}
}

func (c *variableEncoder) Buffers() int { return 1 }

// Fit counts values until their bytes and offsets exceed the largest chunk, but at least two.
func (c *variableEncoder) Fit(first int) (int, bool) {
	offsets := c.values.Offsets
	end := min(c.values.N, first+ChunkValues)
	n := first
	for n < end && int(offsets[n+1]-offsets[first])+(n+2-first)*c.width <= c.most {
		n++
	}
	return max(2, n-first), false
}

// Append writes the offsets, counted from the start of the chunk, and then the bytes.
func (c *variableEncoder) Append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	offsets := c.values.Offsets[from : to+1]
	shift := uint64((to-from+1)*c.width) - uint64(offsets[0])
	if c.width == 4 {
		for _, o := range offsets {
			b = binary.LittleEndian.AppendUint32(b, uint32(uint64(o)+shift))
		}
	} else {
		for _, o := range offsets {
			b = binary.LittleEndian.AppendUint64(b, uint64(o)+shift)
		}
	}
	b = append(b, c.values.Data[offsets[0]:offsets[to-from]]...)
	for (len(b)-start)%c.width != 0 {
		b = append(b, stringPad)
	}
	sizes[0] = len(b) - start
	return PadTo8(b, start)
}

// Word returns the integer of 1, 2, 4 or 8 bytes at the start of b, little-endian.
func Word(b []byte, width int) uint64 {
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// ControlBytes returns the size of the control word of a full-zip page, by the number of bits of
// both levels.
func ControlBytes(bits int) int {
	switch {
	case bits == 0:
		return 0
	case bits <= 8:
		return 1
	case bits <= 16:
		return 2
	}
	return 4
}

// AppendWord appends the size low bytes of v, little-endian.
func AppendWord(b []byte, v uint64, size int) []byte {
	switch size {
	case 0:
		return b
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}
