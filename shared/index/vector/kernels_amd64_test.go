package vector

import "testing"

// The machine takes the widest kernels that it can run; here each kind is tried by itself.

func TestAVX2KernelsMatchReference(t *testing.T) {
	if !hasAVX2 {
		t.Skip("THE AVX2 KERNELS ARE NOT TESTED: this processor lacks AVX2, FMA or F16C")
	}
	testFloat32(t, kernels[float32, float32]{"avx2", l2Float32AVX2, dotFloat32AVX2, cosineFloat32AVX2})
	testFloat64(t, kernels[float64, float64]{"avx2", l2Float64AVX2, dotFloat64AVX2, cosineFloat64AVX2})
	testFloat16(t, kernels[float32, uint16]{"avx2", l2Float16AVX2, dotFloat16AVX2, cosineFloat16AVX2})
}

func TestAVX512KernelsMatchReference(t *testing.T) {
	if !hasAVX512 {
		t.Skip("THE AVX-512 KERNELS ARE NOT TESTED: this processor lacks AVX-512F")
	}
	testFloat32(t, kernels[float32, float32]{"avx512", l2Float32AVX512, dotFloat32AVX512, cosineFloat32AVX512})
	testFloat64(t, kernels[float64, float64]{"avx512", l2Float64AVX512, dotFloat64AVX512, cosineFloat64AVX512})
	testFloat16(t, kernels[float32, uint16]{"avx512", l2Float16AVX512, dotFloat16AVX512, cosineFloat16AVX512})
}
