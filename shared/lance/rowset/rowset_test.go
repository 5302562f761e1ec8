package rowset

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/process/memory"
)

func TestSetIsASet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	set, want := At(), map[uint64]bool{}
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

func TestSetIntersects(t *testing.T) {
	cases := []struct{ a, b, want []uint64 }{
		{[]uint64{1, 2, 3}, []uint64{2, 3, 4}, []uint64{2, 3}},
		{[]uint64{1, 1<<32 | 1}, []uint64{1<<32 | 1, 2 << 32}, []uint64{1<<32 | 1}},
		{[]uint64{1}, []uint64{1 << 32}, nil},
		{[]uint64{1}, nil, nil},
		{nil, []uint64{1}, nil},
	}
	for _, c := range cases {
		set := At(c.a...)
		set.Intersect(At(c.b...))
		if got := slices.Collect(set.All()); !slices.Equal(got, c.want) || set.Len() != int64(len(c.want)) {
			t.Errorf("%x and %x: got %x, want %x", c.a, c.b, got, c.want)
		}
	}
}

func TestSetUnites(t *testing.T) {
	cases := []struct{ a, b, want []uint64 }{
		{[]uint64{1, 2}, []uint64{2, 4}, []uint64{1, 2, 4}},
		{[]uint64{1, 1<<32 | 1}, []uint64{1 << 32, 2 << 32}, []uint64{1, 1 << 32, 1<<32 | 1, 2 << 32}},
		{nil, []uint64{1}, []uint64{1}},
		{[]uint64{1}, nil, []uint64{1}},
	}
	for _, c := range cases {
		set := At(c.a...)
		set.Unite(At(c.b...))
		if got := slices.Collect(set.All()); !slices.Equal(got, c.want) {
			t.Errorf("%x or %x: got %x, want %x", c.a, c.b, got, c.want)
		}
	}
}

func TestSetTakesRangesAndBitmaps(t *testing.T) {
	set := At(1)
	set.AddRange(0, 3, 5)
	set.AddRange(2, 7, 7)
	set.AddBitmap(2, roaring.BitmapOf(9, 8))
	set.AddBitmap(3, roaring.New())
	if got, want := slices.Collect(set.All()), []uint64{1, 3, 4, 2<<32 | 8, 2<<32 | 9}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Slices by ranks have all rows, each once, and rows before an offset can be taken out.
func TestSetIsSliced(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		set := At()
		for range random.IntN(60) {
			set.Add([]uint64{uint64(random.IntN(4))<<32 | uint64(random.IntN(1<<17))})
		}
		all := slices.Collect(set.All())
		from, step := int64(0), 1+random.Int64N(20)
		var got []uint64
		for ; from < set.Len(); from += step {
			some := set.Slice(from, from+step)
			if some.Len() != min(step, set.Len()-from) {
				t.Fatalf("from %d to %d of %d there are %d rows", from, from+step, set.Len(), some.Len())
			}
			got = slices.AppendSeq(got, some.All())
		}
		if !slices.Equal(got, all) || !slices.Equal(slices.Collect(set.All()), all) {
			t.Fatalf("slices have %x, want %x", got, all)
		}
		set.RemoveBefore(1, 1<<16)
		want := slices.DeleteFunc(all, func(a uint64) bool { return a>>32 == 1 && a&(1<<32-1) < 1<<16 })
		if got := slices.Collect(set.All()); !slices.Equal(got, want) {
			t.Fatalf("%x are left, want %x", got, want)
		}
	}
}

// Bitmaps are charged, and those of adjacent rows take little memory.
func TestSetHoldsBitmaps(t *testing.T) {
	share := memory.NewBudget(1<<20, 1<<20).Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	var held memory.Hold
	set := At()
	for fragment := range uint64(100) {
		rows := roaring.New()
		rows.AddRange(5, 1<<20)
		if err := set.AddHeldBitmap(ctx, &held, fragment, rows); err != nil {
			t.Fatal(err)
		}
	}
	if want := int64(100 * (1<<20 - 5)); set.Len() != want || held.Bytes() == 0 || held.Bytes() != set.Bytes() {
		t.Errorf("%d rows, want %d; %d of %d bytes are held", set.Len(), want, held.Bytes(), set.Bytes())
	}
}

