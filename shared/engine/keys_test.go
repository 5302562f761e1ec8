package engine

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNumberFilterHasWhatIsInTheSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := map[uint64]int32{}
		for _, n := range rapid.SliceOf(rapid.Uint64()).Draw(t, "numbers") {
			numbers[n] = 0
		}
		f := newNumberFilter(numbers)
		for n := range numbers {
			if !f.mayHave(n) {
				t.Fatalf("the filter of %d numbers denies %d", len(numbers), n)
			}
		}
	})
}

func TestNumberFilterDeniesMostOthers(t *testing.T) {
	numbers := map[uint64]int32{}
	for n := range uint64(1000) {
		numbers[n] = 0
	}
	f, passed := newNumberFilter(numbers), 0
	for n := uint64(1000); n < 101_000; n++ {
		if f.mayHave(n) {
			passed++
		}
	}
	if passed > 5000 {
		t.Errorf("the filter of 1000 numbers passed %d of 100000 others, want 5000 at most", passed)
	}
}
