package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/faultstore"
	"tiltyard/shared/objectstore/memstore"
)

// aged is a store in which objects are as old as a test says.
type aged struct {
	objectstore.Store
	old func(key string) time.Duration
}

func (s aged) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	page, err := s.Store.List(ctx, opts)
	for i := range page.Objects {
		page.Objects[i].Modified = page.Objects[i].Modified.Add(-s.old(page.Objects[i].Key))
	}
	return page, err
}

const day = 24 * time.Hour

// allOld makes everything eight days old.
func allOld(inner objectstore.Store) aged {
	return aged{inner, func(string) time.Duration { return 8 * day }}
}

func weekAgo() time.Time { return time.Now().Add(-7 * day) }

func cleanUp(t datasettest.Fataler, table *Table) CleanupReport {
	t.Helper()
	ctx := context.Background()
	report, err := table.ExpireVersions(ctx, Expiry{Before: weekAgo()})
	if err != nil {
		t.Fatal(err)
	}
	orphans, err := table.DeleteOrphans(ctx, weekAgo(), false, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	report.Files = orphans.Files
	return report
}

func historyOf(t datasettest.Fataler, table *Table) []uint64 {
	t.Helper()
	infos, err := table.Versions(context.Background(), nil, -1)
	if err != nil {
		t.Fatal(err)
	}
	var versions []uint64
	for _, info := range infos {
		versions = append(versions, VersionOf(info))
	}
	return versions
}

func filesOf(t datasettest.Fataler, store objectstore.Store) []string {
	t.Helper()
	page, err := store.List(context.Background(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, info := range page.Objects {
		keys = append(keys, info.Key)
	}
	return keys
}

// A table with overwritten, deleted and tagged versions, and a branch.
func worn(t datasettest.Fataler, table *Table) {
	t.Helper()
	ctx := context.Background()
	d := many(t, table, false, 5, 5, 5) // versions 1 to 3
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := d.Delete(ctx, rowset.At(1), "") // 4
	must(err)
	must(table.CreateTag(ctx, "kept", "", 2))
	_, err = table.CreateBranch(ctx, "b", "", 4)
	must(err)
	_, err = table.Overwrite(ctx, rowsOf(70, 71), nil) // 5
	must(err)
	branch, err := table.OpenBranch(ctx, "b")
	must(err)
	_, err = branch.Append(ctx, rowsOf(80, 81))
	must(err)
	_, err = branch.Append(ctx, rowsOf(82))
	must(err)
	_, err = table.Append(ctx, rowsOf(72)) // 6
	must(err)
}

func TestCleanupKeepsWhatIsNeeded(t *testing.T) {
	ctx := t.Context()
	table := tableIn(allOld(memstore.New()))
	worn(t, table)
	branch, err := table.OpenBranch(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	report := cleanUp(t, table)
	if diff := cmp.Diff([]uint64{6, 4, 2}, historyOf(t, table)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if report.Versions != 3 {
		t.Errorf("%d versions were deleted, want 3: %+v", report.Versions, report)
	}
	if _, err := branch.ExpireVersions(ctx, Expiry{Before: weekAgo()}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.DeleteOrphans(ctx, weekAgo(), false, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	fresh := tableIn(table.at.Store)
	for name, c := range map[string]struct {
		open func() (*Dataset, error)
		want []int64
	}{
		"newest":    {func() (*Dataset, error) { return fresh.Latest(ctx) }, []int64{70, 71, 72}},
		"tagged":    {func() (*Dataset, error) { return fresh.Tagged(ctx, "kept") }, datasettest.UpTo(10)},
		"branched":  {func() (*Dataset, error) { return fresh.Version(ctx, 4) }, append([]int64{0}, datasettest.UpTo(15)[2:]...)},
		"on branch": {func() (*Dataset, error) { return branch.Latest(ctx) }, append(append([]int64{0}, datasettest.UpTo(15)[2:]...), 80, 81, 82)},
	} {
		d, err := c.open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, datasettest.IDsOf(t, d, snapshot.ScanOptions{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := fresh.Version(ctx, 3); !errors.Is(err, ErrNoVersion) {
		t.Errorf("version 3: got %v, want ErrNoVersion", err)
	}
}

func TestAVersionAgesOnlyOnceItIsReplaced(t *testing.T) {
	// Version 1 is a year old, and was the newest until a moment ago.
	store := aged{memstore.New(), func(key string) time.Duration {
		if strings.HasSuffix(key, "/18446744073709551614.manifest") {
			return 365 * day
		}
		return 0
	}}
	table := tableIn(store)
	many(t, table, false, 5, 5)
	cleanUp(t, table)
	if diff := cmp.Diff([]uint64{2, 1}, historyOf(t, table)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestTheNewestVersionsAreKept(t *testing.T) {
	table := tableIn(allOld(memstore.New()))
	many(t, table, false, 1, 1, 1, 1)
	if _, err := table.ExpireVersions(t.Context(), Expiry{Before: weekAgo(), Keep: 3}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{4, 3, 2}, historyOf(t, table)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestYoungOrphansStay(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New()
	d := many(t, tableIn(inner), false, 5)
	// A writer that has not committed yet.
	staged, err := d.WriteFragments(ctx, rowsOf(6))
	if err != nil {
		t.Fatal(err)
	}
	cleanUp(t, tableIn(inner))
	if _, _, err := inner.GetRanges(ctx, "t.lance/data/"+staged[0].Files[0].Path); err != nil {
		t.Errorf("a file of a writer was deleted: %v", err)
	}
	if report := cleanUp(t, tableIn(allOld(inner))); report.Files["data"] != 1 {
		t.Errorf("a week later it was not: %+v", report)
	}
}

func TestADryRunDeletesNothing(t *testing.T) {
	ctx := t.Context()
	table := tableIn(allOld(memstore.New()))
	worn(t, table)
	before := filesOf(t, table.at.Store)
	report, err := table.ExpireVersions(ctx, Expiry{Before: weekAgo(), DryRun: true})
	if err != nil || report.Versions != 3 || report.Bytes == 0 {
		t.Errorf("got %+v, %v; want 3 versions", report, err)
	}
	if _, err := table.DeleteOrphans(ctx, time.Now(), true, func(int) error { return nil }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, filesOf(t, table.at.Store)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// A branch may lie in what looks like a directory of another one.
func TestBranchesWithinBranches(t *testing.T) {
	ctx := t.Context()
	table := tableIn(allOld(memstore.New()))
	many(t, table, false, 3)
	for _, name := range []string{"a", "a/data", "a/_deletions/b"} {
		if _, err := table.CreateBranch(ctx, name, "", 1); err != nil {
			t.Fatal(err)
		}
		branch, err := table.OpenBranch(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := branch.Append(ctx, rowsOf(9)); err != nil {
			t.Fatal(err)
		}
	}
	before := filesOf(t, table.at.Store)
	cleanUp(t, table)
	if diff := cmp.Diff(before, filesOf(t, table.at.Store)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// Whatever was done to a table, after a cleanup that was killed anywhere, and then done again,
// all versions that are there hold what they held before.
func TestCleanupIsHarmlessWhereverItEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		inner := allOld(memstore.New())
		worn(t, tableIn(inner))
		table := tableIn(inner)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			d, err := table.Latest(ctx)
			if err == nil && rapid.Bool().Draw(t, "compact") {
				_, err = d.Compact(ctx, CompactionOptions{})
			} else if err == nil {
				_, err = table.Append(ctx, rowsOf(90, 91))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		content := map[uint64]string{}
		for _, v := range historyOf(t, table) {
			content[v] = contentOf(t, inner, v)
		}
		var calls atomic.Int32
		crash := rapid.Int32Range(1, 60).Draw(t, "crash at")
		lost := rapid.Bool().Draw(t, "lost")
		faulty := tableIn(faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
			if calls.Add(1) != crash {
				return faultstore.Fault{}
			}
			return faultstore.Fault{Crash: true, Lost: lost}
		}))
		if _, err := faulty.ExpireVersions(ctx, Expiry{Before: weekAgo()}); err == nil {
			_, _ = faulty.DeleteOrphans(ctx, weekAgo(), false, func(int) error { return nil })
		}
		for range 2 {
			left := historyOf(t, tableIn(inner))
			for _, v := range left {
				if got := contentOf(t, inner, v); got != content[v] {
					t.Fatalf("version %d is %s, was %s", v, got, content[v])
				}
			}
			if !slices.Contains(left, 2) || !slices.Contains(left, 4) {
				t.Fatalf("the versions %v are left, want those that are needed", left)
			}
			cleanUp(t, tableIn(inner))
		}
	})
}

func contentOf(t datasettest.Fataler, store objectstore.Store, version uint64) string {
	t.Helper()
	d, err := tableIn(store).Version(context.Background(), version)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(datasettest.IDsOf(t, d, snapshot.ScanOptions{}))
}
