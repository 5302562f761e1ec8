package maintenance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/storage/objectstore"
)

func TestDeleteOrphansDeletesUnreferencedSidecars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, table := enginetest.CreateComputed(t)
		sidecars := func() int {
			page, err := objects.List(t.Context(), objectstore.ListOptions{Prefix: "t.lance/_computed/"})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Objects)
		}
		for _, more := range []string{`[{"id":7}]`, `[{"id":8}]`} {
			if _, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); err != nil {
				t.Fatal(err)
			}
			if _, err := table.Insert(t.Context(), enginetest.Rows(t, enginetest.IDSchema(), more)); err != nil {
				t.Fatal(err)
			}
		}
		clean := func(before time.Time, want int) {
			t.Helper()
			if _, err := maintenance.DeleteOrphans(t.Context(), table, before, false, func(int) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := sidecars(); got != want {
				t.Errorf("%d sidecars, want %d", got, want)
			}
		}
		clean(time.Now().Add(time.Hour), 2) // versions refer to both
		if _, err := maintenance.ExpireVersions(t.Context(), table, cleanup.Expiry{Before: time.Now().Add(time.Hour), Keep: 1}); err != nil {
			t.Fatal(err)
		}
		clean(time.Now().Add(-time.Hour), 2) // they may belong to an unfinished commit
		clean(time.Now().Add(time.Hour), 1)
		if got, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); err != nil || got.Assigned != 1 {
			t.Errorf("after the cleanup: got %+v, %v; want the row that was inserted last", got, err)
		}
	})
}
