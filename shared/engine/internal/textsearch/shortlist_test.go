package textsearch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/queryapi"
)

// A search for which a shortlist takes too much memory finds the same without one.
func TestSearchesWithLittleMemoryHaveNoShortlist(t *testing.T) {
	d := nativeTexts(t)
	indexes, err := IndexesOf(d)
	if err != nil {
		t.Fatal(err)
	}
	query, _, err := indexes.Convert(&queryapi.FullTextQuery{Text: "walk run jump", Columns: []string{"body"}})
	if err != nil {
		t.Fatal(err)
	}
	found := func(bytes int64) ([]vector.Hit, error) {
		share := memory.NewBudget(bytes, bytes).Open()
		defer share.Close()
		ctx := memory.WithShare(t.Context(), share)
		search, err := New(ctx, d, query, Options{Indexed: true, Made: func(arrow.RecordBatch) {}})
		if err != nil {
			return nil, err
		}
		return search.Best(ctx, 2000, 10_000)
	}
	want, err := found(64 << 20)
	if err != nil || len(want) == 0 {
		t.Fatalf("got %v, %v", want, err)
	}
	const little = candidateBytes * 2 * 2000 // less than a shortlist takes
	if got, err := found(little); err != nil || !slices.Equal(got, want) {
		t.Errorf("with %d bytes: got %v, %v; want %v", little, got, err, want)
	}
}

// A shortlist has all documents that score as much as the last of the best, until these are too many.
func TestShortlistKeepsTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const best, most = 10, 30
	tied := 0
	for round := range 400 {
		list := &shortlist{best: vector.NewTopK(best, vector.Bounds{}), most: most}
		scores, scale := make([]float32, random.IntN(600)), 1+random.IntN(200)
		var err error
		for i := range scores {
			scores[i] = float32(random.IntN(scale))
			if err = list.add(scores[i], i%3, int64(i)); err != nil {
				break
			}
		}
		if err == nil {
			err = list.prune()
		}
		if errors.Is(err, errTied) {
			tied++
			continue
		}
		var want []candidate
		if sorted := slices.Sorted(slices.Values(scores)); len(sorted) > 0 {
			least := sorted[max(0, len(sorted)-best)]
			for i, s := range scores {
				if s >= least {
					want = append(want, candidate{s, i % 3, int64(i)})
				}
			}
		}
		if err != nil || !slices.Equal(list.all, want) {
			t.Fatalf("round %d: got %v, %v; want %v", round, list.all, err, want)
		}
	}
	if tied < 10 || tied > 200 {
		t.Errorf("%d of 400 lists had too many of the same score", tied)
	}
}
