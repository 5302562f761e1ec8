// Package fsst compresses short texts, each by itself: it replaces frequent pieces of text, up
// to eight bytes long, by codes of one byte. A page's symbol table is part of its description
// and always takes 2312 bytes:
//
//	   0  u64        bits 0-7 number of symbols n, bit 24 set when the data really is
//	                 compressed, bits 32-63 the magic "TSSF"; the rest helps the encoder
//	   8  n × [8]    symbols, first byte first, the unused end is arbitrary
//	8+8n  n × u8     their lengths in bytes, 1 to 8
//	      ...        unused
//
// Compressed text is a run of codes. Code 255 means that the next byte stands for itself; any other
// code is the number of a symbol. If symbol 0 is "lance" and symbol 1 is "db", then "lancedb!" is
//
//	00        lance
//	01        db
//	ff 21     !
//
// Source: crate fsst of lance; "FSST: Fast Random Access String Compression" (Boncz,
// Neumann, Leis).
package fsst

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
)

// Sizes of symbol tables and of their symbols.
const (
	TableBytes = 2312 // of a stored symbol table
	MaxSymbol  = 8    // bytes of the longest symbol

	magic  = 0x46535354
	escape = 255
)

// A Table decodes compressed text. It does not change after it has been made.
type Table struct {
	Plain   bool // the text is not compressed after all
	symbols [256]uint64
	lengths [256]uint8 // 0 for codes that no symbol has
}

// ParseTable reads a stored symbol table; damage is [lance.ErrCorrupt].
func ParseTable(b []byte) (*Table, error) {
	if len(b) != TableBytes {
		return nil, fmt.Errorf("%w: symbol table of %d bytes, want %d", lance.ErrCorrupt, len(b), TableBytes)
	}
	header := binary.LittleEndian.Uint64(b)
	if header>>32 != magic {
		return nil, fmt.Errorf("%w: symbol table without its magic number", lance.ErrCorrupt)
	}
	t := &Table{Plain: header>>24&1 == 0}
	n := int(header & 0xff)
	if t.Plain {
		return t, nil
	}
	lengths := b[8+8*n:]
	for i := range n {
		t.symbols[i] = binary.LittleEndian.Uint64(b[8+8*i:])
		t.lengths[i] = lengths[i]
		if l := lengths[i]; l == 0 || l > MaxSymbol {
			return nil, fmt.Errorf("%w: symbol %d is %d bytes long", lance.ErrCorrupt, i, l)
		}
	}
	return t, nil
}

// Decode writes the text of the codes in src to out from position n on, and returns where the text
// ends. out must have [MaxSymbol] bytes of room for each code and for one more. The table must not
// be Plain.
func (t *Table) Decode(out []byte, n int, src []byte) (int, error) {
	for i := 0; i < len(src); i++ {
		code := src[i]
		// Eight bytes are written whatever the length: the next symbol overwrites the rest.
		binary.LittleEndian.PutUint64(out[n:], t.symbols[code])
		length := int(t.lengths[code])
		n += length
		if length > 0 {
			continue
		}
		if code != escape {
			return n, fmt.Errorf("%w: compressed text has code %d without a symbol", lance.ErrCorrupt, code)
		}
		i++
		if i == len(src) {
			return n, fmt.Errorf("%w: compressed text ends in an escape", lance.ErrCorrupt)
		}
		out[n] = src[i]
		n++
	}
	return n, nil
}
