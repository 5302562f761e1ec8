package keyheap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tiltyard/shared/index/internal/keyheap"
)

func TestHeapPopsKeysInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Uint64()).Draw(t, "keys")
		var h keyheap.Heap
		for _, key := range keys {
			h.Push(key)
		}
		var got []uint64
		for len(h) > 0 {
			got = append(got, h.Pop())
		}
		if slices.Sort(keys); !slices.Equal(got, keys) {
			t.Errorf("got %v, want %v", got, keys)
		}
	})
}

func TestLeastHoldsTheLeastKeys(t *testing.T) {
	var l keyheap.Least
	rapid.Check(t, func(t *rapid.T) {
		keys, most := rapid.SliceOf(rapid.Uint64Range(0, 50)).Draw(t, "keys"), rapid.IntRange(1, 20).Draw(t, "most")
		l.Reset(most)
		for _, key := range keys {
			l.Add(key)
		}
		slices.Sort(keys)
		want := keys[:min(most, len(keys))]
		if l.Len() != len(want) || l.IsFull() != (len(want) == most) || len(want) > 0 && l.Greatest() != want[len(want)-1] {
			t.Errorf("%d keys, full: %t", l.Len(), l.IsFull())
		}
		if got := l.Sorted(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
