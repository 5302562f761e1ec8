package codec

import (
	"encoding/binary"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/bitpack"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// runChunks are chunks of values and the number of times that each is repeated, in two buffers:
//
//	values   one per run, of 8, 16, 32 or 64 bits
//	lengths  one u8 per run (u16 or u32 in newer writers); longer runs are split
//
// The last run of a chunk may reach past the chunk's values. The u16 7, 7, 7, 9 are
//
//	07 00 09 00   values
//	03 01         lengths
type runChunks struct {
	valueBytes, lengthBytes int
}

func newRunChunks(c *pb.RLE, s *values.Shape) (ChunkDecoder, error) {
	runs, err := parseRuns(c)
	if err != nil {
		return nil, err
	}
	return runs, WantFixed(s, 8*runs.valueBytes, "runs")
}

// parseRuns validates the widths of values and run lengths.
func parseRuns(c *pb.RLE) (runChunks, error) {
	valueBits, err := flatBits(c.Values)
	if err != nil {
		return runChunks{}, err
	}
	lengthBits, err := flatBits(c.RunLengths)
	if err != nil {
		return runChunks{}, err
	}
	switch {
	case valueBits != 8 && valueBits != 16 && valueBits != 32 && valueBits != 64:
		return runChunks{}, lance.Corruptf("runs of values of %d bits", valueBits)
	case lengthBits != 8 && lengthBits != 16 && lengthBits != 32:
		return runChunks{}, lance.Corruptf("run lengths of %d bits", lengthBits)
	}
	return runChunks{valueBits / 8, lengthBits / 8}, nil
}

func (runChunks) Buffers() int { return 2 }

// Decode checks that the runs cover n values, and expands them.
func (r runChunks) Decode(dst *values.Values, bufs [][]byte, n int) error {
	runs := len(bufs[0]) / r.valueBytes
	if len(bufs[1])/r.lengthBytes < runs {
		return lance.Corruptf("%d runs with %d bytes of lengths", runs, len(bufs[1]))
	}
	if r.total(bufs[1], runs) < uint64(n) {
		return lance.Corruptf("runs end before %d values", n)
	}
	out := dst.ExtendFixed(n)
	switch r.valueBytes {
	case 1:
		expandRuns(r, out, bufs[0], bufs[1])
	case 2:
		expandRuns(r, values.ViewAs[uint16](out), values.ViewAs[uint16](bufs[0]), bufs[1])
	case 4:
		expandRuns(r, values.ViewAs[uint32](out), values.ViewAs[uint32](bufs[0]), bufs[1])
	case 8:
		expandRuns(r, values.ViewAs[uint64](out), values.ViewAs[uint64](bufs[0]), bufs[1])
	}
	return nil
}

// length returns the length of run i.
func (r runChunks) length(lengths []byte, i int) int {
	switch r.lengthBytes {
	case 1:
		return int(lengths[i])
	case 2:
		return int(binary.LittleEndian.Uint16(lengths[2*i:]))
	}
	return int(binary.LittleEndian.Uint32(lengths[4*i:]))
}

// total returns the sum of the lengths.
func (r runChunks) total(lengths []byte, runs int) uint64 {
	sum := uint64(0)
	for i := range runs {
		sum += uint64(r.length(lengths, i))
	}
	return sum
}

// expandRuns fills out with the values of the runs, which cover at least its length.
func expandRuns[T bitpack.Integer](r runChunks, out, runs []T, lengths []byte) {
	for i := 0; len(out) > 0; i++ {
		n := min(r.length(lengths, i), len(out))
		for k := range out[:n] {
			out[k] = runs[i]
		}
		out = out[n:]
	}
}

// runEncoder encodes integers, or any values of 8, 16, 32 or 64 bits, as runs of equal values in
// the buffers that runChunks describes.
type runEncoder[T bitpack.Integer] struct {
	values []T
	bits   int
}

// RunBytes returns the bytes of the runs in chunks of ChunkValues, but at most limit.
func RunBytes[T bitpack.Integer](numbers []T, bits, limit int) int {
	size := 0
	for len(numbers) > 0 && size < limit {
		n := min(len(numbers), ChunkValues)
		size += (bits/8 + 1) * countRuns(numbers[:n])
		numbers = numbers[n:]
	}
	return min(size, limit)
}

// NewRunEncoder returns a run-length encoder of integers of the given width.
func NewRunEncoder[T bitpack.Integer](numbers []T, bits int) ChunkEncoder {
	return &runEncoder[T]{numbers, bits}
}

func (c *runEncoder[T]) Codec() pb.Codec {
	return &pb.RLE{Values: &pb.Flat{BitsPerValue: uint64(c.bits)}, RunLengths: &pb.Flat{BitsPerValue: 8}}
}

func (c *runEncoder[T]) Buffers() int { return 2 }

// Fit limits a chunk by the number of runs: each takes the bytes of a value and one length byte.
func (c *runEncoder[T]) Fit(first int) (int, bool) {
	rest := c.values[first:min(len(c.values), first+ChunkValues)]
	n, left := 0, ChunkBytes/(c.bits/8+1)
	for n < len(rest) && left > 0 {
		n += runLength(rest[n:])
		left--
	}
	return max(2, n), false
}

// Append writes the values of the runs, then their lengths of one byte each.
func (c *runEncoder[T]) Append(b []byte, from, to int, sizes []int) []byte {
	start := len(b)
	numbers := c.values[from:to]
	for i := 0; i < len(numbers); i += runLength(numbers[i:]) {
		b = append(b, values.BytesOf(numbers[i:i+1])...)
	}
	sizes[0] = len(b) - start
	b = PadTo8(b, start)
	lengths := len(b)
	for i := 0; i < len(numbers); {
		n := runLength(numbers[i:])
		b = append(b, byte(n))
		i += n
	}
	sizes[1] = len(b) - lengths
	return PadTo8(b, start)
}

const maxRun = 255 // a run length is one byte

func countRuns[T bitpack.Integer](numbers []T) int {
	runs := 0
	for i := 0; i < len(numbers); runs++ {
		i += runLength(numbers[i:])
	}
	return runs
}

// runLength returns how often the first value occurs at the start of numbers without a break, at
// most maxRun.
func runLength[T bitpack.Integer](numbers []T) int {
	limit := min(len(numbers), maxRun)
	n := 1
	for n < limit && numbers[n] == numbers[0] {
		n++
	}
	return n
}
