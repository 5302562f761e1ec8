package maintain_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/work/maintain"
)

func TestCleanupWaitsForThoseWhoBeganBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := memstore.New()
		h := open(t, objects)
		h.create(t, nil, nil)
		h.insert(t, 1, 5)
		h.begin(t, maintain.Order{Compact: true})
		h.work(t, time.Second)
		time.Sleep(30 * 24 * time.Hour)
		id := h.begin(t, maintain.Order{Cleanup: true, Retention: 24 * time.Hour, Keep: 1})
		count := func(dir string) int {
			page, err := objects.List(t.Context(), objectstore.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, o := range page.Objects {
				if strings.Contains(o.Key, dir) {
					n++
				}
			}
			return n
		}
		h.work(t, grace-time.Second)
		if versions, data := count("/_versions/"), count("/data/"); versions != 1 || data != 6 {
			t.Errorf("before the time is over there are %d versions and %d data files, want 1 and 6", versions, data)
		}
		h.work(t, 2*time.Second)
		if data := count("/data/"); data != 1 {
			t.Errorf("then there are %d data files, want 1", data)
		}
		report := h.report(t, id)
		if report.Cleaned.Versions != 5 || report.Cleaned.Files["data"] != 5 {
			t.Errorf("the report is %+v, want 5 versions and 5 data files", report)
		}
		h.want(t, 5, 1)
	})
}

func TestTablesAreCleanedUpOnceADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, nil, map[string]string{"maintenance.retention": "2d"})
		h.insert(t, 1, 5)
		jobs := func() int {
			found, _, err := h.tables.Transactions.Jobs(t.Context(), "", 100)
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		for day, want := range []int{0, 1, 2, 3} {
			for range 3 {
				if err := h.keeper.SuggestAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				h.work(t, time.Second)
			}
			if got := jobs(); got != want {
				t.Errorf("day %d: %d jobs, want %d", day, got, want)
			}
			h.work(t, time.Hour)
			time.Sleep(24 * time.Hour)
		}
		found, err := h.tables.Names.Table(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		one := int64(1)
		err = engine.Do(t.Context(), h.tables.At(found), &one, func(context.Context, *dataset.Dataset) error { return nil })
		if protocol.CodeOf(err) != protocol.TableVersionNotFound {
			t.Errorf("version 1 after three days: got %v, want TableVersionNotFound", err)
		}
		h.want(t, 5, 5)
	})
}

// A table that nobody writes to is cleaned up at intervals that double, up to 30 days, once all that was replaced is
// gone. A write, or another policy, makes it daily again.
func TestIdleTablesAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, map[string]string{"maintenance.retention": "2d"}, nil)
		h.insert(t, 1, 5)
		newest := func() string {
			found, _, err := h.tables.Transactions.Jobs(t.Context(), "", 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				return ""
			}
			return found[0].ID
		}
		day := 0
		cleanups := func(days int) (on []int) {
			for range days {
				before := newest()
				if err := h.keeper.SuggestAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				h.work(t, time.Hour)
				if now := newest(); now != before && now != "" {
					on = append(on, day)
				}
				time.Sleep(23 * time.Hour)
				day++
			}
			return on
		}
		want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 23, 39, 69, 99}
		if got := cleanups(110); !slices.Equal(got, want) {
			t.Errorf("cleanups on the days %v, want %v", got, want)
		}
		h.insert(t, 6, 7)
		if got, want := cleanups(3), []int{110, 111, 112}; !slices.Equal(got, want) {
			t.Errorf("after a write: cleanups on the days %v, want %v", got, want)
		}
		cleanups(100)
		if _, err := h.tables.Names.Namespaces.Create(t.Context(), []string{"other"}, map[string]string{"maintenance.retention": "1d"}, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := h.tables.Names.RenameTable(t.Context(), table, []string{"other", "t"}); err != nil {
			t.Fatal(err)
		}
		if got, want := cleanups(2), []int{213, 214}; !slices.Equal(got, want) {
			t.Errorf("with another policy: cleanups on the days %v, want %v", got, want)
		}
	})
}

// requestsOf returns the numbers of the requests from now on, by where they go and their kind. It may be read when none runs.
func requestsOf(store *faultstore.Store) map[string]int {
	got := map[string]int{}
	var mu sync.Mutex
	store.Inject(func(call faultstore.Call) faultstore.Fault {
		mu.Lock()
		defer mu.Unlock()
		place := "table"
		if strings.HasPrefix(call.Key, "_records/") {
			place = "records"
		}
		got[fmt.Sprint(place, " ", call.Kind)]++
		return faultstore.Fault{}
	})
	return got
}

// A poll of a table that nobody writes to makes few requests; the page of costs computes with their number.
func TestPollOfAnIdleTableMakesFewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := faultstore.New(memstore.New(), nil)
		h := open(t, store)
		h.create(t, nil, nil)
		h.insert(t, 1, 5)
		for range 27 {
			if err := h.keeper.SuggestAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.work(t, time.Hour)
			time.Sleep(23 * time.Hour)
		}
		if err := h.keeper.SuggestAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := requestsOf(store)
		h.work(t, time.Hour)
		want := map[string]int{
			"table get": 3, "table range": 3, "table list": 2, "records get": 3, "records put-if-absent": 1, "records delete": 1,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// Nobody can read a version that no cleanup has deleted, so that its files need no grace.
func TestCleanupsThatDeleteNoVersionEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, nil, nil)
		h.insert(t, 1, 3)
		nothing := maintain.Order{Cleanup: true, Retention: 24 * time.Hour, Keep: 1}
		id := h.begin(t, nothing)
		h.work(t, time.Second)
		if report := h.report(t, id); report.Cleaned.Versions != 0 {
			t.Errorf("the report is %+v, want no versions", report)
		}
		time.Sleep(30 * 24 * time.Hour)
		h.begin(t, nothing) // deletes versions
		h.work(t, grace+time.Second)
		again := h.begin(t, nothing)
		h.work(t, time.Second)
		if report := h.report(t, again); report.Cleaned.Versions != 0 {
			t.Errorf("the second report is %+v, want no versions", report)
		}
	})
}

// Cleanups of one table at the same time wait for each other, and not for the grace if none of them deletes a version.
func TestCleanupsAtTheSameTimeEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, datasettest.Far(memstore.New())) // so that each takes some time
		h.create(t, nil, nil)
		h.insert(t, 1, 3)
		var all []string
		for range 6 {
			all = append(all, h.begin(t, maintain.Order{Cleanup: true, Retention: 24 * time.Hour, Keep: 1}))
		}
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		h.worker.Serve(ctx, 3)
		synctest.Wait()
		for _, id := range all {
			if report := h.report(t, id); report.Cleaned.Versions != 0 {
				t.Errorf("the report is %+v, want no versions", report)
			}
		}
	})
}
