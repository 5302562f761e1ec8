package inverted

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
)

// A coding is the encoding of the blocks of posting lists.
//
// A full block, of 128 documents:
//
//	0   f32     the maximal score of a document, by the partition's own counts
//	4   u32     the first document
//	8   u8      bits of a distance
//	9   [16·b]  the distance of each document from the one before it, 0 for the first; packed
//	    u8      bits of a frequency
//	    [16·b]  the frequency of the term in each document; packed
//
// Of 256 documents: without the f32; the frequencies are packed without the high bits of some:
//
//	u8 bits, u8 number of exceptions, [32·b] packed, then for each exception u8 its place and
//	varint its high bits
//
// A last block that is not full: the f32 if full blocks have it, then the documents and then the
// frequencies, as u32 or as varints. In varints each document but the first is written as the distance from
// its predecessor.
//
// Source: scalar/inverted/encoding.rs of crate lance-index.
type coding struct {
	block  int  // documents of a full block, 128 or 256
	varint bool // in blocks that are not full
}

// maxBlock is the maximal number of documents in a block.
const maxBlock = 256

// A block is a decoded part of a posting list: ascending documents, and the frequency of the term in each.
// The slices alias the decoder's memory.
type block struct{ documents, frequencies []uint32 }

// decode decodes a block of n documents into the memory of b, which has room for a full block.
func (c coding) decode(data []byte, n int, b *block) error {
	r := &reader{data: data}
	if c.scored() {
		r.bytes(4)
	}
	b.documents, b.frequencies = b.documents[:n], b.frequencies[:n]
	if n == c.block {
		c.full(r, b)
	} else {
		c.rest(r, b)
	}
	if r.err == nil && len(r.data) > 0 {
		r.fail("%d bytes after the last frequency", len(r.data))
	}
	if r.err != nil {
		return r.err
	}
	return b.check()
}

// scored reports whether blocks begin with their maximal score.
func (c coding) scored() bool { return c.block != maxBlock }

// lanes returns the number of interleaved bit streams of the values of a full block.
func (c coding) lanes() int { return c.block / 32 }

// full decodes a full block. Documents are the running sums of the distances.
func (c coding) full(r *reader, b *block) {
	first := r.uint32()
	r.packed(b.documents, c.lanes())
	addUp(b.documents, first)
	if c.scored() {
		r.packed(b.frequencies, c.lanes())
		return
	}
	c.patched(r, b.frequencies)
}

// patched reads frequencies, some of which have more bits than the packed width.
func (c coding) patched(r *reader, values []uint32) {
	bits, exceptions := r.byte(), int(r.byte())
	r.unpack(values, int(bits), c.lanes())
	for range exceptions {
		at, high := int(r.byte()), r.varint()
		if r.err != nil {
			return
		}
		if at >= len(values) || bits >= 32 {
			r.fail("an exception for frequency %d of %d bits", at, bits)
			return
		}
		values[at] |= high << bits
	}
}

// rest reads a block that is not full.
func (c coding) rest(r *reader, b *block) {
	if !c.varint {
		r.plain(b.documents)
		r.plain(b.frequencies)
		return
	}
	at := uint32(0)
	for i := range b.documents {
		at += r.varint()
		b.documents[i] = at
	}
	for i := range b.frequencies {
		b.frequencies[i] = r.varint()
	}
}

// check sees to it that documents ascend and have the term.
func (b *block) check() error {
	if ascend(b.documents, b.frequencies) {
		return nil
	}
	for i, d := range b.documents {
		if i > 0 && d <= b.documents[i-1] || b.frequencies[i] == 0 {
			return fmt.Errorf("%w: document %d, %d times, is out of order", lance.ErrCorrupt, d, b.frequencies[i])
		}
	}
	return nil
}

// A reader decodes numbers from bytes. After an error it returns zeros.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{lance.ErrCorrupt}, args...)...)
	}
}

// bytes returns the next n bytes, or nil if fewer remain.
func (r *reader) bytes(n int) []byte {
	if n > len(r.data) {
		r.fail("%d bytes where %d are read", len(r.data), n)
		r.data = nil
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// varint reads an unsigned LEB128 number of up to 32 bits.
func (r *reader) varint() uint32 {
	value := uint32(0)
	for shift := 0; shift < 35; shift += 7 {
		if shift/7 >= len(r.data) {
			r.fail("a number goes on after the last byte")
			r.data = nil
			return 0
		}
		b := r.data[shift/7]
		value |= uint32(b&0x7f) << shift
		if b < 0x80 {
			r.data = r.data[shift/7+1:]
			return value
		}
	}
	r.fail("a number of more than 32 bits")
	r.data = nil
	return 0
}

// plain reads little-endian u32 values.
func (r *reader) plain(values []uint32) {
	b := r.bytes(4 * len(values))
	if b == nil {
		clear(values)
		return
	}
	for i := range values {
		values[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
}

// packed reads the number of bits per value, and the values.
func (r *reader) packed(values []uint32, lanes int) {
	r.unpack(values, int(r.byte()), lanes)
}

// unpack reads values of some bits. Value i is in lane i mod lanes; a lane is a stream of bits,
// the lowest first, in words of 32, and the words of the lanes take turns.
func (r *reader) unpack(values []uint32, bits, lanes int) {
	if bits > 32 {
		r.fail("numbers of %d bits", bits)
		return
	}
	data := r.bytes(len(values) * bits / 8)
	if data == nil || bits == 0 {
		clear(values)
		return
	}
	unpack(values, data, bits, lanes)
}
