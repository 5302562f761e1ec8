package merge

import "math/bits"

// A keyFilter is a set of key hashes with a few false positives, and without false negatives.
type keyFilter struct {
	bits  []uint64
	shift int // shifting a hash by this gives its bit number
}

// newKeyFilter returns a filter for the given number of keys, with at most bitsPerKey bits per key.
func newKeyFilter(keys, bitsPerKey int) keyFilter {
	log := max(bits.Len(uint(keys*bitsPerKey))-1, 6)
	return keyFilter{bits: make([]uint64, 1<<(log-6)), shift: 64 - log}
}

func (f *keyFilter) add(hash uint64) {
	bit := hash >> f.shift
	f.bits[bit/64] |= 1 << (bit % 64)
}

func (f *keyFilter) has(hash uint64) bool {
	bit := hash >> f.shift
	return f.bits[bit/64]>>(bit%64)&1 != 0
}

// spread hashes a number by Fibonacci hashing. It spreads consecutive numbers, which are frequent
// among keys.
func spread(number uint64) uint64 { return number * 0x9E3779B97F4A7C15 }
