package rowid

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// drawIDs draws distinct ids that favour one form of segment.
func drawIDs(t *rapid.T, label string) []uint64 {
	base := rapid.SampledFrom([]uint64{0, 7, 1 << 33, math.MaxUint64 - 5000}).Draw(t, label+" base")
	n := rapid.IntRange(0, 1500).Draw(t, label+" n")
	step := rapid.SampledFrom([]int{1, 2, 3, 7, 100_000}).Draw(t, label+" step")
	gap := rapid.IntRange(2, 50).Draw(t, label+" gap")
	ids := make([]uint64, 0, n)
	at := base
	for i := range n {
		if i%gap != 0 {
			ids = append(ids, at)
		}
		if math.MaxUint64-at < uint64(step) {
			break
		}
		at += uint64(step)
	}
	if rapid.Bool().Draw(t, label+" reversed") {
		slices.Reverse(ids)
	}
	return ids
}

func encoded(segments ...pb.U64Segment) []byte {
	var e pb.Encoder
	(&pb.RowIDSequence{Segments: segments}).Marshal(&e)
	return e.B
}

func TestSequencesHoldTheirIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids []uint64
		var parts []*Sequence
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			part := drawIDs(t, "part")
			ids, parts = append(ids, part...), append(parts, New(part))
		}
		s := Concat(parts...)
		raw := s.Encode()
		parsed, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(parsed.Encode(), raw) {
			t.Fatal("the second encoding differs")
		}
		for name, s := range map[string]*Sequence{"made": s, "parsed": parsed} {
			if s.Len() != int64(len(ids)) || !slices.Equal(s.IDs(), ids) {
				t.Fatalf("%s: got %d ids, want %d", name, s.Len(), len(ids))
			}
			for k, id := range ids {
				if got := s.At(int64(k)); got != id {
					t.Fatalf("%s: At(%d): got %d, want %d", name, k, got, id)
				}
			}
			n := int64(len(ids))
			from, to := rapid.Int64Range(0, n).Draw(t, "from"), rapid.Int64Range(0, n).Draw(t, "to")
			want := ids[from:max(from, to)]
			if got := s.AppendTo(nil, from, to); !slices.Equal(got, want) {
				t.Fatalf("%s: AppendTo(%d, %d): got %v, want %v", name, from, to, got, want)
			}
			if got := inRuns(t, s, from, to, len(want)); !slices.Equal(got, want) {
				t.Fatalf("%s: Runs(%d, %d): got %v, want %v", name, from, to, got, want)
			}
			if got := s.Slice(from, to).IDs(); !slices.Equal(got, want) {
				t.Fatalf("%s: Slice(%d, %d): got %v, want %v", name, from, to, got, want)
			}
		}
	})
}

// inRuns returns the ids of the runs of a sequence, at most n and one.
func inRuns(t *rapid.T, s *Sequence, from, to int64, n int) (ids []uint64) {
	for first, last := range s.Runs(from, to) {
		if first > last {
			t.Fatalf("a run from %d to %d", first, last)
		}
		for id := first; len(ids) <= n; id++ {
			if ids = append(ids, id); id == last {
				break
			}
		}
	}
	return ids
}

func TestSegmentsFindTheirIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := drawIDs(t, "ids")
		g := compact(ids)
		for k, id := range ids {
			if got, ok := g.find(id); !ok || got != int64(k) {
				t.Fatalf("%T: find(%d): got %d, %v, want %d", g, id, got, ok, k)
			}
		}
		for _, id := range []uint64{0, 8, 9, 101, 1<<33 + 2, math.MaxUint64} {
			if _, ok := g.find(id); ok != slices.Contains(ids, id) {
				t.Fatalf("%T: find(%d): got %v", g, id, ok)
			}
		}
		if len(ids) > 0 {
			lowest, highest := g.bounds()
			if lowest != slices.Min(ids) || highest != slices.Max(ids) {
				t.Fatalf("%T: bounds: got %d to %d", g, lowest, highest)
			}
		}
	})
}

func TestIDsAreStoredInTheSmallestForm(t *testing.T) {
	every := func(step uint64, n int) (ids []uint64) {
		for i := range n {
			ids = append(ids, uint64(i)*step)
		}
		return ids
	}
	cases := []struct {
		ids  []uint64
		want pb.SegmentKind
	}{
		{nil, pb.SegmentRange},
		{every(1, 100), pb.SegmentRange},
		{slices.Delete(every(1, 1000), 5, 6), pb.SegmentHoles},
		{every(2, 1000), pb.SegmentBitmap},
		{every(1000, 1000), pb.SegmentSortedArray},
		{[]uint64{1, math.MaxUint64}, pb.SegmentSortedArray},
		{[]uint64{3, 2, 1}, pb.SegmentArray},
	}
	for _, c := range cases {
		if got := compact(c.ids).message().Kind; got != c.want {
			t.Errorf("%d ids: got kind %d, want %d", len(c.ids), got, c.want)
		}
	}
}

func TestRangesThatGoOnBecomeOne(t *testing.T) {
	s := Concat(Range(5, 10), Range(10, 10), Range(10, 12), Range(20, 21))
	if diff := cmp.Diff([]uint64{5, 6, 7, 8, 9, 10, 11, 20}, s.IDs()); diff != "" || len(s.segments) != 2 {
		t.Errorf("%d segments, ids (-want +got):\n%s", len(s.segments), diff)
	}
}

