package codec

import "tiltyard/shared/lance/pb"

// Limits of the chunks that are written. They keep the size of a chunk within the 12 bits of a
// chunk word of version 2.1, in units of 8 bytes.
const (
	ChunkValues = 4096 // most values of a chunk
	ChunkBytes  = 8000 // most bytes of its values
	chunkPad    = 0xfe // fills up its buffers
)

// A ChunkEncoder compresses the values of chunks.
type ChunkEncoder interface {
	Codec() pb.Codec
	Buffers() int // of each chunk
	// Fit returns how many values from first on fit in a chunk. If exact is false, a chunk may hold
	// any smaller number too; otherwise it holds exactly n values or all that remain.
	Fit(first int) (n int, exact bool)
	// Append appends the buffers of values [from, to) to b, each padded by PadTo8, and puts their
	// sizes without padding into sizes.
	Append(b []byte, from, to int, sizes []int) []byte
}

// PadTo8 pads b so that the part since start is a multiple of 8 bytes.
func PadTo8(b []byte, start int) []byte {
	for (len(b)-start)&7 != 0 {
		b = append(b, chunkPad)
	}
	return b
}
