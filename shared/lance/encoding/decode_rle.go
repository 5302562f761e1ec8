package encoding

import (
	"encoding/binary"

	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/pb"
)

// Runs are values and how often each is repeated, in two buffers:
//
//	values   one per run, of 8, 16, 32 or 64 bits
//	lengths  one u8 per run (u16 or u32 in newer writers); longer runs are split
//
// The last run of a chunk may reach past the chunk's values.
type runChunks struct {
	valueBytes, lengthBytes int
}

func newRunChunks(c *pb.RLE, s *shape) (chunkCodec, error) {
	runs, err := parseRuns(c)
	if err != nil {
		return nil, err
	}
	return runs, wantFixed(s, 8*runs.valueBytes, "runs")
}

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
		return runChunks{}, corruptf("runs of values of %d bits", valueBits)
	case lengthBits != 8 && lengthBits != 16 && lengthBits != 32:
		return runChunks{}, corruptf("run lengths of %d bits", lengthBits)
	}
	return runChunks{valueBits / 8, lengthBits / 8}, nil
}

func (runChunks) buffers() int { return 2 }

func (r runChunks) decode(dst *values, bufs [][]byte, n int) error {
	runs := len(bufs[0]) / r.valueBytes
	if len(bufs[1])/r.lengthBytes < runs {
		return corruptf("%d runs with %d bytes of lengths", runs, len(bufs[1]))
	}
	if r.total(bufs[1], runs) < uint64(n) {
		return corruptf("runs end before %d values", n)
	}
	out := dst.extendFixed(n)
	switch r.valueBytes {
	case 1:
		expandRuns(r, out, bufs[0], bufs[1])
	case 2:
		expandRuns(r, viewAs[uint16](out), viewAs[uint16](bufs[0]), bufs[1])
	case 4:
		expandRuns(r, viewAs[uint32](out), viewAs[uint32](bufs[0]), bufs[1])
	case 8:
		expandRuns(r, viewAs[uint64](out), viewAs[uint64](bufs[0]), bufs[1])
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

// expandRuns fills out with runs, which are enough for it.
func expandRuns[T bitpack.Integer](r runChunks, out, runs []T, lengths []byte) {
	for i := 0; len(out) > 0; i++ {
		n := min(r.length(lengths, i), len(out))
		for k := range out[:n] {
			out[k] = runs[i]
		}
		out = out[n:]
	}
}
