package encoding

import (
	"encoding/binary"
	"math"

	"tiltyard/shared/lance/pb"
)

// Variable values of a chunk are offsets and bytes in one buffer:
//
//	0              (n+1) × u32 or u64  where each value begins and the last one ends,
//	                                   counted from the start of this buffer
//	(n+1)*width    bytes of all values, then padding
type variableChunks struct {
	width int // bytes of an offset: 4 or 8
}

func newVariableChunks(c *pb.Variable, s *shape) (chunkCodec, error) {
	width, err := offsetWidth(c)
	if err != nil {
		return nil, err
	}
	if s.kind != shapeVariable {
		return nil, corruptf("variable encoding for values of fixed width")
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
		return 0, corruptf("offsets of %d bits", bits)
	}
	return bits / 8, nil
}

func (variableChunks) buffers() int { return 1 }

func (c variableChunks) decode(dst *values, bufs [][]byte, n int) error {
	buf := bufs[0]
	offsets, err := chunkOffsets(buf, n, c.width)
	if err != nil {
		return err
	}
	return dst.appendStrings(buf, offsets)
}

// appendStrings appends the variable values that the offsets delimit in buf.
func (v *values) appendStrings(buf []byte, offsets []int32) error {
	first, last := offsets[0], offsets[len(offsets)-1]
	shift := int64(len(v.data)) - int64(first)
	if int64(last)+shift > math.MaxInt32 {
		return errTooLarge
	}
	v.data = append(v.data, buf[first:last]...)
	for _, offset := range offsets[1:] {
		v.offsets = append(v.offsets, int32(int64(offset)+shift))
	}
	v.n += len(offsets) - 1
	return nil
}

// chunkOffsets returns the offsets of the n values of a chunk, which end within it.
func chunkOffsets(buf []byte, n, width int) ([]int32, error) {
	offsets, err := parseOffsets(buf, n, width)
	if err != nil {
		return nil, err
	}
	if int(offsets[0]) < width*(n+1) || int(offsets[n]) > len(buf) {
		return nil, corruptf("variable values from %d to %d in a buffer of %d bytes", offsets[0], offsets[n], len(buf))
	}
	return offsets, nil
}

// parseOffsets returns the n+1 offsets of the given width at the start of buf. They are
// not negative and ascend. The result may be part of buf.
func parseOffsets(buf []byte, n, width int) ([]int32, error) {
	if n >= len(buf)/width || len(buf) > math.MaxInt32 {
		return nil, corruptf("%d variable values in a buffer of %d bytes", n, len(buf))
	}
	var offsets []int32
	if width == 4 {
		offsets = viewAs[int32](buf[:4*(n+1)])
	} else {
		offsets = make([]int32, n+1)
		for i := range offsets {
			// What is too large turns negative and is found below.
			offsets[i] = int32(min(binary.LittleEndian.Uint64(buf[8*i:]), math.MaxUint32))
		}
	}
	last := int32(0)
	for _, offset := range offsets {
		if offset < last {
			return nil, corruptf("offset %d of a variable value comes after %d", offset, last)
		}
		last = offset
	}
	return offsets, nil
}
