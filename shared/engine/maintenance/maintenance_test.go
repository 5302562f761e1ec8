package maintenance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
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

func TestFamilyCountsTheFragmentsOfBranchesOnce(t *testing.T) {
	_, table := enginetest.CreateComputed(t)
	if _, err := branches.Create(t.Context(), table.Data(), "b", "", 0); err != nil {
		t.Fatal(err)
	}
	family, err := maintenance.FamilyOf(t.Context(), table)
	if err != nil || len(family) != 2 || family[0] != table || !family[1].IsBranch() {
		t.Fatalf("got %d tables and error %v, want the table and its branch", len(family), err)
	}
	toCompact := func(want int) {
		t.Helper()
		if n, err := family.ToCompact(t.Context(), compaction.Options{}); err != nil || n != want {
			t.Errorf("got %d fragments and error %v, want %d", n, err, want)
		}
	}
	toCompact(3)
	before, _, err := family.LastCommit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done, err := maintenance.Compact(t.Context(), table, compaction.Options{})
	if err != nil || done.Removed != 3 || done.Added != 1 || done.Remaining != 0 {
		t.Errorf("got %+v and error %v, want one fragment in place of three", done, err)
	}
	toCompact(0)
	if done, err := maintenance.Compact(t.Context(), table, compaction.Options{}); err != nil || done.Version != 0 {
		t.Errorf("got %+v and error %v, want nothing to compact", done, err)
	}
	if after, _, err := family.LastCommit(t.Context()); err != nil || after == before {
		t.Errorf("got the versions %q as before, want others after a commit; error %v", after, err)
	}
}
