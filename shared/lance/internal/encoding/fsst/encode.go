package fsst

import (
	"encoding/binary"
	"slices"
)

// An Encoder compresses text with the symbols of one table. At each position it takes the longest
// symbol that matches.
//
// A hash of the first three bytes finds a symbol of three bytes or more: it leads to a slot with
// room for two of them, and a candidate that finds its slot full does not become a symbol. The
// first two bytes find a shorter symbol, and each byte has at least an escape. Past the end of a
// text the encoder reads a byte that is rare in the sample, which occurs in no symbol of more than
// one byte; thus no symbol matches past the end.
type Encoder struct {
	symbols []symbol
	short   [1 << 16]step
	long    [longSlots][2]match // longer symbols first
	end     uint64              // the rare byte, eight times
	Ratio   float64             // compressed to plain size in the training sample
}

// A symbol is the piece of text that a code stands for.
type symbol struct {
	val  uint64 // first byte lowest, zeros above
	size int
}

// A match is a symbol that the text at a position may begin with.
type match struct {
	val, mask uint64
	step      step
}

// A step is the encoder's action at a position of a text:
//
//	bits 0-7    the code to put
//	bit 8       it is an escape, and the byte itself comes after it
//	bits 12-15  how many bytes of text it stands for
type step uint16

const (
	escapeStep  step = 1<<12 | 1<<8 | escape
	stepEscapes      = 8
	stepSize         = 12
)

const longSlots = 1024

func longSlot(word uint64) uint64 { return (word & 0xffffff) * 0x9E3779B97F4A7C15 >> 54 }

// noMatch matches no text: its mask is 0 and its value is not.
var noMatch = match{val: 1}

// newEncoder returns an encoder without symbols for texts in which the byte end is rare.
func newEncoder(end byte) *Encoder {
	e := &Encoder{end: uint64(end) * 0x0101010101010101}
	e.reset()
	return e
}

// reset removes all symbols.
func (e *Encoder) reset() {
	e.symbols = e.symbols[:0]
	for i := range e.short {
		e.short[i] = escapeStep
	}
	for i := range e.long {
		e.long[i] = [2]match{noMatch, noMatch}
	}
}

// add makes s a symbol if its slot has room.
func (e *Encoder) add(s symbol) bool {
	step := step(s.size<<stepSize | len(e.symbols))
	switch {
	case s.size == 1:
		for next := range 256 {
			if at := &e.short[next<<8|int(s.val)]; *at>>stepSize == 1 {
				*at = step
			}
		}
	case s.size == 2:
		e.short[s.val] = step
	case !e.addLong(match{s.val, lowBytes(s.size), step}):
		return false
	}
	e.symbols = append(e.symbols, s)
	return true
}

// addLong inserts a symbol of three or more bytes into its hash slot, longest first. It returns
// false if the slot is full.
func (e *Encoder) addLong(m match) bool {
	slot := &e.long[longSlot(m.val)]
	if slot[1] != noMatch {
		return false
	}
	if slot[1] = m; m.mask > slot[0].mask {
		slot[0], slot[1] = slot[1], slot[0]
	}
	return true
}

// lowBytes is a mask of the n lowest bytes, n from 1 to 8.
func lowBytes(n int) uint64 { return ^uint64(0) >> (64 - 8*n) }

// step returns the action for a text that continues with the bytes of word, first byte lowest.
func (e *Encoder) step(word uint64) step {
	step := e.short[uint16(word)]
	slot := &e.long[longSlot(word)]
	if word&slot[1].mask == slot[1].val {
		step = slot[1].step
	}
	if word&slot[0].mask == slot[0].val {
		step = slot[0].step
	}
	return step
}

// encode writes the codes of text to out, which has room for twice the size of text, and returns
// the number of bytes that it wrote.
func (e *Encoder) encode(out, text []byte) int {
	n, i := 0, 0
	for ; i+8 <= len(text); n++ {
		word := binary.LittleEndian.Uint64(text[i:])
		step := e.step(word)
		binary.LittleEndian.PutUint16(out[n:], uint16(step&0xff)|uint16(word)<<8)
		n += int(step >> stepEscapes & 1)
		i += int(step >> stepSize)
	}
	left := len(text) - i
	for word := e.firstBytes(text[i:]); left > 0; n++ {
		step := e.step(word)
		out[n] = byte(step)
		if step>>stepEscapes&1 != 0 {
			n++
			out[n] = byte(word)
		}
		size := step >> stepSize
		left -= int(size)
		word = word>>(8*size) | e.end<<(64-8*size)
	}
	return n
}

// firstBytes returns the first eight bytes of text, with the rare byte in place of bytes past its
// end.
func (e *Encoder) firstBytes(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text)
	}
	word := e.end
	for i, b := range text {
		word = word&^(0xff<<(8*i)) | uint64(b)<<(8*i)
	}
	return word
}

// Table returns the symbol table in its stored form.
func (e *Encoder) Table() []byte {
	b := make([]byte, 8, TableBytes)
	binary.LittleEndian.PutUint64(b, magic<<32|1<<24|e.end&0xff<<8|uint64(len(e.symbols)))
	for _, s := range e.symbols {
		b = binary.LittleEndian.AppendUint64(b, s.val)
	}
	for _, s := range e.symbols {
		b = append(b, byte(s.size))
	}
	return b[:TableBytes]
}

// Compress compresses each of the texts that the offsets delimit in data. It returns the codes, and
// the offsets that delimit them.
func (e *Encoder) Compress(data []byte, offsets []int32) (codes []byte, ends []int32) {
	ends = make([]int32, len(offsets))
	codes = make([]byte, len(data)/2+1024)
	n := 0
	for i := range len(offsets) - 1 {
		text := data[offsets[i]:offsets[i+1]]
		if room := n + 2*len(text); room > len(codes) {
			codes = slices.Concat(codes[:n], make([]byte, max(room, len(codes)*3/2)-n))
		}
		n += e.encode(codes[n:], text)
		ends[i+1] = int32(n)
	}
	return codes[:n], ends
}
