package values

import (
	"unsafe"

	"tiltyard/shared/lance/internal/encoding/bitpack"
)

// Reserve returns b with capacity for at least n more bytes. Memory that it allocates is aligned
// for every fixed-width type.
func Reserve(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	grown := AlignedBytes(max(len(b)+n, 2*cap(b)))[:len(b)]
	copy(grown, b)
	return grown
}

// AlignedBytes allocates n bytes at a multiple of 8.
func AlignedBytes(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// isAligned reports whether b begins at a multiple of size, a power of two.
func isAligned(b []byte, size int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))&uintptr(size-1) == 0
}

// ViewAs returns b as little-endian values of type T, which is the byte order of all supported
// machines. The result shares b's memory, or is a copy if b is not aligned for T. Bytes at the end
// that do not fill a value are left out.
func ViewAs[T bitpack.Integer | int32 | int64](b []byte) []T {
	size := int(unsafe.Sizeof(T(0)))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if !isAligned(b, size) {
		b = append(AlignedBytes(n * size)[:0], b[:n*size]...)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// BytesOf returns the memory of v.
func BytesOf[T bitpack.Integer | int32 | int64](v []T) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}
