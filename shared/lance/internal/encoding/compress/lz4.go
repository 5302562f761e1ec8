package compress

import (
	"encoding/binary"
	"math/bits"
)

// An lz4Encoder makes LZ4 blocks. A block is a run of sequences of
//
//	u8     literals (high half) and bytes of the match less 4 (low half); 15 means that
//	       bytes follow to be added, up to and including the first that is not 255
//	       the rest of the number of literals, and the literals
//	u16    how far back the match begins
//	       the rest of the length of the match
//
// The last sequence has literals only, at least 5 of them. Source: lz4_Block_format.md of LZ4. Five
// times the word "lance", 25 bytes, become
//
//	5b              5 literals; the match has 11 + 4 bytes
//	6c 61 6e 63 65  lance
//	05 00           the match begins 5 bytes before its copy, and overlaps it
//	50              5 literals, no match: the last sequence
//	6c 61 6e 63 65  lance
//
// The encoder finds matches by a hash of their first bytes: of four bytes in small blocks, because
// numbers often agree in few bytes only, and of six bytes in larger blocks, in which any four bytes
// have occurred before, but rarely at the beginning of the longest match.
type lz4Encoder struct {
	last  [1 << lz4HashBits]uint32 // where bytes of this hash were seen last
	shift int                      // drops the bytes of a word that are not hashed
}

const (
	lz4HashBits   = 13
	lz4MinMatch   = 4
	lz4MaxBack    = 1<<16 - 1
	lz4SmallBlock = 1 << 15
	lz4EndMatches = 12 // no match begins in the last bytes of a block,
	lz4EndBytes   = 5  // or goes on in these
	lz4Patience   = 6  // after 1<<6 bytes without a match it tries every second position, and so on
)

// append appends the LZ4 block of plain to b.
func (e *lz4Encoder) append(b, plain []byte) []byte {
	clear(e.last[:])
	if e.shift = 64 - 8*4; len(plain) > lz4SmallBlock {
		e.shift = 64 - 8*6
	}
	done := 0
	for at := 1; ; {
		match, from := e.find(plain, at)
		if match < 0 {
			return appendSequence(b, plain[done:], 0, 0)
		}
		for match > done && from > 0 && plain[match-1] == plain[from-1] {
			match--
			from--
		}
		n := lz4MinMatch + commonBytes(plain[match+lz4MinMatch:len(plain)-lz4EndBytes], plain[from+lz4MinMatch:])
		b = appendSequence(b, plain[done:match], match-from, n)
		done = match + n
		if at = done; at <= len(plain)-lz4EndMatches {
			*e.slot(binary.LittleEndian.Uint64(plain[at-2:])) = uint32(at - 2)
		}
	}
}

// find returns the position of the first match from at on and the position of the earlier copy.
// match is -1 if there is none.
func (e *lz4Encoder) find(plain []byte, at int) (match, from int) {
	for tries := 1 << lz4Patience; at < len(plain)-lz4EndMatches; tries++ {
		word := binary.LittleEndian.Uint64(plain[at:])
		slot := e.slot(word)
		from := int(*slot)
		*slot = uint32(at)
		if at-from <= lz4MaxBack && binary.LittleEndian.Uint32(plain[from:]) == uint32(word) {
			return at, from
		}
		at += tries >> lz4Patience
	}
	return -1, 0
}

// slot returns the hash table's entry for positions at which the bytes of word are.
func (e *lz4Encoder) slot(word uint64) *uint32 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio
	return &e.last[word<<e.shift*golden>>(64-lz4HashBits)]
}

// commonBytes returns the length of the common prefix of a and b. b must not be shorter.
func commonBytes(a, b []byte) int {
	n := 0
	for ; n+8 <= len(a); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// appendSequence appends literals, and a match of n bytes whose earlier copy begins back bytes
// before it. There is no match if n is 0.
func appendSequence(b, literals []byte, back, n int) []byte {
	more := max(0, n-lz4MinMatch)
	b = append(b, byte(min(len(literals), 15)<<4|min(more, 15)))
	b = appendLength(b, len(literals))
	b = append(b, literals...)
	if n == 0 {
		return b
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(back))
	return appendLength(b, more)
}

// appendLength appends the part of a length that does not fit in its half of the token.
func appendLength(b []byte, n int) []byte {
	if n < 15 {
		return b
	}
	for n -= 15; n >= 255; n -= 255 {
		b = append(b, 255)
	}
	return append(b, byte(n))
}
