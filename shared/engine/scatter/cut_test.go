package scatter

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestItemsAreCutEvenly(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		n     int64
		want  []int
	}{
		{nil, 3, nil},
		{[]int64{7}, 3, []int{1}},
		{[]int64{1, 1, 1, 1, 1, 1}, 3, []int{2, 4, 6}},
		{[]int64{1, 1, 1, 1, 1, 1}, 1, []int{6}},
		{[]int64{1, 1, 1, 1, 1, 1}, 100, []int{1, 2, 3, 4, 5, 6}},
		{[]int64{100, 1, 1, 1}, 2, []int{1, 4}},
		{[]int64{1, 1, 100}, 2, []int{3}},
		{[]int64{0, 0, 0}, 2, []int{1, 3}},
	} {
		if diff := cmp.Diff(c.want, Cut(c.sizes, c.n)); diff != "" {
			t.Errorf("%v in %d (-want +got):\n%s", c.sizes, c.n, diff)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		sizes, n := make([]int64, 1+random.IntN(30)), 1+random.Int64N(9)
		all, most := int64(0), int64(0)
		for i := range sizes {
			sizes[i] = random.Int64N(50)
			all, most = all+sizes[i], max(most, sizes[i])
		}
		ends, from := Cut(sizes, n), 0
		for _, end := range ends {
			run := int64(0)
			for _, size := range sizes[from:max(from, end)] {
				run += size
			}
			if end <= from || run > all/n+most+1 {
				t.Fatalf("%v in %d ends at %v: a run has the size %d", sizes, n, ends, run)
			}
			from = end
		}
		if int64(len(ends)) > n || from != len(sizes) {
			t.Fatalf("%v in %d ends at %v", sizes, n, ends)
		}
	}
}
