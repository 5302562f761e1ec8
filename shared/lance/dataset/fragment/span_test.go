package fragment

import (
	"testing"

	"pgregory.net/rapid"
)

// Workers share all rows, each once and in order, and fragments that are shorter than a share are not cut.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*Fragment
		total := int64(0)
		for _, n := range rapid.SliceOfN(rapid.Int64Range(1, 50), 0, 9).Draw(t, "fragments") {
			all = append(all, &Fragment{Rows: n})
			total += n
		}
		of := rapid.IntRange(1, 12).Draw(t, "workers")
		length := (total + int64(of) - 1) / int64(of)
		at, row := 0, int64(0)
		for worker := range of {
			shared := int64(0)
			for _, s := range Share(all, worker, of) {
				if s.At != all[at] || s.From != row || s.To <= s.From || s.To > s.At.Rows {
					t.Fatalf("worker %d has rows %d to %d, want those of fragment %d from %d on", worker, s.From, s.To, at, row)
				}
				if s.At.Rows <= length && s.To-s.From < s.At.Rows {
					t.Fatalf("a fragment of %d rows is cut, with shares of %d", s.At.Rows, length)
				}
				shared += s.To - s.From
				if row = s.To; row == s.At.Rows {
					at, row = at+1, 0
				}
			}
			if shared > 2*length {
				t.Fatalf("worker %d has %d rows, with shares of %d", worker, shared, length)
			}
		}
		if at != len(all) {
			t.Fatalf("fragments from %d on are nobody's", at)
		}
	})
}
