package quantize

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSignsArePackedInGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	for _, rows := range []int{0, 1, 31, 32, 33, 64, 100} {
		for _, width := range []int{1, 3, 16} {
			signs := make([]byte, rows*width)
			for i := range signs {
				signs[i] = byte(random.Uint32())
			}
			packed := packSigns(signs, rows, width)
			if got := unpackSigns(packed, rows, width); !bytes.Equal(got, signs) {
				t.Errorf("%d rows of %d bytes: got %x, want %x", rows, width, got, signs)
			}
		}
	}
	// Row 8 is the second of a group. Its high bits follow those of the low ones of all rows.
	signs := make([]byte, packedRows)
	signs[8], signs[24] = 0xa5, 0x3c
	packed := packSigns(signs, packedRows, 1)
	if packed[1] != 0xc5 || packed[17] != 0x3a {
		t.Errorf("got %x", packed)
	}
}

// Each bit of each magnitude has a place of its own, and no place is left over.
func TestMagnitudesHaveTheirBitsInPlacesOfTheirOwn(t *testing.T) {
	const dim = 2 * blockDims
	for bits := 1; bits < maxRabitBits; bits++ {
		places := make([]byte, magnitudeBytes(dim, bits))
		for d := range dim {
			for bit := range bits {
				at, shift := magnitudeBit(bits, d, bit)
				places[at] |= 1 << shift
			}
		}
		if i := slices.IndexFunc(places, func(b byte) bool { return b != 0xff }); i >= 0 || len(places)*8 != dim*bits {
			t.Errorf("%d bits: %d bytes, byte %d has the places %x", bits, len(places), i, places)
		}
	}
}

func TestTablesSumUpTheirBits(t *testing.T) {
	table := newByteTable([8]float32{1, 2, 4, 8, 16, 32, 64, 128})
	for b, sum := range table {
		if sum != float32(b) {
			t.Errorf("byte %d adds %v", b, sum)
		}
	}
}

// A rotation keeps the inner products of vectors, also where no power of two holds all dimensions.
func TestRotationsKeepInnerProducts(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 5))
	for _, dim := range []int{8, 24, 64, 72, 96, 128, 1000} {
		signs := make([]int, signBytes(dim))
		for i := range signs {
			signs[i] = random.IntN(256)
		}
		r, err := newRotation(dim, signs, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := make([]float32, dim), make([]float32, dim)
		for i := range dim {
			a[i], b[i] = float32(random.NormFloat64()), float32(random.NormFloat64())
		}
		before, after := innerProduct(a, b), innerProduct(r.apply(a), r.apply(b))
		if math.Abs(before-after) > 1e-4*math.Sqrt(innerProduct(a, a)*innerProduct(b, b)) {
			t.Errorf("%d dimensions: the product is %v, and %v after it", dim, before, after)
		}
		if slices.Equal(r.apply(a), a) {
			t.Errorf("%d dimensions: nothing is rotated", dim)
		}
	}
}

func innerProduct(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestAMatrixRotates(t *testing.T) {
	quarter := &Tensor{Element: elements[1].ID(), Rows: 2, Width: 2, Values: []float32{0, -1, 1, 0}}
	r, err := newRotation(2, nil, quarter.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.apply([]float32{3, 4}); !slices.Equal(got, []float32{-4, 3}) {
		t.Errorf("got %v", got)
	}
	if _, err := newRotation(4, nil, quarter.Encode()); err == nil {
		t.Error("a matrix of other dimensions is taken")
	}
}
