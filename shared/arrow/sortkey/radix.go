package sortkey

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A ranked represents a key during the sort: eight of its bytes, after the common prefix of all keys, and
// its index.
type ranked struct {
	prefix uint64
	number uint32
}

// radixBytes is the memory that sortByPrefix takes for a key in addition: two ranked, and a place in the
// sorted list.
const radixBytes = 2*16 + Overhead

// fewKeys is the number of keys below which comparisons sort as fast.
const fewKeys = 256

// sortByPrefix returns keys in order. It radix-sorts them by prefix, the last byte first, and compares only
// keys with equal prefixes. len(keys) must be below 2^32.
func sortByPrefix(keys [][]byte) [][]byte {
	common := commonPrefix(keys)
	from, to := make([]ranked, len(keys)), make([]ranked, len(keys))
	varying := uint64(0) // bits in which the prefixes differ
	for i, k := range keys {
		from[i] = ranked{prefixOf(k[common:]), uint32(i)}
		varying |= from[i].prefix ^ from[0].prefix
	}
	for shift := 0; shift < 64; shift += 8 {
		if varying>>shift&0xff != 0 {
			distribute(from, to, shift)
			from, to = to, from
		}
	}
	sorted := make([][]byte, len(keys))
	for i, r := range from {
		sorted[i] = keys[r.number]
	}
	for start := 0; start < len(from); {
		end := start + 1
		for end < len(from) && from[end].prefix == from[start].prefix {
			end++
		}
		if same := sorted[start:end]; !slices.IsSortedFunc(same, bytes.Compare) {
			slices.SortFunc(same, bytes.Compare)
		}
		start = end
	}
	return sorted
}

// distribute is one stable pass of the radix sort: it copies the keys of from to to, ordered by one byte of
// the prefixes.
func distribute(from, to []ranked, shift int) {
	var next [257]int
	for _, r := range from {
		next[r.prefix>>shift&0xff+1]++
	}
	for b := range 256 {
		next[b+1] += next[b]
	}
	for _, r := range from {
		b := r.prefix >> shift & 0xff
		to[next[b]] = r
		next[b]++
	}
}

// prefixOf returns the first eight bytes of a key as a big-endian number. A shorter key is padded with
// zeros.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var filled [8]byte
	copy(filled[:], key)
	return binary.BigEndian.Uint64(filled[:])
}

// commonPrefix returns the length of the common prefix of all keys.
func commonPrefix(keys [][]byte) int {
	first := keys[0]
	n := len(first)
	for _, k := range keys[1:] {
		n = min(n, len(k))
		for i := 0; i < n; i++ {
			if k[i] != first[i] {
				n = i
			}
		}
	}
	return n
}
