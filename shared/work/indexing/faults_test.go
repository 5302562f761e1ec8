package indexing_test

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/work/indexing"
)

// few makes a few shards of the small table, and some segments where shards are joined.
var few = indexing.Sizes{Time: 20 * time.Microsecond, Memory: 1400}

// sized returns sizes for the parts of an index. Those of texts take longer for as many rows.
func sized(s indexing.Sizes, n indexbuild.Index) indexing.Sizes {
	if n.Kind == indexmeta.Text {
		return indexing.Sizes{Time: 5 * s.Time, Memory: 1 << 20}
	}
	return s
}

// A trial is a build during which something happens at one request.
type trial struct {
	index indexbuild.Index
	fault func(n int) faultstore.Fault // of the n-th request; nil: none
	bug   func(objectstore.Store) objectstore.Store
	fold  bool // into an index that one worker has built
}

// begin begins the job.
func (c trial) begin(t *testing.T, h *house) (*transaction.Transaction, error) {
	if !c.fold {
		return h.Jobs.Begin(t.Context(), indexing.Kind, table, indexing.NewOrder(c.index, ""))
	}
	whole := open(t, h.objects, large)
	whole.build(t, c.index, nil)
	whole.insert(t, 1000, 30)
	whole.insert(t, 2000, 15)
	x, err := enginetest.Index(t.Context(), whole.at(t), c.index.Name)
	if err != nil {
		return nil, err
	}
	return h.Jobs.Begin(t.Context(), indexing.FoldKind, table, indexing.NewFold(x, ""))
}

// run builds an index of a new table with a worker that meets the fault, and then with another one. It
// returns what is wrong in the end, and how many requests the first worker sent.
func (c trial) run(t *testing.T) (wrong string, requests int) {
	inner := objectstore.Store(memstore.New())
	sizes := sized(few, c.index)
	first := open(t, inner, sizes)
	first.create(t, 20, 7, 40)
	if c.bug != nil {
		inner = c.bug(inner)
	}
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if c.fault == nil {
			return faultstore.Fault{}
		}
		return c.fault(call.N)
	})
	second := open(t, inner, sizes)
	begun, err := c.begin(t, second)
	if err != nil {
		return err.Error(), 0
	}
	first = open(t, faulty, sizes)
	first.Jobs.Queue, first.worker.Queue = second.Jobs.Queue, second.Jobs.Queue
	var both sync.WaitGroup
	both.Go(func() { first.serve(t) })
	time.Sleep(time.Minute)
	both.Go(func() {
		second.serve(t)
		time.Sleep(time.Hour) // messages of the dead are lost
		if _, err := second.worker.ReviveAll(t.Context()); err == nil {
			second.serve(t)
		}
	})
	both.Wait()
	done, err := second.Transactions.Job(t.Context(), transaction.Unit{Job: begun.ID})
	if err != nil || done.Status != transactionapi.Succeeded {
		return fmt.Sprintf("the job is %s in stage %s: %s, %v", done.Status, done.Work.Stage, done.Failure, err), 0
	}
	last := open(t, inner, sizes)
	if wrong := last.check(t, c.index); wrong != "" {
		return wrong, 0
	}
	x, err := enginetest.Index(t.Context(), last.at(t), c.index.Name)
	if err != nil || x.Unindexed != 0 {
		return fmt.Sprintf("%d rows are in no segment; %v", x.Unindexed, err), 0
	}
	if c.fold { // earlier versions have the segments that are replaced
		if _, err := cleanup.DeleteVersions(t.Context(), last.at(t).Data(), func(uint64) bool { return true }, false); err != nil {
			return err.Error(), 0
		}
	}
	return last.garbage(t), faulty.Snapshot().Requests
}

// serve does what messages ask for until there are none for a while. Messages whose worker fails come
// again.
func (h *house) serve(t *testing.T) {
	for {
		ctx, done := context.WithTimeout(t.Context(), 10*time.Minute)
		d, err := h.worker.Queue.Receive(ctx, time.Minute)
		done()
		if err != nil {
			return
		}
		if h.worker.Do(t.Context(), d.Message) == nil {
			_ = h.worker.Queue.Done(t.Context(), d)
		} else {
			return // the process has died, and another one gets its messages
		}
	}
}

