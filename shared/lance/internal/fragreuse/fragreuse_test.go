package fragreuse

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// entry returns the entry that native Lance has written, and the entry of an index.
func entry(t testing.TB) (reuse, index *pb.IndexMetadata) {
	t.Helper()
	data, err := os.ReadFile("testdata/section.binpb")
	if err != nil {
		t.Fatal(err)
	}
	var section pb.IndexSection
	if err := section.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	for _, x := range section.Indices {
		if x.Name == Name {
			reuse = x
		} else {
			index = x
		}
	}
	return reuse, index
}

// emptied is the fragment whose rows were all deleted before the first compaction, which left it aside.
const emptied = 2

// Rows and fragments are followed to where native Lance has moved them, by two compactions.
func TestRowsAreWhereNativeLanceHasMovedThem(t *testing.T) {
	reuse, index := entry(t)
	m, err := Parse(reuse)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/moves.json")
	if err != nil {
		t.Fatal(err)
	}
	var moves [][2]*uint64
	if err := json.Unmarshal(text, &moves); err != nil || len(moves) == 0 {
		t.Fatalf("%d moves; error %v", len(moves), err)
	}
	fragments := roaring.New()
	for _, move := range moves {
		got, ok := m.Address(*move[0])
		if gone := !ok || got>>32 == emptied; gone != (move[1] == nil) || !gone && got != *move[1] {
			t.Errorf("row %x: got %x, %t", *move[0], got, ok)
		}
		if ok {
			fragments.Add(uint32(got >> 32))
		}
	}
	covered := roaring.New()
	covered.AddRange(0, 10)
	covered.Add(100)
	if m.Follow(covered); !covered.CheckedRemove(100) || !covered.Equals(fragments) {
		t.Errorf("got fragments %v, want %v", covered, fragments)
	}
	fragments.Remove(emptied)
	partly := roaring.BitmapOf(0, 1)
	if m.Follow(partly); !partly.IsEmpty() {
		t.Errorf("a part of a group: got fragments %v, want none", partly)
	}
	if !m.Concern(index.DatasetVersion, roaring.BitmapOf(3)) || !m.Concern(index.DatasetVersion, fragments) {
		t.Error("a segment of before is of no concern")
	}
	if m.Concern(m.newest+1, fragments) || m.Concern(index.DatasetVersion, roaring.BitmapOf(100)) {
		t.Error("a segment of other rows is of concern")
	}
	if got, ok := m.Address(100<<32 | 7); got != 100<<32|7 || !ok {
		t.Errorf("a row that has not moved: got %x, %t", got, ok)
	}
	if got, ok := (*Moves)(nil).Address(5); got != 5 || !ok {
		t.Errorf("no moves: got %x, %t", got, ok)
	}
}

func TestEntriesThatAreRefused(t *testing.T) {
	one := int32(1)
	digests := func(of ...[2]uint64) (all []pb.FragmentDigest) {
		for _, f := range of {
			all = append(all, pb.FragmentDigest{ID: f[0], PhysicalRows: f[1]})
		}
		return all
	}
	rows := func(rows ...uint32) []byte { // of fragment 3
		set, err := roaring.BitmapOf(rows...).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat([]byte{1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0}, set)
	}
	for name, c := range map[string]struct {
		group pb.FragmentReuseGroup
		want  error
	}{
		"sound":              {pb.FragmentReuseGroup{Moved: rows(1, 4), Old: digests([2]uint64{3, 5}), New: digests([2]uint64{7, 2})}, nil},
		"a row too many":     {pb.FragmentReuseGroup{Moved: rows(1, 5), Old: digests([2]uint64{3, 5}), New: digests([2]uint64{7, 2})}, lance.ErrCorrupt},
		"no room":            {pb.FragmentReuseGroup{Moved: rows(1, 4), Old: digests([2]uint64{3, 5}), New: digests([2]uint64{7, 1})}, lance.ErrCorrupt},
		"replaced twice":     {pb.FragmentReuseGroup{Moved: rows(1, 4), Old: digests([2]uint64{3, 5}, [2]uint64{3, 5}), New: digests([2]uint64{7, 2})}, lance.ErrCorrupt},
		"rows of others":     {pb.FragmentReuseGroup{Moved: rows(1, 4), Old: digests([2]uint64{2, 5}), New: digests([2]uint64{7, 0})}, lance.ErrCorrupt},
		"a large fragment":   {pb.FragmentReuseGroup{Moved: rows(1, 4), Old: digests([2]uint64{3, 5}), New: digests([2]uint64{1 << 32, 2})}, lance.ErrCorrupt},
		"cut off":            {pb.FragmentReuseGroup{Moved: rows(1, 4)[:15], Old: digests([2]uint64{3, 5}), New: digests([2]uint64{7, 2})}, lance.ErrCorrupt},
		"more sets than are": {pb.FragmentReuseGroup{Moved: []byte{0, 0, 0, 0, 0, 0, 0, 0xff}, Old: digests([2]uint64{3, 5})}, lance.ErrCorrupt},
	} {
		if _, err := Parse(entryOf(nil, c.group)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := Parse(entryOf(&one)); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a newer version: got %v, want lance.ErrUnsupported", err)
	}
	if _, err := Parse(&pb.IndexMetadata{}); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("no history: got %v, want lance.ErrUnsupported", err)
	}
}

func entryOf(version *int32, groups ...pb.FragmentReuseGroup) *pb.IndexMetadata {
	var e pb.Encoder
	(&pb.FragmentReuseDetails{Inline: &pb.FragmentReuse{Versions: []pb.FragmentReuseVersion{{DatasetVersion: 3, Groups: groups}}}}).Marshal(&e)
	return &pb.IndexMetadata{Details: &pb.Any{Value: e.B}, IndexVersion: version}
}

func FuzzParse(f *testing.F) {
	reuse, _ := entry(f)
	f.Add(reuse.Details.Value)
	f.Fuzz(func(t *testing.T, details []byte) {
		m, err := Parse(&pb.IndexMetadata{Details: &pb.Any{Value: details}})
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("got error %v", err)
			}
			return
		}
		covered := roaring.New()
		covered.AddRange(0, 20)
		m.Concern(1, covered)
		m.Follow(covered)
		for fragment := range uint64(20) {
			for row := range uint64(60) {
				m.Address(fragment<<32 | row)
			}
		}
	})
}
