package snapshot

import (
	"errors"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
)

// A segment answers for rows of its own fragments that the version has, whatever else is in its
// files.
func TestSegmentsAnswerForTheirOwnRows(t *testing.T) {
	d := openIndices(t)
	segments, err := d.Segments("id_idx")
	if err != nil || len(segments) != 2 {
		t.Fatalf("got %d segments, want 2; error %v", len(segments), err)
	}
	first := d.Fragments()[0]
	segment, id := segments[0], first.Meta.ID
	segment.covered = roaring.BitmapOf(uint32(id), 1000)
	other := d.Fragments()[1].Address(0)
	got, err := d.RowsOf(t.Context(), segment, rowset.At(first.Address(3), other, 1000<<32, first.Address(1)), false)
	if want := []uint64{first.Address(1), first.Address(3)}; err != nil || !slices.Equal(slices.Collect(got.All()), want) {
		t.Errorf("got rows %v, want %x; error %v", got, want, err)
	}
	if _, err := d.RowsOf(t.Context(), segment, rowset.At(first.Address(first.Rows)), false); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a row behind the last: got %v, want lance.ErrCorrupt", err)
	}
	if _, err := d.Segments("none"); !errors.Is(err, ErrNoIndex) {
		t.Errorf("no index: got %v, want ErrNoIndex", err)
	}
}
