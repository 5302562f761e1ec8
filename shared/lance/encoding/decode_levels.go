package encoding

import (
	"math"

	"tiltyard/shared/lance/pb"
)

// levelShape is the shape of levels: u16.
var levelShape = fixedShape(16)

// checkLevels returns an error unless c is a codec of levels, or nil.
func checkLevels(c pb.Codec) error {
	if c == nil {
		return nil
	}
	bits, err := integerBits(c)
	if err == nil && bits != 16 {
		err = corruptf("levels of %d bits", bits)
	}
	return err
}

// appendLevels appends the n levels of a block to dst.
func appendLevels(dst []uint16, c pb.Codec, buf []byte, n int) ([]uint16, error) {
	block := newValues(levelShape)
	block.fixed, block.n = bytesOf(dst[:cap(dst)])[:2*len(dst)], len(dst)
	if err := decodeBlock(block, c, buf, n); err != nil {
		return nil, err
	}
	if block.n != len(dst)+n {
		return nil, corruptf("%d levels, want %d", block.n-len(dst), n)
	}
	return viewAs[uint16](block.fixed[:cap(block.fixed)])[:block.n], nil
}

// countLevels returns how many levels a chunk has that says it has n. That count is 16
// bits wide and wraps around when run lengths hold more; they know better.
func countLevels(n int, c pb.Codec, buf []byte) (int, error) {
	rle, ok := c.(*pb.RLE)
	if !ok {
		return n, nil
	}
	runs, err := parseRuns(rle)
	if err != nil {
		return 0, err
	}
	bufs, err := splitRunBlock(buf)
	if err != nil {
		return 0, err
	}
	total := runs.total(bufs[1], min(len(bufs[0])/runs.valueBytes, len(bufs[1])/runs.lengthBytes))
	if total%(math.MaxUint16+1) == uint64(n) && total < math.MaxInt32 {
		return int(total), nil
	}
	return n, nil
}

// rawLevels16 returns levels that are stored as they are; an empty buffer stands for
// none and yields nil.
func rawLevels16(buf []byte, n int) ([]uint16, error) {
	if len(buf) == 0 {
		return nil, nil
	}
	if len(buf) != 2*n {
		return nil, corruptf("%d levels in %d bytes", n, len(buf))
	}
	return viewAs[uint16](buf), nil
}
