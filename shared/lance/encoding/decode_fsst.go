package encoding

import (
	"math"

	"tiltyard/shared/lance/pb"
)

// fsstChunks are variable values whose bytes are FSST codes: each value is compressed by
// itself with the page's symbol table, and the chunk is laid out like variable ones.
type fsstChunks struct {
	table *symbolTable
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
	table, err := parseSymbolTable(c.SymbolTable)
	return fsstChunks{table, width}, err
}

func (fsstChunks) buffers() int { return 1 }

func (c fsstChunks) decode(dst *values, bufs [][]byte, n int) error {
	buf := bufs[0]
	offsets, err := chunkOffsets(buf, n, c.width)
	if err != nil {
		return err
	}
	if c.table.plain {
		return dst.appendStrings(buf, offsets)
	}
	// One reservation for the whole chunk keeps the loop free of allocation.
	dst.data = reserve(dst.data, fsstMaxSymbol*int(offsets[n]-offsets[0]+1))
	for i := range n {
		if dst.data, err = c.table.decode(dst.data, buf[offsets[i]:offsets[i+1]]); err != nil {
			return err
		}
		if len(dst.data) > math.MaxInt32 {
			return errTooLarge
		}
		dst.offsets = append(dst.offsets, int32(len(dst.data)))
	}
	dst.n += n
	return nil
}
