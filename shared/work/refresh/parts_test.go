package refresh_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

// changes are what others may do while parts refresh the view v of s.
var changes = map[string]func(t *testing.T, p *process) error{
	"the source gets rows": func(t *testing.T, p *process) error {
		_, err := p.at(t, "s").Insert(t.Context(), rows(40, 41, 42, 43))
		return err
	},
	"the source loses rows": func(t *testing.T, p *process) error {
		_, err := p.at(t, "s").Delete(t.Context(), "id % 2 = 0")
		return err
	},
	"the view is written": func(t *testing.T, p *process) error {
		_, err := p.at(t, "v").Delete(t.Context(), "id % 2 = 1")
		return err
	},
	"the view is compacted": func(t *testing.T, p *process) error {
		return p.compact(t, "v")
	},
	"the versions of the source are cleaned up": func(t *testing.T, p *process) error {
		versions, err := p.at(t, "s").Newest(t.Context())
		if err == nil && versions > 1 {
			_, err = p.at(t, "s").Insert(t.Context(), rows(50))
		}
		if err == nil {
			_, err = maintenance.ExpireVersions(t.Context(), p.at(t, "s"), cleanup.Expiry{Before: time.Now().Add(time.Hour), Keep: 1})
		}
		return err
	},
}

// Whatever others do meanwhile, and whenever, a view that parts have refreshed shows the version of its source
// that it says, and one more refresh makes it show the newest.
func TestOthersChangeAViewOrItsSource(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			step := 5
			if testing.Short() {
				step = 29
			}
			for n, more := 1, true; more && !t.Failed(); n += step {
				synctest.Test(t, func(t *testing.T) { more = changed(t, n, name, change) })
			}
		})
	}
}

// changed refreshes a view, and makes a change before the n-th request. It reports whether there was one.
func changed(t *testing.T, n int, name string, change func(*testing.T, *process) error) (came bool) {
	inner := memstore.New()
	other := openSized(t, inner, tables.AutoRefresh{}, few)
	other.source(t, true)
	first := must[string](t)(other.create(t.Context(), query))
	other.serve(t)
	other.done(t, first)
	other.alter(t)
	id := other.refresh(t, viewapi.RefreshRequest{})
	p := openSized(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.N != n {
			return faultstore.Fault{}
		}
		came = true
		return faultstore.Fault{Wait: func(context.Context) error { return change(t, openSized(t, inner, tables.AutoRefresh{}, few)) }}
	}), tables.AutoRefresh{}, few)
	p.Jobs.Queue, p.worker.Queue = other.Jobs.Queue, other.Jobs.Queue
	p.serve(t)
	last := openSized(t, inner, tables.AutoRefresh{}, few)
	last.done(t, id)
	if name != "the view is written" {
		if want, got := last.shown(t), last.ids(t, "v"); want != nil && !cmp.Equal(got, want) {
			t.Errorf("request %d: rows are %v, want %v", n, got, want)
		}
	}
	id = last.refresh(t, viewapi.RefreshRequest{})
	last.serve(t)
	last.done(t, id)
	want := slices.DeleteFunc(last.ids(t, "s"), func(id int64) bool { return id <= 3 })
	if got := last.ids(t, "v"); !cmp.Equal(got, want) {
		t.Errorf("request %d: after another refresh rows are %v, want %v", n, got, want)
	}
	return came
}

// A part over a slow store completes files each minute, and goes on behind them after a crash.
func TestPartGoesOnAfterACrash(t *testing.T) {
	most := 0
	for n, more := 1, true; more && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			files := 0
			files, more = goesOn(t, n)
			most = max(most, files)
		})
	}
	if most < 3 {
		t.Errorf("the part has completed files %d times at most, want once for each fragment", most)
	}
}

