package vector

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

func TestTopKKeepsNearest(t *testing.T) {
	distances := []float32{3, nan, 1, inf, 2, 1, -inf, 1, 0}
	ids := []uint64{10, 11, 15, 13, 14, 12, 16, 17, 18}
	at := func(x float32) *float32 { return &x }
	cases := []struct {
		name   string
		k      int
		bounds Bounds
		want   []Hit
	}{
		{"ties by row id", 4, Bounds{}, []Hit{{-inf, 0, 16}, {0, 0, 18}, {1, 0, 12}, {1, 0, 15}}},
		{"everything but NaN", math.MaxInt, Bounds{}, []Hit{{-inf, 0, 16}, {0, 0, 18}, {1, 0, 12}, {1, 0, 15}, {1, 0, 17}, {2, 0, 14}, {3, 0, 10}, {inf, 0, 13}}},
		{"lower is inclusive, upper exclusive", 9, Bounds{at(1), at(3)}, []Hit{{1, 0, 12}, {1, 0, 15}, {1, 0, 17}, {2, 0, 14}}},
		{"k within bounds", 2, Bounds{at(1), nil}, []Hit{{1, 0, 12}, {1, 0, 15}}},
		{"upper only", 9, Bounds{nil, at(1)}, []Hit{{-inf, 0, 16}, {0, 0, 18}}},
		{"upper infinite", 9, Bounds{at(2), at(inf)}, []Hit{{2, 0, 14}, {3, 0, 10}}},
		{"upper least", 9, Bounds{nil, at(-inf)}, nil},
		{"bound NaN", 9, Bounds{at(nan), nil}, nil},
		{"bounds crossed", 9, Bounds{at(3), at(1)}, nil},
		{"k zero", 0, Bounds{}, nil},
		{"k negative", -1, Bounds{}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			top := NewTopK(c.k, c.bounds)
			top.AddAll(distances, ids)
			diffHits(t, top.Hits(), c.want)
		})
	}
}

func TestTopKNumbersRuns(t *testing.T) {
	top := NewTopK(2, Bounds{})
	top.AddRun([]float32{5, 4, 3}, 1<<32)
	top.AddRun([]float32{4, 3}, 7)
	diffHits(t, top.Hits(), []Hit{{3, 0, 8}, {3, 0, 1<<32 + 2}})
}

func TestTopKLimitFalls(t *testing.T) {
	upper := float32(10)
	top := NewTopK(2, Bounds{Upper: &upper})
	var got []float32
	for _, d := range []float32{12, 4, 9, 5, 7, 1} {
		top.Add(d, 0)
		got = append(got, top.Limit())
	}
	before := math.Nextafter32(10, 0)
	want := []float32{before, before, 9, 5, 5, 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

func TestTopKIsSortedPrefixHoweverItIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "rows")
		k := rapid.IntRange(0, 320).Draw(t, "k")
		values := rapid.SampledFrom([]float32{-1, 0, 0.5, 1, 2, 3, 5, 8, inf, nan})
		hits := make([]Hit, n)
		for i := range hits {
			hits[i] = Hit{Distance: values.Draw(t, "distance"), Part: uint32(i % 3), RowID: uint64(i / 2)}
		}
		shuffled := rapid.Permutation(slices.Clone(hits)).Draw(t, "order")

		parts := make([]*TopK, 3)
		for i := range parts {
			parts[i] = NewTopK(k, Bounds{})
		}
		for i, h := range shuffled {
			parts[i%3].AddPart(h.Distance, h.RowID, h.Part)
		}
		parts[0].Merge(parts[1])
		parts[0].Merge(parts[2])
		diffHits(t, parts[0].Hits(), sortedPrefix(hits, k, Bounds{}))
	})
}

// FuzzTopK reads k, bounds and distances from the input and compares with a sort.
func FuzzTopK(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add([]byte{1, 0, 0, 0x80, 0xff, 0, 0, 0x80, 0x7f, 0, 0, 0xc0, 0x7f, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 9 {
			return
		}
		word := func(at int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(in[at:])) }
		k, lower, upper := int(in[0]), word(1), word(5)
		bounds := Bounds{&lower, &upper}
		var hits []Hit
		top := NewTopK(k, bounds)
		for at := 9; at+4 <= len(in); at += 4 {
			hits = append(hits, Hit{Distance: word(at), RowID: uint64(in[at])})
			top.Add(word(at), uint64(in[at]))
		}
		diffHits(t, top.Hits(), sortedPrefix(hits, k, bounds))
	})
}

func sortedPrefix(hits []Hit, k int, bounds Bounds) []Hit {
	kept := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool {
		inside := (bounds.Lower == nil || h.Distance >= *bounds.Lower) && (bounds.Upper == nil || h.Distance < *bounds.Upper)
		return !inside || math.IsNaN(float64(h.Distance))
	})
	slices.SortStableFunc(kept, compareHits)
	return kept[:min(k, len(kept))]
}

func diffHits(t interface {
	Helper()
	Errorf(string, ...any)
}, got, want []Hit) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}