// garbage removes what no version names, and returns what is left of that.
func (h *house) garbage(t *testing.T) string {
	t.Helper()
	time.Sleep(time.Minute)
	if _, err := maintenance.DeleteOrphans(t.Context(), h.at(t), time.Now(), false, func(int) error { return nil }); err != nil {
		return err.Error()
	}
	named := map[string]bool{}
	engineRead(t, h.at(t), func(_ context.Context, d *dataset.Dataset) bool {
		entries, err := d.Manifest().Indices()
		for _, x := range entries {
			named[x.UUID.String()] = true
		}
		return err == nil
	})
	for info, err := range objectstore.Objects(t.Context(), h.objects, objectstore.ListOptions{Prefix: h.folder(t) + "/_indices/"}) {
		if err != nil {
			return err.Error()
		}
		if !named[path.Base(path.Dir(info.Key))] {
			return info.Key + " is left behind"
		}
	}
	return ""
}

// several are indices whose parts differ in what they do.
var several = []indexbuild.Index{orders[0], others[0], others[2], others[3], vectors("IVF_FLAT")}

// trials are builds of these, and folds of some.
func trials() map[string]trial {
	all := map[string]trial{}
	for _, n := range several {
		all[n.Name] = trial{index: n}
	}
	for _, n := range []indexbuild.Index{others[2], others[3], vectors("IVF_FLAT")} {
		all["fold "+n.Name] = trial{index: n, fold: true}
	}
	return all
}

// sparsity returns how many requests lie between two that a fault is tried at, at least, and at about how many requests of
// one build it is tried at most: some builds have thousands.
func sparsity() (step, tries int) {
	if testing.Short() {
		return 67, 6
	}
	return 13, 24
}

// inTurn calls try with each request, until one tells that there are no more.
func inTurn(t *testing.T, try func(t *testing.T, n int) (requests int)) {
	step, tries := sparsity()
	for n, requests := 1, 0; ; n += max(step, requests/tries) {
		synctest.Test(t, func(t *testing.T) { requests = try(t, n) })
		if t.Failed() || requests < n {
			t.Logf("%d requests", requests)
			return
		}
	}
}

// Wherever a worker dies, others finish the build.
func TestWorkerMayDieAtEachRequest(t *testing.T) {
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			inTurn(t, func(t *testing.T, at int) int {
				wrong, requests := trial{index: c.index, fold: c.fold, fault: func(call int) faultstore.Fault { return faultstore.Fault{Crash: call == at} }}.run(t)
				if wrong != "" {
					t.Errorf("request %d: %s", at, wrong)
				}
				return requests
			})
		})
	}
}

// A worker that freezes, while others do its work, does no harm when it goes on.
func TestWorkerMayFreezeAtEachRequest(t *testing.T) {
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			inTurn(t, func(t *testing.T, at int) int {
				thaws := time.Now().Add(5 * time.Minute)
				wrong, requests := trial{index: c.index, fold: c.fold, fault: func(call int) faultstore.Fault {
					if call < at {
						return faultstore.Fault{}
					}
					return faultstore.Fault{Wait: func(ctx context.Context) error { return backoff.Sleep(ctx, time.Until(thaws)) }}
				}}.run(t)
				if wrong != "" {
					t.Errorf("request %d: %s", at, wrong)
				}
				return requests
			})
		})
	}
}

// Answers that are lost lead to no harm.
func TestAnswersMayBeLost(t *testing.T) {
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			inTurn(t, func(t *testing.T, at int) int {
				wrong, requests := trial{index: c.index, fold: c.fold, fault: func(call int) faultstore.Fault { return faultstore.Fault{Lost: call == at} }}.run(t)
				if wrong != "" {
					t.Errorf("request %d: %s", at, wrong)
				}
				return requests
			})
		})
	}
}

// rewriting is a store that changes puts.
type rewriting struct {
	objectstore.Store
	key func(key string) string
}

func (r rewriting) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if key = r.key(key); key == "" {
		return objectstore.Info{Size: int64(len(data))}, nil
	}
	return r.Store.Put(ctx, key, data, cond)
}

