package inverted

import "encoding/binary"

// A pool holds many growing streams of bytes, most of them short. A stream is a chain of chunks in the
// blocks of the pool. A chunk is
//
//	data    of a size that grows from chunk to chunk
//	u32     the address of the next chunk, if there is one
//
// An address has the number of a block in the high 16 bits, and an offset in the block in the low 16.
type pool struct {
	blocks [][]byte
	used   int // bytes of the last block
}

const (
	poolBlock  = 1 << 16
	poolBlocks = 1 << 16 // as many as addresses can name
	linkBytes  = 4
)

// chunkBytes are the data sizes of the chunks along a chain. The last one repeats.
var chunkBytes = [...]uint16{8, 16, 32, 64, 128, 256, 512, 1024}

// A stream is a chain of chunks that bytes are added to. The zero stream is empty.
type stream struct {
	first uint32 // address of the first chunk
	at    uint32 // address of the next byte
	left  uint16 // bytes that the last chunk has room for
	level uint8  // number of chunk sizes used
}

// put adds a byte to a stream.
func (p *pool) put(s *stream, b byte) {
	if s.left == 0 {
		p.extend(s)
	}
	p.blocks[s.at>>16][s.at&(poolBlock-1)] = b
	s.at++
	s.left--
}

// varint adds a number to a stream, 7 bits in a byte and the lowest first.
func (p *pool) varint(s *stream, value uint64) {
	for ; value >= 0x80; value >>= 7 {
		p.put(s, byte(value)|0x80)
	}
	p.put(s, byte(value))
}

// extend adds a chunk to a stream.
func (p *pool) extend(s *stream) {
	level := min(s.level, uint8(len(chunkBytes)-1))
	size := int(chunkBytes[level]) + linkBytes
	if len(p.blocks) == 0 || p.used+size > poolBlock {
		p.blocks, p.used = append(p.blocks, make([]byte, poolBlock)), 0
	}
	next := uint32(len(p.blocks)-1)<<16 | uint32(p.used)
	p.used += size
	if s.level == 0 {
		s.first = next
	} else {
		binary.LittleEndian.PutUint32(p.blocks[s.at>>16][s.at&(poolBlock-1):], next)
	}
	s.at, s.left, s.level = next, chunkBytes[level], level+1
}

// bytes returns the size of the blocks.
func (p *pool) bytes() int64 { return int64(len(p.blocks)) * poolBlock }

// reader returns a reader from the beginning of a stream. The caller must know the end of the stream.
func (p *pool) reader(s *stream) streamReader { return streamReader{pool: p, at: s.first} }

// A streamReader reads the bytes of a stream.
type streamReader struct {
	pool  *pool
	at    uint32
	left  uint16
	level uint8
}

// byte returns the next byte. At the end of a chunk it follows the address to the next one, whose size
// depends on its place in the chain.
func (r *streamReader) byte() byte {
	if r.left == 0 {
		if r.level > 0 {
			r.at = binary.LittleEndian.Uint32(r.pool.blocks[r.at>>16][r.at&(poolBlock-1):])
		}
		level := min(r.level, uint8(len(chunkBytes)-1))
		r.left, r.level = chunkBytes[level], level+1
	}
	b := r.pool.blocks[r.at>>16][r.at&(poolBlock-1)]
	r.at++
	r.left--
	return b
}

// varint reads an unsigned LEB128 number. The collector has written it, so its length needs no check.
func (r *streamReader) varint() uint64 {
	value := uint64(0)
	for shift := 0; ; shift += 7 {
		b := r.byte()
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}
