package ivf

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"tiltyard/shared/index/internal/hnsw"
)

// clustered returns codes of vectors around 400 centres.
func clustered(n, dim int) []byte {
	random := rand.New(rand.NewPCG(3, 4))
	centres, codes := make([]byte, 400*dim), make([]byte, n*dim)
	for i := range centres {
		centres[i] = byte(64 + random.IntN(128))
	}
	for i := range n {
		centre := centres[random.IntN(400)*dim:][:dim]
		for k, c := range centre {
			codes[i*dim+k] = byte(min(max(float64(c)+random.NormFloat64()*8, 0), 255))
		}
	}
	return codes
}

func BenchmarkBuildGraph(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		codes := clustered(n, 128)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := hnsw.Build(b.Context(), &stepVectors{codes: codes, dim: 128, square: 1}, hnsw.Options{Edges: 20, Candidates: 150}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
