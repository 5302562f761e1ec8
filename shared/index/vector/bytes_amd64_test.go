package vector

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The kernel for processors without AVX-512 equals the reference, too.
func TestBytesL2ByAVX2MatchesReference(t *testing.T) {
	if !hasAVX2 {
		t.Log("THE KERNEL FOR BYTES IS NOT TESTED: this processor has no AVX2")
		return
	}
	random := rand.New(rand.NewPCG(9, 10))
	for dim := 1; dim <= 100; dim++ {
		query, values := randomCodes(random, dim), randomCodes(random, 6*dim)
		var rows []*byte
		for i := range 6 {
			rows = append(rows, &values[i*dim])
		}
		got, want := make([]uint32, 6), make([]uint32, 6)
		bytesL2AVX2(query, rows, got)
		addBytesL2(query, rows, dim&^(stepBytes-1), got)
		if bytesL2Portable(query, rows, want); !slices.Equal(got, want) {
			t.Fatalf("rows of %d bytes: got %v, want %v", dim, got, want)
		}
	}
}
