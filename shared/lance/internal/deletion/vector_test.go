package deletion_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/internal/deletion"
)

// drawVector draws a vector over n rows, and the same as a set.
func drawVector(t *rapid.T, label string, n int) (*deletion.Vector, map[int64]bool) {
	set := map[int64]bool{}
	for range rapid.IntRange(0, 4).Draw(t, label+" runs") {
		start := rapid.IntRange(0, n-1).Draw(t, label+" start")
		step := rapid.IntRange(1, 5).Draw(t, label+" step")
		for at := start; at < min(start+200, n); at += step {
			set[int64(at)] = true
		}
	}
	if len(set) == 0 && rapid.Bool().Draw(t, label+" nil") {
		return nil, set
	}
	v := deletion.New()
	for at := range set {
		v = v.Union(deletion.New(uint32(at)))
	}
	return v, set
}

func TestVectorBehavesLikeASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		v, set := drawVector(t, "v", n)
		from, to := rapid.Int64Range(0, int64(n)).Draw(t, "from"), rapid.Int64Range(0, int64(n)).Draw(t, "to")

		var live, got []int64
		deleted := int64(0)
		for at := from; at < to; at++ {
			if set[at] {
				deleted++
			} else {
				live = append(live, at)
			}
			if v.Contains(uint32(at)) != set[at] {
				t.Fatalf("Contains(%d): got %v", at, !set[at])
			}
		}
		for start, end := range v.Live(from, to) {
			if start >= end {
				t.Fatalf("an empty run at %d", start)
			}
			for at := start; at < end; at++ {
				got = append(got, at)
			}
		}
		if diff := cmp.Diff(live, got); diff != "" {
			t.Fatalf("live rows (-want +got):\n%s", diff)
		}
		rows := v.LiveSet(from, to)
		if rows.GetCardinality() != uint64(len(live)) || slices.ContainsFunc(live, func(at int64) bool { return !rows.Contains(uint32(at)) }) {
			t.Fatalf("LiveSet: got %v, want %v", rows, live)
		}
		if d := v.Deleted(from, to); d != deleted || v.Len() != len(set) || len(v.Offsets()) != len(set) {
			t.Fatalf("deleted: got %d and %d in all, want %d and %d", d, v.Len(), deleted, len(set))
		}
		bits, gone := v.LiveBits(from, to), []int32{}
		for at := from; at < to; at++ {
			i := at - from
			if bits != nil && bits[i/64]>>(i%64)&1 == 1 == set[at] || bits == nil && set[at] {
				t.Fatalf("LiveBits says of row %d that it is deleted: %v, want %v", at, !set[at], set[at])
			}
			if set[at] {
				gone = append(gone, int32(i))
			}
		}
		if n := max(to-from, 0) % 64; bits != nil && n != 0 && bits[len(bits)-1]>>n != 0 {
			t.Fatal("LiveBits has bits for rows behind the last")
		}
		if diff := cmp.Diff(gone, v.Positions(from, to)); diff != "" {
			t.Fatalf("Positions (-want +got):\n%s", diff)
		}
		k := int64(0)
		for at := range int64(n) {
			if set[at] {
				continue
			}
			if got := v.Offset(k); got != at {
				t.Fatalf("Offset(%d): got %d, want %d", k, got, at)
			}
			k++
		}
	})
}

func TestSetOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, setA := drawVector(t, "a", 300)
		b, setB := drawVector(t, "b", 300)
		union, minus, meet := a.Union(b), a.Minus(b), false
		for at := range int64(300) {
			o := uint32(at)
			meet = meet || setA[at] && setB[at]
			if union.Contains(o) != (setA[at] || setB[at]) || minus.Contains(o) != (setA[at] && !setB[at]) {
				t.Fatalf("row %d is wrong", at)
			}
		}
		if a.Intersects(b) != meet || a.Equal(b) != (cmp.Equal(a.Offsets(), b.Offsets()) || a.Len()+b.Len() == 0) {
			t.Fatal("Intersects or Equal is wrong")
		}
	})
}

func TestLiveReachesTheLastPossibleRow(t *testing.T) {
	v := deletion.New(math.MaxUint32, math.MaxUint32-1)
	var runs [][2]int64
	for start, end := range v.Live(math.MaxUint32-3, math.MaxUint32+1) {
		runs = append(runs, [2]int64{start, end})
	}
	if want := [][2]int64{{math.MaxUint32 - 3, math.MaxUint32 - 1}}; !slices.Equal(runs, want) {
		t.Errorf("live runs: got %v, want %v", runs, want)
	}
}

func TestMemoryOfVectorsIsEstimated(t *testing.T) {
	dense, sparse := make([]uint32, 1<<19), make([]uint32, 100)
	for i := range dense {
		dense[i] = uint32(2 * i)
	}
	for i := range sparse {
		sparse[i] = uint32(i << 16)
	}
	for name, c := range map[string]struct {
		offsets     []uint32
		least, most int64
	}{
		"none":                   {nil, 0, 0},
		"one":                    {[]uint32{7}, 2, 200},
		"every other of 2^20":    {dense, 128 << 10, 140 << 10},
		"one in each container":  {sparse, 200, 10_000},
		"all of a few":           {dense[:100], 200, 500},
		"the last possible rows": {[]uint32{1<<32 - 1}, 2, 200},
	} {
		if got := deletion.New(c.offsets...).MemBytes(); got < c.least || got > c.most {
			t.Errorf("%s: %d bytes, want %d to %d", name, got, c.least, c.most)
		}
	}
	if got := deletion.MemBytes(math.MaxUint64, math.MaxUint64); got < 0 || got > 1<<30 {
		t.Errorf("of the most rows that a manifest can name: %d bytes", got)
	}
}
