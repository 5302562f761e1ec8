package cleanup_test

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

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func weekAgo() time.Time { return time.Now().Add(-7 * datasettest.Day) }

func cleanUp(t datasettest.Fataler, table *dataset.Table) cleanup.Report {
	t.Helper()
	ctx := context.Background()
	report, err := cleanup.Expire(ctx, table, cleanup.Expiry{Before: weekAgo()})
	if err != nil {
		t.Fatal(err)
	}
	orphans, err := cleanup.DeleteOrphans(ctx, table, weekAgo(), false, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	report.Files = orphans.Files
	return report
}

// A table with overwritten, deleted and tagged versions, and a branch.
func worn(t datasettest.Fataler, table *dataset.Table) {
	t.Helper()
	ctx := context.Background()
	d := datasettest.Many(t, table, false, 5, 5, 5) // versions 1 to 3
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := d.Delete(ctx, rowset.At(1), "") // 4
	must(err)
	must(tags.Create(ctx, table, "kept", "", 2))
	_, err = branches.Create(ctx, table, "b", "", 4)
	must(err)
	_, err = table.Overwrite(ctx, datasettest.RowsOf(70, 71), nil) // 5
	must(err)
	branch, err := branches.Open(ctx, table, "b")
	must(err)
	_, err = branch.Append(ctx, datasettest.RowsOf(80, 81))
	must(err)
	_, err = branch.Append(ctx, datasettest.RowsOf(82))
	must(err)
	_, err = table.Append(ctx, datasettest.RowsOf(72)) // 6
	must(err)
}

func TestCleanupKeepsWhatIsNeeded(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(datasettest.AllOld(memstore.New()))
	worn(t, table)
	branch, err := branches.Open(ctx, table, "b")
	if err != nil {
		t.Fatal(err)
	}
	report := cleanUp(t, table)
	if diff := cmp.Diff([]uint64{6, 4, 2}, datasettest.Versions(t, table)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if report.Versions != 3 {
		t.Errorf("%d versions were deleted, want 3: %+v", report.Versions, report)
	}
	if _, err := cleanup.Expire(ctx, branch, cleanup.Expiry{Before: weekAgo()}); err != nil {
		t.Fatal(err)
	}
	if _, err := cleanup.DeleteOrphans(ctx, table, weekAgo(), false, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	fresh := datasettest.TableIn(table.Place().Store)
	for name, c := range map[string]struct {
		open func() (*dataset.Dataset, error)
		want []int64
	}{
		"newest":    {func() (*dataset.Dataset, error) { return fresh.Latest(ctx) }, []int64{70, 71, 72}},
		"tagged":    {func() (*dataset.Dataset, error) { return datasettest.Tagged(ctx, fresh, "kept") }, datasettest.UpTo(10)},
		"branched":  {func() (*dataset.Dataset, error) { return fresh.Version(ctx, 4) }, append([]int64{0}, datasettest.UpTo(15)[2:]...)},
		"on branch": {func() (*dataset.Dataset, error) { return branch.Latest(ctx) }, append(append([]int64{0}, datasettest.UpTo(15)[2:]...), 80, 81, 82)},
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
	if _, err := fresh.Version(ctx, 3); !errors.Is(err, dataset.ErrNoVersion) {
		t.Errorf("version 3: got %v, want ErrNoVersion", err)
	}
}

func TestExpireCountsTheAgeFromTheReplacement(t *testing.T) {
	// Version 1 is a year old, and was the newest until a moment ago.
	store := datasettest.Aged{Store: memstore.New(), Age: func(key string) time.Duration {
		if strings.HasSuffix(key, "/18446744073709551614.manifest") {
			return 365 * datasettest.Day
		}
		return 0
	}}
	table := datasettest.TableIn(store)
	datasettest.Many(t, table, false, 5, 5)
	cleanUp(t, table)
	if diff := cmp.Diff([]uint64{2, 1}, datasettest.Versions(t, table)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestExpireKeepsTheNewestVersions(t *testing.T) {
	table := datasettest.TableIn(datasettest.AllOld(memstore.New()))
	datasettest.Many(t, table, false, 1, 1, 1, 1)
	if _, err := cleanup.Expire(t.Context(), table, cleanup.Expiry{Before: weekAgo(), Keep: 3}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{4, 3, 2}, datasettest.Versions(t, table)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestYoungOrphansStay(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New()
	d := datasettest.Many(t, datasettest.TableIn(inner), false, 5)
	// A writer that has not committed yet.
	staged, err := d.Stage(ctx, datasettest.RowsOf(6))
	if err == nil {
		err = staged.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	cleanUp(t, datasettest.TableIn(inner))
	if _, _, err := inner.GetRanges(ctx, "t.lance/data/"+staged.Fragments[0].Files[0].Path); err != nil {
		t.Errorf("a file of a writer was deleted: %v", err)
	}
	if report := cleanUp(t, datasettest.TableIn(datasettest.AllOld(inner))); report.Files["data"] != 1 {
		t.Errorf("a week later it was not: %+v", report)
	}
}

func TestDryRunDeletesNothing(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(datasettest.AllOld(memstore.New()))
	worn(t, table)
	before := datasettest.Keys(t, table.Place().Store)
	report, err := cleanup.Expire(ctx, table, cleanup.Expiry{Before: weekAgo(), DryRun: true})
	if err != nil || report.Versions != 3 || report.Bytes == 0 {
		t.Errorf("got %+v, %v; want 3 versions", report, err)
	}
	if _, err := cleanup.DeleteOrphans(ctx, table, time.Now(), true, func(int) error { return nil }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, datasettest.Keys(t, table.Place().Store)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// The folder of a branch may look like a directory of another branch.
func TestBranchesWithinBranches(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(datasettest.AllOld(memstore.New()))
	datasettest.Many(t, table, false, 3)
	for _, name := range []string{"a", "a/data", "a/_deletions/b"} {
		if _, err := branches.Create(ctx, table, name, "", 1); err != nil {
			t.Fatal(err)
		}
		branch, err := branches.Open(ctx, table, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := branch.Append(ctx, datasettest.RowsOf(9)); err != nil {
			t.Fatal(err)
		}
	}
	before := datasettest.Keys(t, table.Place().Store)
	cleanUp(t, table)
	if diff := cmp.Diff(before, datasettest.Keys(t, table.Place().Store)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// After any history, a cleanup that is killed at any request and run again leaves all remaining
// versions unchanged.
func TestCleanupIsHarmlessWhereverItEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		inner := datasettest.AllOld(memstore.New())
		worn(t, datasettest.TableIn(inner))
		table := datasettest.TableIn(inner)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			d, err := table.Latest(ctx)
			if err == nil && rapid.Bool().Draw(t, "compact") {
				_, err = compaction.Run(ctx, d, compaction.Options{})
			} else if err == nil {
				_, err = table.Append(ctx, datasettest.RowsOf(90, 91))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		content := map[uint64]string{}
		for _, v := range datasettest.Versions(t, table) {
			content[v] = contentOf(t, inner, v)
		}
		var calls atomic.Int32
		crash := rapid.Int32Range(1, 60).Draw(t, "crash at")
		lost := rapid.Bool().Draw(t, "lost")
		faulty := datasettest.TableIn(faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
			if calls.Add(1) != crash {
				return faultstore.Fault{}
			}
			return faultstore.Fault{Crash: true, Lost: lost}
		}))
		if _, err := cleanup.Expire(ctx, faulty, cleanup.Expiry{Before: weekAgo()}); err == nil {
			_, _ = cleanup.DeleteOrphans(ctx, faulty, weekAgo(), false, func(int) error { return nil })
		}
		for range 2 {
			left := datasettest.Versions(t, datasettest.TableIn(inner))
			for _, v := range left {
				if got := contentOf(t, inner, v); got != content[v] {
					t.Fatalf("version %d is %s, was %s", v, got, content[v])
				}
			}
			if !slices.Contains(left, 2) || !slices.Contains(left, 4) {
				t.Fatalf("the versions %v are left, want those that are needed", left)
			}
			cleanUp(t, datasettest.TableIn(inner))
		}
	})
}

func contentOf(t datasettest.Fataler, store objectstore.Store, version uint64) string {
	t.Helper()
	d, err := datasettest.TableIn(store).Version(context.Background(), version)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(datasettest.IDsOf(t, d, snapshot.ScanOptions{}))
}
