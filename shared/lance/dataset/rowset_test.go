package dataset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowSetIsASet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	set, want := RowsAt(), map[uint64]bool{}
	for range 50 {
		var some []uint64
		for range random.IntN(200) {
			some = append(some, uint64(random.IntN(5))<<32|uint64(random.IntN(1000)))
		}
		set.Add(some)
		for _, address := range some {
			want[address] = true
		}
	}
	if got := set.Len(); got != int64(len(want)) {
		t.Errorf("got %d rows, want %d", got, len(want))
	}
	all := slices.Collect(set.All())
	if !slices.IsSorted(all) || len(all) != len(want) {
		t.Errorf("got %d addresses, sorted: %t; want %d", len(all), slices.IsSorted(all), len(want))
	}
	for fragment := range uint64(6) {
		for row := range uint64(1001) {
			if address := fragment<<32 | row; set.Contains(address) != want[address] {
				t.Fatalf("contains %x: got %t", address, !want[address])
			}
		}
	}
}

func TestRowSetIntersects(t *testing.T) {
	cases := []struct{ a, b, want []uint64 }{
		{[]uint64{1, 2, 3}, []uint64{2, 3, 4}, []uint64{2, 3}},
		{[]uint64{1, 1<<32 | 1}, []uint64{1<<32 | 1, 2 << 32}, []uint64{1<<32 | 1}},
		{[]uint64{1}, []uint64{1 << 32}, nil},
		{[]uint64{1}, nil, nil},
		{nil, []uint64{1}, nil},
	}
	for _, c := range cases {
		set := RowsAt(c.a...)
		set.Intersect(RowsAt(c.b...))
		if got := slices.Collect(set.All()); !slices.Equal(got, c.want) || set.Len() != int64(len(c.want)) {
			t.Errorf("%x and %x: got %x, want %x", c.a, c.b, got, c.want)
		}
	}
}

func TestRowSetOfNothing(t *testing.T) {
	var none *RowSet
	for _, set := range []*RowSet{none, {}, RowsAt()} {
		if set.Len() != 0 || set.Contains(0) || slices.Collect(set.All()) != nil || len(set.vectors()) != 0 {
			t.Errorf("%v is not empty", set)
		}
	}
}

func TestRowSetStopsWhenAsked(t *testing.T) {
	var got []uint64
	for address := range RowsAt(2<<32, 1, 7, 1<<32|3).All() {
		if got = append(got, address); len(got) == 3 {
			break
		}
	}
	if diff := cmp.Diff([]uint64{1, 7, 1<<32 | 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Rows in the order of a table take much less than their addresses would.
func TestRowSetTakesLittleMemory(t *testing.T) {
	const rows = 1 << 20
	for name, of := range map[string]struct{ every, most uint64 }{"all rows": {1, 4 << 10}, "each third row": {3, rows/8 + 4<<10}} {
		set, addresses := RowsAt(), []uint64(nil)
		for row := uint64(0); row < rows; row += of.every {
			if addresses = append(addresses, row); len(addresses) == 8192 {
				set.Add(addresses)
				addresses = addresses[:0]
			}
		}
		set.Add(addresses)
		set.vectors()
		if got := set.fragments[0].GetSizeInBytes(); got > of.most {
			t.Errorf("%s: got %d bytes, want at most %d", name, got, of.most)
		}
	}
}
