package inverted

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/indextest"
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
		sum := int64(0)
		for _, n := range slices.Concat(want...) {
			sum += n
		}
		if most := r.PostingsAtMost(len(asked)); sum == 0 || sum > most {
			t.Errorf("%s: %d postings, at most %d", name, sum, most)
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
