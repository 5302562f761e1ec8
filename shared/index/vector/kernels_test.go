package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tiltyard/shared/process/float16"
)

// The kernels of this machine are held against sums in float64 at every dimension up to
// 130, which takes them through each of their loops and remainders, on slices that start
// at odd addresses and are followed by NaN, which would show in the result.

const maxDim = 130

func TestFloat32KernelsMatchReference(t *testing.T) {
	testFloat32(t,
		kernels[float32, float32]{"native", l2Float32, dotFloat32, cosineFloat32},
		kernels[float32, float32]{"portable", l2Portable[float32], dotPortable[float32], cosinePortable[float32]})
}

func TestFloat64KernelsMatchReference(t *testing.T) {
	testFloat64(t,
		kernels[float64, float64]{"native", l2Float64, dotFloat64, cosineFloat64},
		kernels[float64, float64]{"portable", l2Portable[float64], dotPortable[float64], cosinePortable[float64]})
}

func TestFloat16KernelsMatchReference(t *testing.T) {
	testFloat16(t,
		kernels[float32, uint16]{"native", l2Float16, dotFloat16, cosineFloat16},
		kernels[float32, uint16]{"portable", l2HalfPortable, dotHalfPortable, cosineHalfPortable})
}

func testFloat32(t *testing.T, impls ...kernels[float32, float32]) {
	testKernels(t, func(x float64) float32 { return float32(x) }, func(x float32) float64 { return float64(x) }, impls...)
}

func testFloat64(t *testing.T, impls ...kernels[float64, float64]) {
	same := func(x float64) float64 { return x }
	testKernels(t, same, same, impls...)
}

func testFloat16(t *testing.T, impls ...kernels[float32, uint16]) {
	testKernels(t, float16.Round, func(h uint16) float64 { return float64(float16.Widen(h)) }, impls...)
}

// kernels are the three kernels for the element type R; Q is the type to which the query is widened.
type kernels[Q float32 | float64, R Element] struct {
	name    string
	l2, dot func(query []Q, rows []R, out []float32)
	cosine  func(query []Q, rows []R, xy, yy []float32)
}

func testKernels[Q float32 | float64, R Element](t *testing.T, narrow func(float64) R, widen func(R) float64, impls ...kernels[Q, R]) {
	rng := rand.New(rand.NewPCG(1, 2))
	for dim := 1; dim <= maxDim; dim++ {
		n, offset := 1+dim%5, dim%7
		query := make([]Q, offset+dim+16)
		rows := make([]R, offset+n*dim+16)
		for i := range query {
			query[i] = Q(math.NaN())
		}
		for i := range rows {
			rows[i] = narrow(math.NaN())
		}
		query, rows = query[offset:][:dim], rows[offset:][:n*dim]
		for i := range query {
			query[i] = Q(rng.NormFloat64())
		}
		for i := range rows {
			rows[i] = narrow(rng.NormFloat64())
		}

		for _, impl := range impls {
			t.Run(fmt.Sprintf("%s/%d", impl.name, dim), func(t *testing.T) {
				checkKernels(t, impl, query, rows, widen)
			})
		}
	}
}

func checkKernels[Q float32 | float64, R Element](t *testing.T, impl kernels[Q, R], query []Q, rows []R, widen func(R) float64) {
	n := len(rows) / len(query)
	const untouched = -12345
	guarded := func() []float32 { // one number more than there are rows
		s := make([]float32, n+1)
		s[n] = untouched
		return s
	}
	l2, dot, xy, yy := guarded(), guarded(), guarded(), guarded()
	impl.l2(query, rows, l2[:n])
	impl.dot(query, rows, dot[:n])
	impl.cosine(query, rows, xy[:n], yy[:n])

	for i := range n {
		want := reference(query, rows[i*len(query):], widen)
		check := func(kernel string, got float32, want, scale float64) {
			if !near(got, want, scale) {
				t.Errorf("%s of row %d: got %v, want %v", kernel, i, got, want)
			}
		}
		check("l2", l2[i], want.l2, want.l2)
		check("dot", dot[i], want.dot, want.size)
		check("cosine xy", xy[i], want.dot, want.size)
		check("cosine yy", yy[i], want.yy, want.yy)
	}
	for _, s := range [][]float32{l2, dot, xy, yy} {
		if s[n] != untouched {
			t.Errorf("kernel wrote %v past its last row", s[n])
		}
	}
}

// near allows for float32 rounding of sums whose terms add up to scale in magnitude.
func near(got float32, want, scale float64) bool {
	return math.Abs(float64(got)-want) <= 1e-6*scale
}

// sums are the sums of products of two vectors in float64; size is the sum of |x*y|.
type sums struct{ l2, dot, size, xx, yy float64 }

func reference[Q float32 | float64, R Element](query []Q, row []R, widen func(R) float64) sums {
	var s sums
	for i, q := range query {
		x, y := float64(q), widen(row[i])
		s.l2 += (x - y) * (x - y)
		s.dot += x * y
		s.size += math.Abs(x * y)
		s.xx += x * x
		s.yy += y * y
	}
	return s
}

func TestHammingCountsBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for dim := 1; dim <= maxDim; dim++ {
		query, rows := make([]uint8, dim), make([]uint8, 3*dim)
		for i := range query {
			query[i] = uint8(rng.Uint32())
		}
		for i := range rows {
			rows[i] = uint8(rng.Uint32())
		}
		copy(rows[dim:], query)

		got := make([]float32, 3)
		hamming(query, rows, got)
		for i := range got {
			want := 0
			for j := range dim * 8 {
				if (query[j/8]^rows[i*dim+j/8])>>(j%8)&1 == 1 {
					want++
				}
			}
			if got[i] != float32(want) {
				t.Errorf("dimension %d, row %d: got %v, want %d", dim, i, got[i], want)
			}
		}
	}
}
