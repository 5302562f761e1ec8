package encoding

import (
	"encoding/binary"

	"tiltyard/shared/lance/pb"
)

// variableEncoder are strings: offsets, one more than values, counted from the start of
// this buffer, and then the bytes.
//
//	u32|u64 × (n+1)   offsets
//	bytes             padded to a multiple of the width of an offset
type variableEncoder struct {
	values *values
	width  int // bytes of an offset
	most   int // bytes of a chunk
}

// stringPad fills up the bytes, as the native writer does.
const stringPad = 'H'

func (c *variableEncoder) codec() pb.Codec {
	return &pb.Variable{Offsets: &pb.Flat{BitsPerValue: uint64(8 * c.width)}}
}

func (c *variableEncoder) buffers() int { return 1 }

func (c *variableEncoder) fit(first int) (int, bool) {
	offsets := c.values.offsets
	end := min(c.values.n, first+chunkValues)
	n := first
	for n < end && int(offsets[n+1]-offsets[first])+(n+2-first)*c.width <= c.most {
		n++
	}
	return max(2, n-first), false
}

func (c *variableEncoder) append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	offsets := c.values.offsets[from : to+1]
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
	b = append(b, c.values.data[offsets[0]:offsets[to-from]]...)
	for (len(b)-start)%c.width != 0 {
		b = append(b, stringPad)
	}
	sizes[0] = len(b) - start
	return padTo8(b, start)
}
