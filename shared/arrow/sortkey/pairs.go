package sortkey

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/process/memory"
)

// A pair is the key of a value of up to 8 bytes, followed by the number of its row, as two numbers in the
// same order. It takes a fraction of the memory of the bytes and the time to sort them.
type pair struct {
	value uint64 // the key without its first byte, filled up with zeros at its end
	row   uint64
}

// Pairs are the keys of the values of an array, made by [Of] with NULLs first, each followed by the number
// of its row in 8 big-endian bytes.
type Pairs struct {
	width int
	pairs []pair
	nulls [][]byte // the keys of NULLs
}

const (
	pairSize  = 16
	rowBytes  = 8
	nullBytes = 1 + rowBytes
)

// PairsBytes returns an upper bound of the memory of the Pairs of n values.
func PairsBytes(n int) int64 { return int64(n) * (pairSize + nullBytes + Overhead) }

// HavePairs reports whether values of a type have Pairs: numbers and times of up to 64 bits.
func HavePairs(t arrow.DataType) bool { return pairOf(t) != nil }

// Word returns the key of a value that is no NULL, of a type whose values have Pairs, as a number: without its first byte,
// which marks NULLs, and filled up with zeros at its end. It has the order of the values.
func Word(key []byte) uint64 {
	var filled [8]byte
	copy(filled[:], key[1:])
	return binary.BigEndian.Uint64(filled[:])
}

// AppendWord appends the key of a value of some bytes by its [Word].
func AppendWord(key []byte, word uint64, bytes int) []byte {
	key = binary.BigEndian.AppendUint64(append(key, keyValue), word)
	return key[:len(key)-8+bytes]
}

// AppendNull appends the key of NULL, where it is the first value.
func AppendNull(key []byte) []byte { return append(key, keyNullFirst) }

// Words appends the [Word] of each of the first n values of an array, whose type has Pairs. That of a NULL has no meaning.
func Words(words []uint64, values arrow.Array, n int) []uint64 {
	number, raw, width := rawOf(values)
	if raw == nil {
		return append(words, make([]uint64, n)...)
	}
	shift := 64 - 8*width
	for i := range n {
		words = append(words, number(little(raw[i*width:], width)<<shift, shift))
	}
	return words
}

// rawOf returns the values of an array as bytes, those of one value, and the function that puts them in order; see pairOf.
// Raw may be nil if all values are NULL.
func rawOf(values arrow.Array) (number func(bits uint64, shift int) uint64, raw []byte, width int) {
	d := values.Data()
	width = values.DataType().(arrow.FixedWidthDataType).Bytes()
	if b := d.Buffers()[1]; b != nil {
		raw = b.Bytes()[d.Offset()*width:]
	}
	return pairOf(values.DataType()), raw, width
}

// PairsOf returns the Pairs of an array, whose type has them, and of the rows of its values.
func PairsOf(values arrow.Array, rows []uint64) *Pairs {
	number, raw, width := rawOf(values)
	p := &Pairs{width: width, pairs: make([]pair, 0, len(rows)-values.NullN())}
	shift := 64 - 8*p.width
	for i, row := range rows {
		if values.NullN() > 0 && values.IsNull(i) {
			p.nulls = append(p.nulls, binary.BigEndian.AppendUint64(append(make([]byte, 0, nullBytes), keyNullFirst), row))
			continue
		}
		p.pairs = append(p.pairs, pair{number(little(raw[i*p.width:], p.width)<<shift, shift), row})
	}
	return p
}

// little reads a little-endian number of 1, 2, 4 or 8 bytes.
func little(b []byte, width int) uint64 {
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// pairOf returns the function that turns the bits of a value, shifted to the high end, into a number in the
// order of values; see fixedKey. It returns nil for types without pairs.
func pairOf(t arrow.DataType) func(bits uint64, shift int) uint64 {
	const sign = 1 << 63
	switch id := t.ID(); {
	case arrow.IsUnsignedInteger(id):
		return func(bits uint64, _ int) uint64 { return bits }
	case arrow.IsFloating(id):
		return func(bits uint64, shift int) uint64 {
			if bits&sign == 0 {
				return bits ^ sign
			}
			return ^bits >> shift << shift
		}
	case arrow.IsSignedInteger(id):
		return func(bits uint64, _ int) uint64 { return bits ^ sign }
	}
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return func(bits uint64, _ int) uint64 { return bits ^ sign }
	}
	return nil
}

// appendKey appends the key of a pair whose value has the given number of bytes.
func (p pair) appendKey(key []byte, width int) []byte {
	key = binary.BigEndian.AppendUint64(append(key, keyValue), p.value)
	return binary.BigEndian.AppendUint64(key[:len(key)-8+width], p.row)
}

// AddPairs adds keys, like Add. They must be of one type, and the Sorter must not have a limit.
func (s *Sorter) AddPairs(p *Pairs) error {
	s.pairs.width = p.width
	s.pairs.added = append(s.pairs.added, p.pairs)
	s.pairs.count += len(p.pairs)
	s.bytes += 2 * pairSize * int64(len(p.pairs))
	if len(p.nulls) > 0 {
		return s.Add(p.nulls)
	}
	return s.fit()
}

// sortedPairs are the pairs of a Sorter. Twice their memory is accounted for, because sort copies them.
type sortedPairs struct {
	width int
	added [][]pair
	count int
	all   []pair // the pairs after sort
}

func (s *sortedPairs) bytes() int64 { return 2 * pairSize * int64(s.count) }

func (s *sortedPairs) drop() { s.added, s.all, s.count = nil, nil, 0 }

// sort sorts the pairs by radix if the share has memory for another copy, else by comparison.
func (s *sortedPairs) sort(share *memory.Share) {
	if len(s.added) == 0 {
		return
	}
	s.all, s.added = slices.Concat(append([][]pair{s.all}, s.added...)...), nil
	if extra := pairSize * int64(len(s.all)); len(s.all) >= fewKeys && share.Try(extra) {
		s.all = sortPairs(s.all)
		share.Give(extra)
		return
	}
	slices.SortFunc(s.all, comparePairs)
}

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.row, b.row))
}

// sortPairs returns pairs in order. It radix-sorts them by value, the last byte first. Pairs of equal values
// stay in their order, which usually is that of their rows; else they are sorted by comparison.
func sortPairs(from []pair) []pair {
	to, varying := make([]pair, len(from)), uint64(0)
	for _, p := range from {
		varying |= p.value ^ from[0].value
	}
	for shift := 0; shift < 64; shift += 8 {
		if varying>>shift&0xff != 0 {
			distributePairs(from, to, shift)
			from, to = to, from
		}
	}
	for start := 0; start < len(from); {
		end, ascending := start+1, true
		for ; end < len(from) && from[end].value == from[start].value; end++ {
			ascending = ascending && from[end-1].row <= from[end].row
		}
		if !ascending {
			slices.SortFunc(from[start:end], comparePairs)
		}
		start = end
	}
	return from
}

// distributePairs is one stable pass of the radix sort, by eight bits.
func distributePairs(from, to []pair, shift int) {
	var next [257]int
	for _, p := range from {
		next[p.value>>shift&0xff+1]++
	}
	for b := range 256 {
		next[b+1] += next[b]
	}
	for _, p := range from {
		b := p.value >> shift & 0xff
		to[next[b]] = p
		next[b]++
	}
}
