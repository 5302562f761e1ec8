package engine

import "math/bits"

// A keyFilter knows the hashes of keys, and takes a few others for one of them.
type keyFilter struct {
	bits  []uint64
	shift int // what is left of a hash is the number of its bit
}

// newKeyFilter returns a filter for so many keys, of at most bitsPerKey for each.
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

// spread is the hash of a number, by Fibonacci: neighbours, as keys often are, lie far apart.
func spread(number uint64) uint64 { return number * 0x9E3779B97F4A7C15 }
