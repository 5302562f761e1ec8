package encoding

import (
	"encoding/binary"

	"tiltyard/shared/lance/pb"
)

// A textEncoder compresses text with the symbols of one table (see fsst.go). At each
// position it takes the longest symbol that it finds.
//
// Symbols of three bytes and more are found by a hash of the first three, which leads to
// two places for them; what does not fit there is not a symbol. Shorter ones are found
// by two bytes, and every byte has an escape at least. What is past the end of a text
// reads as a rare byte, and no symbol of more than one byte has it: nothing matches past
// the end.
type textEncoder struct {
	symbols []textSymbol
	short   [1 << 16]textStep
	long    [longSlots][2]textMatch // longer symbols first
	end     uint64                  // the rare byte, eight times
	ratio   float64                 // of compressed to plain text, in what the symbols were made for
}

// A textSymbol is what a code stands for.
type textSymbol struct {
	val  uint64 // first byte lowest, zeros above
	size int
}

// A textMatch is a symbol that a text may go on with.
type textMatch struct {
	val, mask uint64
	step      textStep
}

// A textStep says what to do at a position of a text:
//
//	bits 0-7    the code to put
//	bit 8       it is an escape, and the byte itself comes after it
//	bits 12-15  how many bytes of text it stands for
type textStep uint16

const (
	escapeStep  textStep = 1<<12 | 1<<8 | fsstEscape
	stepEscapes          = 8
	stepSize             = 12
)

const longSlots = 1024

func longSlot(word uint64) uint64 { return (word & 0xffffff) * 0x9E3779B97F4A7C15 >> 54 }

// noMatch is a match that never is one.
var noMatch = textMatch{val: 1}

// newTextEncoder returns an encoder without symbols for texts that hardly have the byte
// end.
func newTextEncoder(end byte) *textEncoder {
	e := &textEncoder{end: uint64(end) * 0x0101010101010101}
	e.reset()
	return e
}

// reset takes all symbols away.
func (e *textEncoder) reset() {
	e.symbols = e.symbols[:0]
	for i := range e.short {
		e.short[i] = escapeStep
	}
	for i := range e.long {
		e.long[i] = [2]textMatch{noMatch, noMatch}
	}
}

// add makes s a symbol if there is a place for it.
func (e *textEncoder) add(s textSymbol) bool {
	step := textStep(s.size<<stepSize | len(e.symbols))
	switch {
	case s.size == 1:
		for next := range 256 {
			if at := &e.short[next<<8|int(s.val)]; *at>>stepSize == 1 {
				*at = step
			}
		}
	case s.size == 2:
		e.short[s.val] = step
	case !e.addLong(textMatch{s.val, lowBytes(s.size), step}):
		return false
	}
	e.symbols = append(e.symbols, s)
	return true
}

func (e *textEncoder) addLong(m textMatch) bool {
	slot := &e.long[longSlot(m.val)]
	if slot[1] != noMatch {
		return false
	}
	if slot[1] = m; m.mask > slot[0].mask {
		slot[0], slot[1] = slot[1], slot[0]
	}
	return true
}

// lowBytes is a mask of the n lowest bytes, up to eight.
func lowBytes(n int) uint64 { return ^uint64(0) >> (64 - 8*n) }

// step returns what to do about text that goes on with these bytes.
func (e *textEncoder) step(word uint64) textStep {
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

// encode puts the codes of text into out, which has room for twice its size, and returns
// how many bytes they are.
func (e *textEncoder) encode(out, text []byte) int {
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

// firstBytes returns the first eight bytes of text and what is past its end.
func (e *textEncoder) firstBytes(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text)
	}
	word := e.end
	for i, b := range text {
		word = word&^(0xff<<(8*i)) | uint64(b)<<(8*i)
	}
	return word
}

// table returns the symbol table.
func (e *textEncoder) table() []byte {
	b := make([]byte, 8, fsstTableBytes)
	binary.LittleEndian.PutUint64(b, fsstMagic<<32|1<<24|e.end&0xff<<8|uint64(len(e.symbols)))
	for _, s := range e.symbols {
		b = binary.LittleEndian.AppendUint64(b, s.val)
	}
	for _, s := range e.symbols {
		b = append(b, byte(s.size))
	}
	return b[:fsstTableBytes]
}

// wrap describes what has been compressed.
func (e *textEncoder) wrap(inner pb.Codec) pb.Codec {
	return &pb.FSST{SymbolTable: e.table(), Values: inner}
}

// compressText returns the values with their texts compressed.
func (e *textEncoder) compressText(v *values) *values {
	out := newValues(v.shape)
	out.n = v.n
	out.offsets = make([]int32, v.n+1)
	out.data = make([]byte, len(v.data)/2+1024)
	n := 0
	for i := range v.n {
		text := v.data[v.offsets[i]:v.offsets[i+1]]
		if room := n + 2*len(text); room > len(out.data) {
			out.data = append(out.data, make([]byte, max(room-len(out.data), len(out.data)/2))...)
		}
		n += e.encode(out.data[n:], text)
		out.offsets[i+1] = int32(n)
	}
	out.data = out.data[:n]
	return out
}
