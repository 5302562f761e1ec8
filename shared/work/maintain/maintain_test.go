package maintain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// grace is that of the tests.
const grace = 10 * time.Minute

// house is a server and a worker over one storage.
type house struct {
	tables tables.Tables
	keeper *maintain.Keeper
	worker *jobs.Worker
	names  atomic.Int64
}

func open(t *testing.T, objects objectstore.Store) *house { return openWith(t, objects, false) }

// openWith opens a house in which usage is metered, or is not.
func openWith(t *testing.T, objects objectstore.Store, metered bool) *house {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	records := objectrecord.Open(objects, time.Now)
	h := &house{tables: tables.Open(tables.Stores{
		Objects: roots, Records: records, Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue), Maintain: true, Metered: metered,
	})}
	h.keeper = &maintain.Keeper{Tables: h.tables, Records: records, Now: time.Now, Grace: grace}
	h.worker = &jobs.Worker{
		Starter: *h.tables.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Name:  func() string { return fmt.Sprintf("%p %d", h, h.names.Add(1)) },
		Kinds: map[string]jobs.Kind{tables.MaintainKind: h.keeper.Kind()},
	}
	return h
}

var table = []string{"ns", "t"}

func rows(id int64) dataset.Rows {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"id":`+strconv.FormatInt(id, 10)+`}]`))
	if err != nil {
		panic(err)
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// create makes the table, with the properties.
func (h *house) create(t *testing.T, ofNamespace, ofTable map[string]string) {
	t.Helper()
	ctx := t.Context()
	if _, err := h.tables.Names.Namespaces.Create(ctx, table[:1], ofNamespace, 0); err != nil {
		t.Fatal(err)
	}
	location := h.tables.Names.Places.New(table)
	if _, err := h.tables.Rows.Table(table, location).Create(ctx, rows(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.tables.Names.CreateTable(ctx, table, location, 1, ofTable); err != nil {
		t.Fatal(err)
	}
}

// insert adds rows one by one.
func (h *house) insert(t *testing.T, from, to int64) {
	t.Helper()
	h.insertInto(t, "", from, to)
}

// insertInto is insert for a branch.
func (h *house) insertInto(t *testing.T, branch string, from, to int64) {
	t.Helper()
	for id := from; id < to; id++ {
		_, err := h.tables.Open(table, branch).Commit(t.Context(), func(t tables.Table) (engine.Written, error) {
			return t.Insert(context.Background(), rows(id))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// work runs jobs for a time d. The jobs do not notice its end in advance. It ends just before whole seconds, in which
// messages become due: a message that is received at the very end would be held for two minutes.
func (h *house) work(t *testing.T, d time.Duration) {
	const rest = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	defer time.AfterFunc(d-rest, stop).Stop()
	h.worker.Serve(ctx, 1)
	time.Sleep(rest)
}

// look returns the ids in the table and the number of its fragments.
func (h *house) look(t *testing.T) (ids []int64, fragments int) {
	t.Helper()
	return h.lookAt(t, "")
}

// lookAt is look for a branch.
func (h *house) lookAt(t *testing.T, branch string) (ids []int64, fragments int) {
	t.Helper()
	found, err := h.tables.Names.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	at, err := h.tables.On(t.Context(), found, branch)
	if err != nil {
		t.Fatal(err)
	}
	err = engine.Do(t.Context(), at, nil, func(ctx context.Context, d *dataset.Dataset) error {
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{})
		if err != nil {
			return err
		}
		for batch, err := range batches {
			if err != nil {
				return err
			}
			ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
		}
		fragments = len(d.Stats().Lengths)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids, fragments
}

func upTo(n int64) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	return ids
}

func (h *house) want(t *testing.T, rows int64, fragments int) {
	t.Helper()
	ids, got := h.look(t)
	if diff := cmp.Diff(upTo(rows), ids); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got != fragments {
		t.Errorf("%d fragments, want %d", got, fragments)
	}
}

func TestSmallWritesAreCompactedAsTheyCome(t *testing.T) {
	on, off := map[string]string{"maintenance": "on"}, map[string]string{"maintenance": "OFF"}
	for name, c := range map[string]struct {
		ofNamespace, ofTable map[string]string
		want                 int
	}{
		"by default":          {nil, nil, 1},
		"not if switched off": {nil, off, 16},
		"off around it":       {off, nil, 16},
		"on nevertheless":     {off, on, 1},
		"only cleanup":        {nil, map[string]string{"maintenance": "cleanup"}, 16},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, memstore.New())
				h.create(t, c.ofNamespace, c.ofTable)
				h.insert(t, 1, 16)
				h.work(t, time.Minute)
				h.want(t, 16, c.want)
			})
		})
	}
}

// A branch is compacted as it is written to. What it shares with the table is not copied.
func TestBranchesAreCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, nil, map[string]string{"maintenance": "off"})
		h.insert(t, 1, 10)
		found, err := h.tables.Names.Table(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := branches.Create(t.Context(), h.tables.At(found).Data(), "dev", "", 0); err != nil {
			t.Fatal(err)
		}
		h.insertInto(t, "dev", 10, 32)
		want := func(branch string, rows int64, fragments int) {
			t.Helper()
			ids, got := h.lookAt(t, branch)
			if diff := cmp.Diff(upTo(rows), ids); diff != "" {
				t.Errorf("rows of branch %q (-want +got):\n%s", branch, diff)
			}
			if got != fragments {
				t.Errorf("branch %q has %d fragments, want %d", branch, got, fragments)
			}
		}
		if report, err := h.keeper.DryRun(t.Context(), table, maintain.Order{Compact: true, Gradual: true}); err != nil || report.FragmentsRemoved != 10+22 {
			t.Errorf("a dry run tells %+v, %v; want 32 fragments, those of the table and those of the branch", report, err)
		}
		h.report(t, h.run(t, maintain.Order{Compact: true, Gradual: true}))
		want("", 10, 1)
		want("dev", 32, 10+1)
		h.insertInto(t, "dev", 32, 34)
		h.report(t, h.run(t, maintain.Order{Compact: true}))
		want("", 10, 1)
		want("dev", 34, 10+1)
	})
}

// run begins a job and works on it.
func (h *house) run(t *testing.T, order maintain.Order) string {
	t.Helper()
	id := h.begin(t, order)
	h.work(t, time.Minute)
	return id
}

// Writes to a branch cause polls, as writes to the table do.
func TestWritesToBranchesAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, nil, nil)
		found, err := h.tables.Names.Table(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := branches.Create(t.Context(), h.tables.At(found).Data(), "dev", "", 0); err != nil {
			t.Fatal(err)
		}
		h.insertInto(t, "dev", 1, 16)
		h.work(t, time.Minute)
		if ids, fragments := h.lookAt(t, "dev"); len(ids) != 16 || fragments > 3 {
			t.Errorf("the branch has %d rows in %d fragments, want 16 in a few", len(ids), fragments)
		}
	})
}

// The larger a table grows, the less often a compaction rewrites its old rows.
func TestCompactionIsTiered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, nil, nil)
		rewritten := 0
		for n := int64(1); n < 400; n++ {
			h.insert(t, n, n+1)
			h.work(t, time.Second)
		}
		jobs, _, err := h.tables.Transactions.Jobs(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			var report maintain.Report
			if err := json.Unmarshal(j.Result, &report); err != nil {
				t.Fatal(err)
			}
			rewritten += report.FragmentsRemoved
		}
		ids, fragments := h.look(t)
		if len(ids) != 400 || fragments > 60 || rewritten < 200 || rewritten > 800 {
			t.Errorf("%d rows in %d fragments, %d were rewritten by %d jobs", len(ids), fragments, rewritten, len(jobs))
		}
	})
}

// begin begins a job.
func (h *house) begin(t *testing.T, order maintain.Order) string {
	t.Helper()
	begun, err := h.tables.Jobs.Begin(t.Context(), tables.MaintainKind, table, order)
	if err != nil {
		t.Fatal(err)
	}
	return begun.ID
}

// report returns what a job came to.
func (h *house) report(t *testing.T, id string) maintain.Report {
	t.Helper()
	got, err := h.tables.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil || got.Status != transactionapi.Succeeded {
		t.Fatalf("the job is %+v, %v", got, err)
	}
	var report maintain.Report
	if err := json.Unmarshal(got.Result, &report); err != nil {
		t.Fatal(err)
	}
	return report
}

func TestDryRunReportsTheWorkToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, memstore.New())
		h.create(t, nil, nil)
		h.insert(t, 1, 5)
		time.Sleep(30 * 24 * time.Hour)
		report, err := h.keeper.DryRun(t.Context(), table, maintain.Order{Compact: true, Cleanup: true, Retention: time.Hour})
		if err != nil || report.FragmentsRemoved != 5 || report.Cleaned.Versions != 4 {
			t.Errorf("got %+v, %v; want 5 fragments and 4 versions", report, err)
		}
		h.want(t, 5, 5)
	})
}

// A job is killed at each of its requests to the storage. The rows can be read all the time, and
// the next worker finishes the job.
func TestMaintenanceSurvivesACrashAnywhere(t *testing.T) {
	for n := int32(1); ; n++ {
		reached := false
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New()
				before := open(t, inner)
				before.create(t, nil, nil)
				before.insert(t, 1, 5)
				time.Sleep(30 * 24 * time.Hour)
				id := before.begin(t, maintain.Order{Compact: true, Cleanup: true, Retention: time.Hour, Keep: 1})
				var calls atomic.Int32
				faulty := open(t, faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
					if calls.Add(1) != n {
						return faultstore.Fault{}
					}
					return fault
				}))
				where := fmt.Sprintf("request %d, %+v", n, fault)
				_, _ = faulty.worker.Recover(t.Context())
				faulty.work(t, time.Hour)
				reached = reached || calls.Load() >= n
				after := open(t, inner)
				if ids, _ := after.look(t); !slices.Equal(ids, upTo(5)) {
					t.Errorf("%s: the table holds %v", where, ids)
				}
				if _, err := after.worker.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				after.work(t, time.Hour)
				after.report(t, id)
				after.want(t, 5, 1)
			})
		}
		if !reached || t.Failed() {
			if n < 20 && !t.Failed() {
				t.Errorf("only %d requests were tried", n)
			}
			return
		}
	}
}
