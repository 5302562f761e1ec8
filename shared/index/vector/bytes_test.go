package vector

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bytesKernels are the implementations that this processor can run.
func bytesKernels() map[string]func(query []byte, rows []*byte, out []uint32) {
	return map[string]func([]byte, []*byte, []uint32){"chosen": bytesL2, "public": BytesL2}
}

func TestBytesL2MatchesReference(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for dim := 1; dim <= 200; dim++ {
		for _, n := range []int{1, 3, 9} {
			query, values := randomCodes(random, dim), randomCodes(random, n*dim)
			if n == 3 { // the greatest distance
				clear(query)
				copy(values, slices.Repeat([]byte{255}, dim))
			}
			var rows []*byte
			for i := range n {
				rows = append(rows, &values[(n-1-i)*dim])
			}
			want := make([]uint32, n)
			bytesL2Portable(query, rows, want)
			for name, kernel := range bytesKernels() {
				got := make([]uint32, n)
				if kernel(query, rows, got); !slices.Equal(got, want) {
					t.Fatalf("%s: %d rows of %d bytes: got %v, want %v", name, n, dim, got, want)
				}
			}
		}
	}
}

func TestBytesL2OfNothingIsNothing(t *testing.T) {
	BytesL2(nil, nil, nil)
	out := []uint32{7}
	if BytesL2([]byte{1}, nil, out); out[0] != 7 {
		t.Errorf("no rows: got %v", out)
	}
}

func BenchmarkBytesL2(b *testing.B) {
	const dim, n = 128, 1 << 20
	random := rand.New(rand.NewPCG(7, 8))
	values, query := make([]byte, n*dim), randomCodes(random, dim)
	rows, out := make([]*byte, 32), make([]uint32, 32)
	for b.Loop() {
		for i := range rows {
			rows[i] = &values[random.IntN(n)*dim]
		}
		BytesL2(query, rows, out)
	}
}