func TestSetRetainsFragments(t *testing.T) {
	set, lasts := At(1, 5, 1<<32|7, 2<<32), map[uint64]uint32{}
	err := set.Retain(func(fragment uint64, last uint32) (bool, error) {
		lasts[fragment] = last
		return fragment != 1, nil
	})
	if got, want := slices.Collect(set.All()), []uint64{1, 5, 2 << 32}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %x, want %x; error %v", got, want, err)
	}
	if diff := cmp.Diff(map[uint64]uint32{0: 5, 1: 7, 2: 0}, lasts); diff != "" {
		t.Errorf("the last rows (-want +got):\n%s", diff)
	}
}

func TestSetOfNothing(t *testing.T) {
	var none *Set
	for _, set := range []*Set{none, {}, At()} {
		if set.Len() != 0 || set.Contains(0) || slices.Collect(set.All()) != nil || len(set.Vectors()) != 0 {
			t.Errorf("%v is not empty", set)
		}
	}
}

func TestSetStopsWhenAsked(t *testing.T) {
	var got []uint64
	for address := range At(2<<32, 1, 7, 1<<32|3).All() {
		if got = append(got, address); len(got) == 3 {
			break
		}
	}
	if diff := cmp.Diff([]uint64{1, 7, 1<<32 | 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Rows in the order of a table take much less than their addresses would.
func TestSetTakesLittleMemory(t *testing.T) {
	const rows = 1 << 20
	for name, of := range map[string]struct{ every, most uint64 }{"all rows": {1, 4 << 10}, "each third row": {3, rows/8 + 4<<10}} {
		set, addresses := At(), []uint64(nil)
		for row := uint64(0); row < rows; row += of.every {
			if addresses = append(addresses, row); len(addresses) == 8192 {
				set.Add(addresses)
				addresses = addresses[:0]
			}
		}
		set.Add(addresses)
		set.Vectors()
		if got := set.fragments[0].GetSizeInBytes(); got > of.most {
			t.Errorf("%s: got %d bytes, want at most %d", name, got, of.most)
		}
	}
}

func TestSetSubtracts(t *testing.T) {
	set := At(1, 2, 3, 1<<32|7, 2<<32|1)
	set.Subtract(At(2, 9, 2<<32|1, 5<<32|1))
	if got, want := slices.Collect(set.All()), []uint64{1, 3, 1<<32 | 7}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestSetsAreSent(t *testing.T) {
	sent := At(3<<32|5, 3<<32|6, 7<<32, 7<<32|1<<31)
	sent.AddRange(9, 10, 1_000_000)
	text, err := json.Marshal(sent)
	if err != nil || len(text) > 500 {
		t.Fatalf("%d bytes: %v", len(text), err)
	}
	var got Set
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if want := slices.Collect(sent.All()); !slices.Equal(slices.Collect(got.All()), want) || got.Len() != sent.Len() {
		t.Errorf("got %d rows, want %d", got.Len(), sent.Len())
	}
}

// Whatever is sent as a set, it is one or an error.
func FuzzUnmarshalJSON(f *testing.F) {
	for _, s := range []*Set{At(), At(1, 2, 3<<32|7), At(1<<40, 1<<40|70_000)} {
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"1":"OjAAAAEAAAAAAAEAEAAAAAEABQA="}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Set
		if len(text) > 1<<16 || json.Unmarshal(text, &s) != nil || s.Len() > 1<<20 {
			return
		}
		n := int64(0)
		for address := range s.All() {
			if n++; !s.Contains(address) {
				t.Fatalf("row %d is in the set, and is not", address)
			}
		}
		if n != s.Len() {
			t.Fatalf("%d rows of %d", n, s.Len())
		}
	})
}
