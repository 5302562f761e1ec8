package snapshot_test

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestMapDeletedReadsJustTheDeletedRows(t *testing.T) {
	table := tableIn(memstore.New())
	if _, err := table.Create(t.Context(), rowsOf(datasettest.UpTo(1000)...)); err != nil {
		t.Fatal(err)
	}
	appended, err := table.Append(t.Context(), rowsOf(2000, 2001, 2002))
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := appended.Dataset.Delete(t.Context(), rowset.At(datasettest.AddressesOf(t, appended.Dataset, datasettest.Multiples(7))...), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		wanted func(uint64) bool
		want   []int64
	}{
		{"all fragments", func(uint64) bool { return true }, multiplesOf(7, datasettest.UpTo(1000), []int64{2000, 2001, 2002})},
		{"the first", func(f uint64) bool { return f == 0 }, multiplesOf(7, datasettest.UpTo(1000))},
		{"none", func(uint64) bool { return false }, nil},
	} {
		parts, err := snapshot.MapDeleted(t.Context(), deleted.Dataset.Snapshot, []string{"id", "name"}, c.wanted, func(_ context.Context, batch arrow.RecordBatch) ([]int64, error) {
			return datasettest.CheckRows(t, batch), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for part, err := range parts {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("deleted rows of %s: want -, got +:\n%s", c.name, diff)
		}
	}
}

func multiplesOf(n int64, lists ...[]int64) []int64 {
	return slices.DeleteFunc(slices.Concat(lists...), func(id int64) bool { return id%n != 0 })
}
