package textsearch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"tiltyard/shared/index/vector"
)

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