// goesOn refreshes a view by one part, whose worker dies at the n-th request. It returns how often the part has
// completed files, and whether the request was reached.
func goesOn(t *testing.T, n int) (files int, reached bool) {
	var crashed atomic.Bool // reads that a dead worker has begun go on beside the test
	inner := memstore.New()
	one := materialize.Sizes{Whole: 2, Rows: 1000, Parts: 1000}
	slow := func(n int) *process {
		return openSized(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			crashes := call.N == n
			if crashes {
				crashed.Store(true)
			}
			return faultstore.Fault{Crash: crashes, Wait: func(context.Context) error {
				if strings.Contains(call.Key, "/data/") {
					time.Sleep(61 * time.Second)
				}
				return nil
			}}
		}), tables.AutoRefresh{}, one)
	}
	other := openSized(t, inner, tables.AutoRefresh{}, one)
	other.source(t, true)
	first := must[string](t)(other.create(t.Context(), query))
	other.serve(t)
	other.done(t, first)
	other.alter(t)
	id := other.refresh(t, viewapi.RefreshRequest{Full: true})
	for _, p := range []*process{slow(n), slow(0)} {
		p.Jobs.Queue, p.worker.Queue = other.Jobs.Queue, other.Jobs.Queue
		p.serve(t)
		time.Sleep(time.Hour) // messages of the dead are lost
		if _, err := other.worker.ReviveAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other.done(t, id)
	if got := other.ids(t, "v"); !cmp.Equal(got, altered) {
		t.Errorf("request %d: rows are %v, want %v", n, got, altered)
	}
	parts, err := other.Transactions.Parts(t.Context(), transaction.Unit{Job: id}, "rows", 1)
	var result materialize.Computed
	if err == nil {
		err = json.Unmarshal(parts[0].Result, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(result.Receipts), crashed.Load()
}

// compact makes one fragment of all of a table.
func (p *process) compact(t *testing.T, name string) error {
	_, err := p.at(t, name).Alter(t.Context(), func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		var all []uint64
		for _, f := range d.Fragments() {
			all = append(all, f.Meta.ID)
		}
		made, err := compaction.Rewrite(ctx, d, [][]uint64{all})
		if err != nil {
			return nil, err
		}
		return made.Commit(ctx, nil)
	})
	return err
}

// When commits between two versions of a compacted source are removed after a refresh was divided, it is not
// known any more which rows are the same: parts before and after that would not fit together.
func TestCommitsOfTheSourceAreRemoved(t *testing.T) {
	again := false
	for n, more := 1, true; more && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			pass := 0
			pass, more = commitsRemoved(t, n)
			again = again || pass > 0
		})
	}
	if !again {
		t.Error("no refresh was divided again")
	}
}

// commitsRemoved refreshes a view by a worker that dies at the n-th request, when commits are removed, and by
// another one. It returns how often the refresh was divided again, and whether the request was reached.
func commitsRemoved(t *testing.T, n int) (again int, reached bool) {
	var crashed atomic.Bool // by a read that may go on beside the test
	inner := memstore.New()
	other := openSized(t, inner, tables.AutoRefresh{}, few)
	other.source(t, true)
	first := must[string](t)(other.create(t.Context(), query))
	other.serve(t)
	other.done(t, first)
	was := must[uint64](t)(other.at(t, "s").Newest(t.Context()))
	other.alter(t)
	if err := other.compact(t, "s"); err != nil {
		t.Fatal(err)
	}
	now := must[uint64](t)(other.at(t, "s").Newest(t.Context()))
	versions := must[*catalog.Table](t)(other.Names.Table(t.Context(), []string{"s"})).Location.Prefix + "/_versions/"
	id := other.refresh(t, viewapi.RefreshRequest{})
	p := openSized(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.N != n {
			return faultstore.Fault{}
		}
		crashed.Store(true)
		return faultstore.Fault{Crash: true, Wait: func(ctx context.Context) error { return removeBetween(ctx, inner, versions, was, now) }}
	}), tables.AutoRefresh{}, few)
	p.Jobs.Queue, p.worker.Queue = other.Jobs.Queue, other.Jobs.Queue
	p.serve(t)
	last := openSized(t, inner, tables.AutoRefresh{}, few)
	last.Jobs.Queue, last.worker.Queue = other.Jobs.Queue, other.Jobs.Queue
	time.Sleep(time.Hour) // messages of the dead are lost
	if _, err := last.worker.ReviveAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	last.serve(t)
	last.done(t, id)
	if got := last.ids(t, "v"); !cmp.Equal(got, altered) {
		t.Errorf("request %d: rows are %v, want %v", n, got, altered)
	}
	made := must[*transaction.Transaction](t)(last.Transactions.Job(t.Context(), transaction.Unit{Job: id}))
	return made.Work.Pass, crashed.Load()
}

// removeBetween removes the manifests of the versions between two.
func removeBetween(ctx context.Context, store objectstore.Store, folder string, was, now uint64) error {
	for info, err := range objectstore.Objects(ctx, store, objectstore.ListOptions{Prefix: folder}) {
		if err != nil {
			return err
		}
		if version := dataset.VersionOf(info); was < version && version < now {
			if err := store.Delete(ctx, info.Key, objectstore.Condition{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// shown returns the rows that the query gives for the version of the source that the view says it shows, nil
// when it says none, or when that version is gone.
func (p *process) shown(t *testing.T) []int64 {
	t.Helper()
	version := must[int64](t)(engine.Read(t.Context(), p.at(t, "v"), nil, func(_ context.Context, d *dataset.Dataset) (int64, error) {
		mark, _ := view.WatermarkOf(d.Schema().Metadata)
		return int64(mark.Source), nil
	}))
	if version == 0 {
		return nil
	}
	all, err := p.idsOf(t, "s", &version)
	if protocol.HasCode(err, protocol.TableVersionNotFound) {
		return nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(id int64) bool { return id <= 3 })
}
