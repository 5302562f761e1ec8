package merge

import (
	"testing"

	"pgregory.net/rapid"
)

func TestKeyFilterHasItsKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Uint64()).Draw(t, "numbers")
		f := newKeyFilter(len(numbers), rapid.IntRange(1, 64).Draw(t, "bits per key"))
		for _, n := range numbers {
			f.add(spread(n))
		}
		for _, n := range numbers {
			if !f.has(spread(n)) {
				t.Fatalf("the filter of %d numbers denies %d", len(numbers), n)
			}
		}
	})
}

func TestKeyFilterDeniesMostOthers(t *testing.T) {
	f, passed := newKeyFilter(1000, 64), 0
	for n := range uint64(1000) {
		f.add(spread(n))
	}
	for n := uint64(1000); n < 101_000; n++ {
		if f.has(spread(n)) {
			passed++
		}
	}
	if passed > 5000 {
		t.Errorf("the filter of 1000 numbers passed %d of 100000 others, want 5000 at most", passed)
	}
}