func TestBrokenSequencesAreCorrupt(t *testing.T) {
	two := func(values ...byte) pb.EncodedU64Array { return pb.EncodedU64Array{Width: 2, Values: values} }
	cases := map[string][]byte{
		"no kind":               encoded(pb.U64Segment{}),
		"backward range":        encoded(pb.U64Segment{Kind: pb.SegmentRange, Start: 2, End: 1}),
		"huge range":            encoded(pb.U64Segment{Kind: pb.SegmentRange, End: math.MaxUint64}),
		"too many in all":       encoded(pb.U64Segment{Kind: pb.SegmentRange, End: 1 << 31}, pb.U64Segment{Kind: pb.SegmentRange, End: 1 << 31}),
		"huge range with holes": encoded(pb.U64Segment{Kind: pb.SegmentHoles, End: math.MaxUint64, Array: two(1, 0)}),
		"no holes array":        encoded(pb.U64Segment{Kind: pb.SegmentHoles, End: 5}),
		"hole outside":          encoded(pb.U64Segment{Kind: pb.SegmentHoles, End: 5, Array: two(5, 0)}),
		"holes out of order":    encoded(pb.U64Segment{Kind: pb.SegmentHoles, End: 5, Array: two(2, 0, 2, 0)}),
		"short bitmap":          encoded(pb.U64Segment{Kind: pb.SegmentBitmap, End: 9, Bitmap: []byte{1}}),
		"bits past the end":     encoded(pb.U64Segment{Kind: pb.SegmentBitmap, End: 9, Bitmap: []byte{1, 2}}),
		"bitmap that wraps":     encoded(pb.U64Segment{Kind: pb.SegmentBitmap, End: math.MaxUint64, Bitmap: []byte{}}),
		"odd array":             encoded(pb.U64Segment{Kind: pb.SegmentArray, Array: two(1, 0, 1)}),
		"array past 64 bits":    encoded(pb.U64Segment{Kind: pb.SegmentArray, Array: pb.EncodedU64Array{Width: 2, Base: math.MaxUint64, Values: []byte{1, 0}}}),
		"unsorted sorted array": encoded(pb.U64Segment{Kind: pb.SegmentSortedArray, Array: two(2, 0, 1, 0)}),
		"no message":            {0xFF},
	}
	for name, raw := range cases {
		if _, err := Parse(raw); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
}

func TestVersionsHoldTheirRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 60).Draw(t, "versions")
		v := ConcatVersions(NewVersions(versions), SameVersion(3, 2))
		versions = append(versions, 2, 2, 2)
		parsed, err := ParseVersions(v.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, parsed, cmp.AllowUnexported(Versions{})); diff != "" {
			t.Fatalf("(-made +parsed):\n%s", diff)
		}
		n := int64(len(versions))
		from, to := rapid.Int64Range(0, n).Draw(t, "from"), rapid.Int64Range(0, n).Draw(t, "to")
		cut := parsed.Slice(from, to)
		if parsed.Len() != n || cut.Len() != max(to-from, 0) {
			t.Fatalf("lengths: got %d and %d, want %d and %d", parsed.Len(), cut.Len(), n, max(to-from, 0))
		}
		run := int64(0)
		for end, version := range parsed.Runs() {
			for ; run < end; run++ {
				if versions[run] != version {
					t.Fatalf("row %d is in a run of version %d", run, version)
				}
			}
		}
		if run != n {
			t.Fatalf("runs of %d rows, want %d", run, n)
		}
		for k := range n {
			if parsed.At(k) != versions[k] || k >= from && k < to && cut.At(k-from) != versions[k] {
				t.Fatalf("version of row %d is wrong", k)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, ids := range [][]uint64{nil, {1, 2, 3}, {1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 3, 5, 7, 9}, {1, 90000}, {5, 1}} {
		f.Add(New(ids).Encode())
	}
	for _, fragment := range nativeFragments(f) {
		f.Add(fragment.RowIDs)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) {
				t.Fatalf("error %v is not ErrCorrupt", err)
			}
			return
		}
		again, err := Parse(s.Encode())
		if err != nil || again.Len() != s.Len() {
			t.Fatalf("second reading: %v", err)
		}
		NewIndex([]Fragment{{ID: 1, IDs: s}})
		left := uint64(s.Len())
		for first, last := range s.Runs(0, s.Len()) {
			if left -= last - first + 1; first > last || left > uint64(s.Len()) {
				t.Fatalf("a run from %d to %d in %d ids", first, last, s.Len())
			}
		}
		if left != 0 {
			t.Fatalf("%d ids are in no run", left)
		}
		for _, k := range []int64{0, s.Len() / 2, s.Len() - 1} {
			if k < 0 || k >= s.Len() {
				continue
			}
			id := s.At(k)
			if again.At(k) != id || s.AppendTo(nil, k, k+1)[0] != id {
				t.Fatalf("id %d is told in two ways", k)
			}
		}
	})
}

func FuzzParseVersions(f *testing.F) {
	f.Add(NewVersions([]uint64{1, 1, 2, 3}).Encode())
	for _, fragment := range nativeFragments(f) {
		f.Add(fragment.CreatedAt)
		f.Add(fragment.UpdatedAt)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseVersions(b)
		if err != nil {
			return
		}
		again, err := ParseVersions(v.Encode())
		if err != nil || !cmp.Equal(v, again, cmp.AllowUnexported(Versions{})) {
			t.Fatalf("second reading: %v", err)
		}
	})
}
