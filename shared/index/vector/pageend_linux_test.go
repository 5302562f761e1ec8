package vector

import (
	"math"
	"syscall"
	"testing"
	"unsafe"
)

// TestKernelsStopAtTheEndOfMemory lays queries and rows at the very end of a page behind
// which nothing may be read: a kernel that touches one byte more ends the process.
func TestKernelsStopAtTheEndOfMemory(t *testing.T) {
	for dim := 1; dim <= maxDim; dim++ {
		const rows = 3
		out, yy := make([]float32, rows), make([]float32, rows)
		checkZero := func(kernel string) {
			t.Helper()
			for i := range out {
				if out[i] != 0 || yy[i] != 0 {
					t.Fatalf("%s of %d zeros: got %v and %v", kernel, dim, out, yy)
				}
				out[i], yy[i] = float32(math.NaN()), 0
			}
		}
		single, double := atEndOfPage[float32](t, dim), atEndOfPage[float64](t, dim)
		singles, doubles, halves := atEndOfPage[float32](t, rows*dim), atEndOfPage[float64](t, rows*dim), atEndOfPage[uint16](t, rows*dim)

		l2Float32(single, singles, out)
		checkZero("l2 of float32")
		dotFloat32(single, singles, out)
		checkZero("dot of float32")
		cosineFloat32(single, singles, out, yy)
		checkZero("cosine of float32")
		l2Float64(double, doubles, out)
		checkZero("l2 of float64")
		dotFloat64(double, doubles, out)
		checkZero("dot of float64")
		cosineFloat64(double, doubles, out, yy)
		checkZero("cosine of float64")
		l2Float16(single, halves, out)
		checkZero("l2 of float16")
		dotFloat16(single, halves, out)
		checkZero("dot of float16")
		cosineFloat16(single, halves, out, yy)
		checkZero("cosine of float16")

		lastRow, squares := atEndOfPage[byte](t, dim), []uint32{1}
		bytesL2(atEndOfPage[byte](t, dim), []*byte{&lastRow[0]}, squares)
		if squares[0] != 0 {
			t.Fatalf("l2 of %d zero bytes: got %v", dim, squares)
		}
	}
}

// atEndOfPage returns zeros that end where the memory that may be read does.
func atEndOfPage[T Element](t *testing.T, n int) []T {
	t.Helper()
	page := syscall.Getpagesize()
	size := n * int(unsafe.Sizeof(*new(T)))
	readable := (size + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, readable+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	if err := syscall.Mprotect(memory[readable:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[readable-size])), n)
}
