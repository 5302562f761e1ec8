package encoding

import (
	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/pb"
)

// runEncoder are integers, or anything else of 8, 16, 32 or 64 bits, as runs of equal
// ones: two buffers (see runChunks).
type runEncoder[T bitpack.Integer] struct {
	values []T
	bits   int
}

// runBytes returns what runs in chunks of chunkValues take, or limit if that is more.
func runBytes[T bitpack.Integer](values []T, bits, limit int) int {
	size := 0
	for len(values) > 0 && size < limit {
		n := min(len(values), chunkValues)
		size += (bits/8 + 1) * countRuns(values[:n])
		values = values[n:]
	}
	return min(size, limit)
}

func (c *runEncoder[T]) codec() pb.Codec {
	return &pb.RLE{Values: &pb.Flat{BitsPerValue: uint64(c.bits)}, RunLengths: &pb.Flat{BitsPerValue: 8}}
}

func (c *runEncoder[T]) buffers() int { return 2 }

func (c *runEncoder[T]) fit(first int) (int, bool) {
	rest := c.values[first:min(len(c.values), first+chunkValues)]
	n, left := 0, chunkBytes/(c.bits/8+1)
	for n < len(rest) && left > 0 {
		n += runLength(rest[n:])
		left--
	}
	return max(2, n), false
}

func (c *runEncoder[T]) append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	values := c.values[from:to]
	for i := 0; i < len(values); i += runLength(values[i:]) {
		b = append(b, bytesOf(values[i:i+1])...)
	}
	sizes[0] = len(b) - start
	b = padTo8(b, start)
	lengths := len(b)
	for i := 0; i < len(values); {
		n := runLength(values[i:])
		b = append(b, byte(n))
		i += n
	}
	sizes[1] = len(b) - lengths
	return padTo8(b, start)
}

const maxRun = 255 // what the length of a run can say

func countRuns[T bitpack.Integer](values []T) int {
	runs := 0
	for i := 0; i < len(values); runs++ {
		i += runLength(values[i:])
	}
	return runs
}

// runLength returns how often the first value is repeated, itself included, as far as a
// length can say.
func runLength[T bitpack.Integer](values []T) int {
	limit := min(len(values), maxRun)
	n := 1
	for n < limit && values[n] == values[0] {
		n++
	}
	return n
}
