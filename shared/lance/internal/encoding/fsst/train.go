package fsst

import (
	"cmp"
	"slices"
)

const (
	sampleBytes  = 32 << 10 // of text to learn from; pairs of symbols are counted in 16 bits
	samplePlaces = 128
	maxSymbols   = 255 // the last code is the escape
)

// trainParts is the part of the sample, in 16ths, that each training round compresses. In the first
// rounds symbols are short and can at most double in length, so a small part suffices.
var trainParts = [...]int{1, 2, 2, 4, 4, 8, 8, 16, 16}

// Train chooses symbols for texts like those delimited in data by offsets. It starts without
// symbols. Each round compresses a part of a sample, counts the symbols and pairs of successive
// symbols in the result, and keeps the best of them as the next symbols. It returns nil if the
// sample does not shrink by at least a sixteenth.
func Train(data []byte, offsets []int32) *Encoder {
	texts, plain := sample(data, offsets), 0
	for _, text := range texts {
		plain += len(text)
	}
	encoder := newEncoder(rarestByte(texts))
	counts := newSymbolCounts()
	for _, part := range trainParts {
		counts.clear()
		// Take texts at regular distances, so that a part is as mixed as the whole.
		for i := 0; i < len(texts); i += 16 / part {
			counts.add(encoder, texts[i])
		}
		counts.choose(encoder, part/2)
	}
	size := 0
	scratch := make([]byte, 2*sampleBytes)
	for _, text := range texts {
		size += encoder.encode(scratch, text)
	}
	if 16*size > 15*plain {
		return nil // not worth decoding for
	}
	encoder.Ratio = float64(size) / float64(plain)
	return encoder
}

// sample returns pieces of the texts from places evenly spread over the whole. It is deterministic,
// so that equal values make equal files.
func sample(data []byte, offsets []int32) [][]byte {
	var texts [][]byte
	next := 0
	for place := range samplePlaces {
		from := max(next, int(int64(len(data))*int64(place)/samplePlaces))
		next = from + min(len(data)-from, sampleBytes/samplePlaces)
		// The value that the first byte belongs to ends where the first offset is above it.
		at, _ := slices.BinarySearch(offsets, int32(from)+1)
		for ; from < next; at++ {
			to := min(next, int(offsets[at]))
			texts = append(texts, data[from:to])
			from = to
		}
	}
	return texts
}

// rarestByte returns the byte that occurs least often in texts.
func rarestByte(texts [][]byte) byte {
	var counts [256]int
	for _, text := range texts {
		for _, b := range text {
			counts[b]++
		}
	}
	rarest := 0
	for b, n := range counts {
		if n < counts[rarest] {
			rarest = b
		}
	}
	return byte(rarest)
}

// symbolCounts counts how often symbols, and pairs of successive symbols, occur in a sample. A
// symbol has the code 256 plus its number; a byte that is escaped has its own value as code.
type symbolCounts struct {
	single [trainCodes]int
	pairs  [][trainCodes]uint16
	seen   []uint32 // the pairs with a count: first<<16 | second
}

const trainCodes = 256 + maxSymbols + 1

func newSymbolCounts() *symbolCounts {
	return &symbolCounts{pairs: make([][trainCodes]uint16, trainCodes)}
}

// clear resets the counters. It visits only pairs that occurred, because the table of pairs is
// large.
func (c *symbolCounts) clear() {
	clear(c.single[:])
	for _, pair := range c.seen {
		c.pairs[pair>>16][pair&0xffff] = 0
	}
	c.seen = c.seen[:0]
}

// add counts the symbols and symbol pairs that encode a text. Codes below 256 are single bytes.
func (c *symbolCounts) add(e *Encoder, text []byte) {
	before := -1
	for len(text) > 0 {
		step := e.step(e.firstBytes(text))
		code := int(text[0])
		if step>>stepEscapes&1 == 0 {
			code = 256 + int(step&0xff)
		}
		c.single[code]++
		if before >= 0 {
			c.addPair(before, code)
		}
		if size := step >> stepSize; size > 1 {
			// The first byte may do better at the end of the symbol before.
			c.single[text[0]]++
			if before >= 0 {
				c.addPair(before, int(text[0]))
			}
		}
		before = code
		text = text[step>>stepSize:]
	}
}

func (c *symbolCounts) addPair(first, second int) {
	n := &c.pairs[first][second]
	if *n == 0 {
		c.seen = append(c.seen, uint32(first)<<16|uint32(second))
	}
	*n++
}

// A candidate is a possible symbol with the approximate bytes that it would save.
type candidate struct {
	symbol
	gain int
}

// choose sets the symbols of the next round: of the candidates that occurred more often than rare,
// the ones that save most.
func (c *symbolCounts) choose(e *Encoder, rare int) {
	candidates := c.candidates(e, rare)
	e.reset()
	for _, s := range candidates {
		if e.add(s.symbol); len(e.symbols) == maxSymbols {
			break
		}
	}
}

// candidates returns the possible symbols, most saving first.
func (c *symbolCounts) candidates(e *Encoder, rare int) []candidate {
	var all []candidate
	for code, n := range c.single {
		if n > rare {
			s := e.symbol(code)
			gain := n * s.size
			if s.size == 1 {
				gain *= 8 // escapes are expensive
			}
			all = append(all, candidate{s, gain})
		}
	}
	for _, pair := range c.seen {
		n := int(c.pairs[pair>>16][pair&0xffff])
		first, second := e.symbol(int(pair>>16)), e.symbol(int(pair&0xffff))
		if n <= rare || first.size == MaxSymbol {
			continue
		}
		if s := first.join(second); !s.has(byte(e.end)) {
			all = append(all, candidate{s, n * s.size})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.val, b.val), cmp.Compare(a.size, b.size))
	})
	all = addEqual(all)
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(b.size, a.size), cmp.Compare(a.val, b.val))
	})
	return all
}

// addEqual merges candidates that are the same symbol and adds up their gains: several pairs can
// join to the same symbol.
func addEqual(sorted []candidate) []candidate {
	n := 0
	for i, s := range sorted {
		if i > 0 && s.symbol == sorted[n-1].symbol {
			sorted[n-1].gain += s.gain
			continue
		}
		sorted[n] = s
		n++
	}
	return sorted[:n]
}

// symbol returns the symbol behind a code of symbolCounts.
func (e *Encoder) symbol(code int) symbol {
	if code < 256 {
		return symbol{uint64(code), 1}
	}
	return e.symbols[code-256]
}

// join returns the symbol of s followed by t, cut off at MaxSymbol bytes.
func (s symbol) join(t symbol) symbol {
	size := min(s.size+t.size, MaxSymbol)
	return symbol{(s.val | t.val<<(8*s.size)) & lowBytes(size), size}
}

// has reports whether a byte of the symbol is b.
func (s symbol) has(b byte) bool {
	for i := range s.size {
		if byte(s.val>>(8*i)) == b {
			return true
		}
	}
	return false
}
