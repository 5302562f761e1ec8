package inverted

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
)

// frequenciesOf returns what the posting lists say.
func frequenciesOf(t *testing.T, r *Reader, terms []string) (want [][]int64) {
	t.Helper()
	found, err := r.Find(t.Context(), terms, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		want = append(want, m.Holding)
	}
	return want
}

func TestFrequenciesAreThoseOfThePostingLists(t *testing.T) {
	segments, terms, _ := native(t)
	for name, known := range terms {
		asked := append(slices.Sorted(maps.Keys(known)), "nowhere", "nowhere")
		files := segments[name]
		files.Kept = &indextest.Kept{Bytes: 1 << 30, Values: map[string]any{}}
		r, err := Open(t.Context(), files, Expected{})
		if err != nil {
			t.Fatal(err)
		}
		want := frequenciesOf(t, r, asked)
		for _, at := range []string{"read", "cached"} {
			got, err := r.Frequencies(t.Context(), asked)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s, %s: %v (-want +got):\n%s", name, at, err, diff)
			}
		}
	}
}

func TestBytesOfASearchGrowWithItsLists(t *testing.T) {
	const count = 1_000_000
	r, err := Open(t.Context(), many(t, 128, count, 2, 3), Expected{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		frequencies []int64
		positions   bool
		want        int64
	}{
		{[]int64{0, 0}, false, 0},
		{[]int64{2, 1}, false, 3*8 + 3*4096*4},
		{[]int64{count / 2, count / 3}, false, (count/2+count/3)*8 + count*4},
		{[]int64{count / 2, count / 3}, true, (count/2+count/3)*12 + count*4},
	} {
		if got := r.SearchBytes([][]int64{c.frequencies}, c.positions); len(got) != 1 || got[0] != c.want {
			t.Errorf("%v: got %d bytes, want %d", c.frequencies, got, c.want)
		}
	}
}

// Some partitions have what they have in the whole segment.
func TestPartitionsAreOpenedApart(t *testing.T) {
	segments, terms, _ := native(t)
	for name, known := range terms {
		asked := slices.Sorted(maps.Keys(known))
		whole, err := Open(t.Context(), segments[name], Expected{})
		if err != nil {
			t.Fatal(err)
		}
		want := frequenciesOf(t, whole, asked)
		for _, places := range [][]int{{0}, {1}, {0, 1}, {}} {
			r, err := OpenPartitions(t.Context(), segments[name], Expected{}, places)
			if err != nil {
				t.Fatal(err)
			}
			var chosen [][]int64
			for _, place := range places {
				chosen = append(chosen, want[place])
			}
			if diff := cmp.Diff(chosen, frequenciesOf(t, r, asked)); diff != "" || r.Partitions() != len(places) {
				t.Errorf("%s, partitions %v (-want +got):\n%s", name, places, diff)
			}
		}
		for _, place := range []int{-1, 2} {
			if _, err := OpenPartitions(t.Context(), segments[name], Expected{}, []int{place}); !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("%s: partition %d: got %v, want ErrUnsupported", name, place, err)
			}
		}
	}
}

// The document frequencies of terms are read without their lists.
func TestFrequenciesReadLittle(t *testing.T) {
	const count = 1_000_000
	out, usage := many(t, 128, count, 2, 3), &objectstore.Usage{}
	ctx := objectstore.WithUsage(t.Context(), usage)
	r, err := Open(ctx, indextest.Folder{Store: objectstore.Counting(out.Store), Prefix: out.Prefix}, Expected{})
	if err != nil {
		t.Fatal(err)
	}
	bytes, requests := usage.Bytes(), usage.Requests()
	got, err := r.Frequencies(ctx, []string{"every2", "every3"})
	if diff := cmp.Diff([][]int64{{count / 2, (count + 2) / 3}}, got); err != nil || diff != "" {
		t.Errorf("got %v (-want +got):\n%s", err, diff)
	}
	if bytes, requests = usage.Bytes()-bytes, usage.Requests()-requests; bytes > 1<<10 || requests > 2 {
		t.Errorf("%d bytes were read in %d requests", bytes, requests)
	}
}

// apartCost is what a cold search of a partition reads, with and without the scores that another one has led to.
type apartCost struct{ alone, after searchCost }

func costApart(t testing.TB, count int) (cost apartCost) {
	t.Helper()
	out, usage := many(t, maxBlock, count, 280, 301), &objectstore.Usage{}
	ctx := objectstore.WithUsage(t.Context(), usage)
	r, err := Open(ctx, indextest.Folder{Store: objectstore.Counting(out.Store), Prefix: out.Prefix}, Expected{})
	if err != nil {
		t.Fatal(err)
	}
	top := vector.NewTopK(10, vector.Bounds{})
	b := Bound{Weights: []float32{12, 12.2}, AverageLength: 32, Least: func() float32 { return -top.Limit() }}
	for number, c := range []*searchCost{&cost.alone, &cost.after} {
		bytes, requests := usage.Bytes(), usage.Requests()
		found, err := r.Find(ctx, []string{"every280", "every301"}, false)
		if err != nil {
			t.Fatal(err)
		}
		err = found[0].EachAbove(ctx, b, func(d *Document) error {
			top.Add(-float32(b.score(d)), uint64(number)<<32|uint64(d.Number))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		*c = searchCost{bytes: usage.Bytes() - bytes, requests: usage.Requests() - requests}
	}
	return cost
}

// A search of a large partition finds scores of its own soon, so it reads little more than one that begins with those of
// other partitions. Besides, the first search finds out where in its pages documents are.
func TestPartitionsSearchedApartReadLittleMore(t *testing.T) {
	cost := costApart(t, 4_000_000)
	if cost.after.bytes == 0 || cost.alone.bytes > cost.after.bytes+cost.after.bytes/4 || cost.alone.requests > cost.after.requests+4 {
		t.Errorf("a partition takes %+v", cost)
	}
}

func BenchmarkPartitionApart(b *testing.B) {
	var cost apartCost
	for range b.N {
		cost = costApart(b, 27_000_000)
	}
	b.ReportMetric(float64(cost.alone.bytes), "read-bytes")
	b.ReportMetric(float64(cost.after.bytes), "read-bytes-after-others")
	b.ReportMetric(float64(cost.alone.requests), "requests")
	b.ReportMetric(float64(cost.after.requests), "requests-after-others")
}
