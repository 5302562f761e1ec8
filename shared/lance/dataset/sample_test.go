package dataset_test

import (
	"math/rand/v2"
	"testing"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A sample has as many rows as it should, none twice, and no deleted ones.
func TestSampleOfRows(t *testing.T) {
	const all, gone, wanted = 5000, 1000, 2000
	d := datasettest.Create(t, datasettest.TableIn(memstore.New()), datasettest.UpTo(all)...)
	deleted := make([]uint64, gone)
	for i := range deleted {
		deleted[i] = uint64(i)
	}
	made, err := d.Delete(t.Context(), rowset.At(deleted...), "")
	if err != nil {
		t.Fatal(err)
	}
	total, seen := 0, map[uint64]int{}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows := map[uint64]bool{}
		for batch, err := range made.Dataset.IndexSource("id", snapshot.RowID).Sample(t.Context(), wanted, random) {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range batch.Column(1).(interface{ Uint64Values() []uint64 }).Uint64Values() {
				rows[row] = true
			}
		}
		for row := range rows {
			if row < gone || row >= all {
				t.Fatalf("row %d is in the sample", row)
			}
			seen[row]++
		}
		total += len(rows)
	}
	if mean := total / 20; mean < wanted*97/100 || mean > wanted*103/100 {
		t.Errorf("a sample of %d rows has %d", wanted, mean)
	}
	if len(seen) != all-gone {
		t.Errorf("%d of %d rows were in a sample", len(seen), all-gone)
	}
}