// Bugs that builds like these could have are found by what the trials look at.
func TestPlantedBugsAreFound(t *testing.T) {
	shard := regexp.MustCompile(`shard_[0-9a-f-]+\.lance$`)
	partition := regexp.MustCompile(`part_[0-9]+_`)
	last := ""
	for _, c := range []struct {
		name  string
		index indexbuild.Index
		bug   func(objectstore.Store) objectstore.Store
	}{
		{"shards overwrite each other", orders[0], func(s objectstore.Store) objectstore.Store {
			return rewriting{s, func(key string) string {
				if shard.MatchString(key) && last == "" {
					last = key
				} else if shard.MatchString(key) {
					return last
				}
				return key
			}}
		}},
		{"partitions overwrite each other", others[2], func(s objectstore.Store) objectstore.Store {
			return rewriting{s, func(key string) string { return partition.ReplaceAllString(key, "part_0_") }}
		}},
		{"a shard is acknowledged and not written", others[0], func(s objectstore.Store) objectstore.Store {
			return rewriting{s, func(key string) string {
				if shard.MatchString(key) {
					return ""
				}
				return key
			}}
		}},
		{"files of segments are acknowledged and not written", orders[0], func(s objectstore.Store) objectstore.Store {
			return rewriting{s, func(key string) string {
				if strings.HasSuffix(key, "page_data.lance") {
					return ""
				}
				return key
			}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrong, _ := trial{index: c.index, bug: c.bug}.run(t)
				if wrong == "" {
					t.Error("not found")
				}
				t.Log(wrong)
			})
		})
	}
}

// While parts run, the job shows what they have done.
func TestPartsThatRunShowTheirRows(t *testing.T) {
	h := open(t, memstore.New(), few)
	h.create(t, 60, 37, 80)
	id := h.begin(t, orders[0])
	var shown []string
	h.work(t, func(jobs.Message) {
		building, err := indexing.Building(t.Context(), h.Transactions, table, "main", orders[0].Name)
		if err != nil || building == nil || building.ID != id {
			t.Fatalf("got %v, %v; want job %s", building, err, id)
		}
		d := building.Describe()
		shown = append(shown, fmt.Sprintf("%s %s of parts %s", d["stage"], d["progress"], d["parts"]))
	})
	if want := "shards 88/177 of parts 5/10"; !slices.Contains(shown, want) {
		t.Errorf("got %q, want %q among them", shown, want)
	}
	if building, err := indexing.Building(t.Context(), h.Transactions, table, "", orders[0].Name); building != nil || err != nil {
		t.Errorf("a job that has ended: got %v, %v", building, err)
	}
}

func TestBuildCanBePausedAndCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New(), few)
		h.create(t, 60, 37, 80)
		id, parts := h.begin(t, orders[0]), 0
		h.work(t, func(jobs.Message) {
			if parts++; parts == 4 {
				if _, err := h.Jobs.Pause(t.Context(), transaction.Unit{Job: id}); err != nil {
					t.Fatal(err)
				}
			}
		})
		done, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
		if err != nil || done.Status != transactionapi.Running || !done.Work.Paused || done.Rows == 0 || done.Total != 177 {
			t.Fatalf("a paused job: %s in stage %s, %d rows of %d, %v", done.Status, done.Work.Stage, done.Rows, done.Total, err)
		}
		if resumed, _, err := h.Jobs.Resume(t.Context(), transaction.Unit{Job: id}, time.Now()); !resumed || err != nil {
			t.Fatalf("not resumed: %v", err)
		}
		h.work(t, nil)
		if done, err = h.Transactions.Job(t.Context(), transaction.Unit{Job: id}); err != nil || done.Status != transactionapi.Succeeded {
			t.Fatalf("a resumed job: %s %s, %v", done.Status, done.Failure, err)
		}
		if wrong := h.check(t, orders[0]); wrong != "" {
			t.Error(wrong)
		}

		again := orders[0]
		again.Name = "other"
		id, parts = h.begin(t, again), 0
		h.work(t, func(jobs.Message) {
			if parts++; parts == 4 {
				_, err := h.Transactions.Advance(t.Context(), transaction.Unit{Job: id}, func(t *transaction.Transaction) { t.Status = transactionapi.Canceled })
				if err != nil {
					t.Fatal(err)
				}
			}
		})
		if _, err := enginetest.Index(t.Context(), h.at(t), "other"); protocol.CodeOf(err) != protocol.TableIndexNotFound {
			t.Errorf("a canceled build: %v", err)
		}
		if left := h.garbage(t); left != "" {
			t.Error(left)
		}
	})
}
