package inverted

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Blocks of all widths are unpacked as they were packed, by the kernels and by the portable functions.
func TestUnpackIsTheInverseOfPack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, lanes := range []int{4, 8} {
		for width := 1; width <= 32; width++ {
			want := make([]uint32, slots*lanes)
			for i := range want {
				want[i] = random.Uint32() >> (32 - width)
			}
			// The data end with the memory that may be read.
			data := slices.Clip(pack(nil, want, width, lanes))
			for name, unpack := range map[string]func([]uint32, []byte, int, int){"kernel": unpack, "portable": unpackPortable} {
				got := make([]uint32, len(want))
				if unpack(got, data, width, lanes); !slices.Equal(got, want) {
					t.Errorf("%s: %d bits in %d lanes: got %d, want %d", name, width, lanes, got, want)
				}
			}
		}
	}
}

func TestSumsOfDistancesMatchReference(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 4, 7, 128, 256} {
		got := make([]uint32, n)
		for i := range got {
			got[i] = random.Uint32()
		}
		want := slices.Clone(got)
		addUp(got, 1<<31+5)
		if addUpPortable(want, 1<<31+5); !slices.Equal(got, want) {
			t.Errorf("%d values: got %d, want %d", n, got, want)
		}
	}
}

// A document out of order and a frequency of 0 are found at each place of a block.
func TestOrderOfDocumentsMatchesReference(t *testing.T) {
	for _, n := range []int{1, 8, 16, 24, 128, 256} {
		documents, frequencies := make([]uint32, n), make([]uint32, n)
		for i := range n {
			documents[i], frequencies[i] = -uint32(3*(n-i)), 1
		}
		check := func(what string) {
			if got, want := ascend(documents, frequencies), ascendPortable(documents, frequencies); got != want || got != (what == "") {
				t.Errorf("%d documents%s: got %t, want %t", n, what, got, want)
			}
		}
		check("")
		for i := range n {
			frequencies[i] = 0
			check(fmt.Sprintf(" without document %d", i))
			frequencies[i] = 1 << 31
			if i > 0 {
				before := documents[i]
				for _, wrong := range []uint32{documents[i-1], documents[i-1] - 1, 0} {
					documents[i] = wrong
					check(fmt.Sprintf(" with document %d out of order", i))
				}
				documents[i] = before
			}
		}
		check("")
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{128, 256} {
		c := coding{block: size, varint: true}
		made := &block{}
		random, at := rand.New(rand.NewPCG(5, 6)), uint32(0)
		for range size {
			at += 1 + random.Uint32N(60)
			made.documents, made.frequencies = append(made.documents, at), append(made.frequencies, 1+random.Uint32N(6))
		}
		data := c.encode(nil, made)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				if err := c.decode(data, size, made); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
