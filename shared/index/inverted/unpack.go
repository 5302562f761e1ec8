package inverted

import "encoding/binary"

// slots is the number of values of each lane of a full block.
const slots = 32

// unpackPortable is the reference implementation of unpack. See reader.unpack for the layout; there are 1 to
// 32 bits, and as many bytes as the values need.
func unpackPortable(values []uint32, data []byte, bits, lanes int) {
	// Two lanes share one word of 64 bits. The mask removes bits that a shift moves from one lane to the
	// other.
	both := func(bits int) uint64 { return (1<<bits - 1) * (1<<32 + 1) }
	mask := both(bits)
	for slot := range len(values) / lanes {
		word, shift := data[4*(slot*bits/32)*lanes:], slot*bits%32
		out := values[slot*lanes:][:lanes]
		rest := shift + bits - 32 // bits that are in the next words
		for lane := 0; lane < lanes; lane += 2 {
			v := binary.LittleEndian.Uint64(word[4*lane:]) >> shift
			if rest > 0 {
				high := binary.LittleEndian.Uint64(word[4*(lanes+lane):]) & both(rest)
				v = v&both(bits-rest) | high<<(bits-rest)
			}
			v &= mask
			out[lane], out[lane+1] = uint32(v), uint32(v>>32)
		}
	}
}

// addUpPortable is the reference implementation of addUp: it replaces each value by the sum of first and of
// all values up to it.
func addUpPortable(values []uint32, first uint32) {
	for i, v := range values {
		first += v
		values[i] = first
	}
}

// ascendPortable is the reference implementation of ascend: it reports whether documents ascend and no
// frequency is 0.
func ascendPortable(documents, frequencies []uint32) bool {
	for i, d := range documents {
		if i > 0 && d <= documents[i-1] || frequencies[i] == 0 {
			return false
		}
	}
	return true
}
