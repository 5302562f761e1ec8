package snapshot_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A table of more fragments than are planned at once, read in parts.
func TestScanOfManyFragmentsReadsThoseItNeeds(t *testing.T) {
	store := memstore.New()
	const fragments, each = 100, 3
	d, _ := wideTable(t, store, fragments*each, each)
	counted := faultstore.New(store, nil)
	recorder := counted.Recorder
	all := datasettest.UpTo(fragments * each)
	cases := []struct {
		offset, limit int64
		files         int // that have to be read
	}{
		{0, 0, fragments}, {0, 5, 2}, {299, 10, 1}, {300, 10, 0}, {500, 1, 0}, {100, 100, 34}, {150, 0, 50}, {2, 2, 2},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%d from %d", c.limit, c.offset), func(t *testing.T) {
			recorder.Reset()
			want := all[min(c.offset, int64(len(all))):]
			if c.limit > 0 {
				want = want[:min(c.limit, int64(len(want)))]
			}
			// A new session, because the test counts reads.
			fresh := tableIn(counted)
			opened, err := fresh.Version(t.Context(), d.Version())
			if err != nil {
				t.Fatal(err)
			}
			recorder.Reset()
			got := datasettest.IDsOf(t, opened, snapshot.ScanOptions{Columns: []string{"id"}, Offset: c.offset, Limit: c.limit})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if requests := recorder.Snapshot().Requests; requests != c.files {
				t.Errorf("got %d requests, want %d: one for each small file", requests, c.files)
			}
		})
	}
}

// Whoever stops reading early leaves nothing running that reads on.
func TestScanThatIsLeftStopsReading(t *testing.T) {
	d, _ := wideTable(t, memstore.New(), 300, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		if batch.NumRows() != 3 {
			t.Errorf("got a batch of %d rows, want 3", batch.NumRows())
		}
		break
	}
}
