package encoding

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
)

// FSST replaces frequent pieces of text, up to eight bytes long, by codes of one byte.
// A page's symbol table is part of its description and always takes 2312 bytes:
//
//	   0  u64        bits 0-7 number of symbols n, bit 24 set when the data really is
//	                 compressed, bits 32-63 the magic "TSSF"; the rest helps the encoder
//	   8  n × [8]    symbols, first byte first, the unused end is arbitrary
//	8+8n  n × u8     their lengths in bytes, 1 to 8
//	      ...        unused
//
// Compressed text is a run of codes. Code 255 says that the next byte stands for itself;
// any other code is the number of a symbol.
//
// Source: crate fsst of lance; "FSST: Fast Random Access String Compression" (Boncz,
// Neumann, Leis).

const (
	fsstTableBytes = 2312
	fsstMagic      = 0x46535354
	fsstEscape     = 255
	fsstMaxSymbol  = 8
)

// A symbolTable decodes FSST text. It is not changed after it has been made.
type symbolTable struct {
	plain   bool // the text is not compressed after all
	symbols [256]uint64
	lengths [256]uint8 // 0 for codes that no symbol has
}

func parseSymbolTable(b []byte) (*symbolTable, error) {
	if len(b) != fsstTableBytes {
		return nil, fmt.Errorf("%w: symbol table of %d bytes, want %d", lance.ErrCorrupt, len(b), fsstTableBytes)
	}
	header := binary.LittleEndian.Uint64(b)
	if header>>32 != fsstMagic {
		return nil, fmt.Errorf("%w: symbol table without its magic number", lance.ErrCorrupt)
	}
	t := &symbolTable{plain: header>>24&1 == 0}
	n := int(header & 0xff)
	if t.plain {
		return t, nil
	}
	lengths := b[8+8*n:]
	for i := range n {
		t.symbols[i] = binary.LittleEndian.Uint64(b[8+8*i:])
		t.lengths[i] = lengths[i]
		if l := lengths[i]; l == 0 || l > fsstMaxSymbol {
			return nil, fmt.Errorf("%w: symbol %d is %d bytes long", lance.ErrCorrupt, i, l)
		}
	}
	return t, nil
}

// decode appends the text of the codes in src to dst. Each code is at most
// fsstMaxSymbol bytes; dst is grown once for the worst case.
func (t *symbolTable) decode(dst, src []byte) ([]byte, error) {
	if t.plain {
		return append(dst, src...), nil
	}
	start := len(dst)
	dst = reserve(dst, fsstMaxSymbol*len(src)+fsstMaxSymbol)
	n, err := t.decodeAt(dst[:cap(dst)], start, src)
	return dst[:n], err
}

// decodeAt puts the text of the codes in src into out from position n on, and returns
// where it ends. There must be fsstMaxSymbol bytes of room for each code and for one more.
func (t *symbolTable) decodeAt(out []byte, n int, src []byte) (int, error) {
	for i := 0; i < len(src); i++ {
		code := src[i]
		// Eight bytes are written whatever the length: the next symbol overwrites the rest.
		binary.LittleEndian.PutUint64(out[n:], t.symbols[code])
		length := int(t.lengths[code])
		n += length
		if length > 0 {
			continue
		}
		if code != fsstEscape {
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
