package arrowipc

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH32.
const (
	prime1 uint32 = 2654435761
	prime2 uint32 = 2246822519
	prime3 uint32 = 3266489917
	prime4 uint32 = 668265263
	prime5 uint32 = 374761393
)

// xxHash32 returns the XXH32 hash of b with seed 0, the checksum of LZ4 frames.
//
// Source: doc/xxhash_spec.md of Cyan4973/xxHash, "XXH32 algorithm description".
func xxHash32(b []byte) uint32 {
	size := uint32(len(b))
	h := prime5
	if len(b) >= 16 {
		h, b = xxHash32Stripes(b)
	}
	h += size
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}

// xxHash32Stripes hashes the stripes of 16 bytes and returns the bytes left.
func xxHash32Stripes(b []byte) (uint32, []byte) {
	round := func(lane uint32, at []byte) uint32 {
		return bits.RotateLeft32(lane+binary.LittleEndian.Uint32(at)*prime2, 13) * prime1
	}
	var zero uint32
	a, c, d, e := zero+prime1+prime2, prime2, zero, zero-prime1
	for ; len(b) >= 16; b = b[16:] {
		a, c, d, e = round(a, b), round(c, b[4:]), round(d, b[8:]), round(e, b[12:])
	}
	return bits.RotateLeft32(a, 1) + bits.RotateLeft32(c, 7) + bits.RotateLeft32(d, 12) + bits.RotateLeft32(e, 18), b
}
