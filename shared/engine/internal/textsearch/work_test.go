package textsearch

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each partition is in one part, in order, and no part is larger than its share and one partition.
func TestWorkIsCutEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, want, largest := &Work{}, []string(nil), int64(0)
		for segment := range rapid.IntRange(1, 4).Draw(t, "segments") {
			for place := range rapid.IntRange(0, 9).Draw(t, "partitions") {
				p := piece{fmt.Sprint(segment), place, rapid.Int64Range(1, 1000).Draw(t, "bytes")}
				w.pieces, largest = append(w.pieces, p), max(largest, p.bytes)
				want = append(want, fmt.Sprint(p.segment, " ", p.place))
			}
		}
		n := rapid.Int64Range(1, 12).Draw(t, "parts")
		sizes := map[string]int64{}
		for _, p := range w.pieces {
			sizes[fmt.Sprint(p.segment, " ", p.place)] = p.bytes
		}
		var got []string
		parts := w.Cut(n)
		for _, part := range parts {
			size := int64(0)
			for i, of := range part {
				if err := of.Check(); err != nil || i > 0 && part[i-1].Segment == of.Segment {
					t.Errorf("%v: %v", part, err)
				}
				for _, place := range of.Places {
					name := fmt.Sprint(of.Segment, " ", place)
					got, size = append(got, name), size+sizes[name]
				}
			}
			if size == 0 || size > w.Bytes()/n+2*largest {
				t.Errorf("a part has %d bytes of %d in %d parts", size, w.Bytes(), n)
			}
		}
		if !slices.Equal(got, want) || int64(len(parts)) > n || w.Partitions() != len(want) {
			t.Errorf("got %v in %d parts, want %v in at most %d", got, len(parts), want, n)
		}
	})
}
