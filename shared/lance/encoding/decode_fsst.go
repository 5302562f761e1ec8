package encoding

import (
	"math"
	"slices"

	"tiltyard/shared/lance/encoding/fsst"
	"tiltyard/shared/lance/pb"
)

// fsstChunks are variable values whose bytes are FSST codes: each value is compressed by
// itself with the page's symbol table, and the chunk is laid out like variable ones.
type fsstChunks struct {
	table *fsst.Table
	width int
}

func newFSSTChunks(c *pb.FSST, s *shape) (chunkCodec, error) {
	inner, ok := c.Values.(*pb.Variable)
	if !ok {
		return nil, unsupportedCodec("compressed text", c.Values)
	}
	width, err := offsetWidth(inner)
	if err != nil {
		return nil, err
	}
	if s.kind != shapeVariable {
		return nil, corruptf("text compression for values of fixed width")
	}
	table, err := fsst.ParseTable(c.SymbolTable)
	return fsstChunks{table, width}, err
}

func (fsstChunks) buffers() int { return 1 }

func (c fsstChunks) decode(dst *values, bufs [][]byte, n int) error {
	buf := bufs[0]
	offsets, err := chunkOffsets(buf, n, c.width)
	if err != nil {
		return err
	}
	if c.table.Plain {
		return dst.appendStrings(buf, offsets)
	}
	return dst.appendCodes(c.table, buf, offsets)
}

// appendCodes appends the text of the values that the offsets delimit in buf.
func (v *values) appendCodes(t *fsst.Table, buf []byte, offsets []int32) error {
	n := len(offsets) - 1
	// One reservation for all of them keeps the loop free of allocation.
	v.data = reserve(v.data, fsst.MaxSymbol*int(offsets[n]-offsets[0]+1))
	v.offsets = slices.Grow(v.offsets, n)
	text, end := v.data[:cap(v.data)], len(v.data)
	ends := v.offsets[len(v.offsets) : len(v.offsets)+n]
	for i := range ends {
		var err error
		if end, err = t.Decode(text, end, buf[offsets[i]:offsets[i+1]]); err != nil {
			return err
		}
		ends[i] = int32(end)
	}
	if end > math.MaxInt32 {
		return errTooLarge
	}
	v.data, v.offsets = text[:end], v.offsets[:len(v.offsets)+n]
	v.n += n
	return nil
}

// appendText returns dst with the text of the codes at its end.
func appendText(t *fsst.Table, dst, codes []byte) ([]byte, error) {
	if t.Plain {
		return append(dst, codes...), nil
	}
	start := len(dst)
	dst = reserve(dst, fsst.MaxSymbol*len(codes)+fsst.MaxSymbol)
	n, err := t.Decode(dst[:cap(dst)], start, codes)
	return dst[:n], err
}
