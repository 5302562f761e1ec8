package snapshot_test

import (
	"slices"
	"testing"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A part and its version do not confuse each other's rows.
func TestPartsKnowTheirOwnRowsOnly(t *testing.T) {
	table := tableIn(memstore.New())
	made, err := table.CreateAs(t.Context(), rowsOf(datasettest.UpTo(10)...), dataset.CreateOptions{StableRowIDs: true})
	if err == nil {
		made, err = table.Append(t.Context(), rowsOf(datasettest.UpTo(20)[10:]...))
	}
	if err != nil {
		t.Fatal(err)
	}
	whole := made.Dataset
	part, err := whole.Part(whole.Manifest().Fragments[:1])
	if err != nil {
		t.Fatal(err)
	}
	const first, second = 3, 13 // rows of each fragment
	for range 2 {
		at, err := part.Addresses(t.Context(), []uint64{first, second})
		if want := []uint64{first, snapshot.NoAddress}; err != nil || !slices.Equal(at, want) {
			t.Errorf("of the part: got %v, %v; want %v", at, err, want)
		}
		at, err = whole.Addresses(t.Context(), []uint64{first, second})
		if want := []uint64{first, 1<<32 + 3}; err != nil || !slices.Equal(at, want) {
			t.Errorf("of all: got %v, %v; want %v", at, err, want)
		}
	}
}
