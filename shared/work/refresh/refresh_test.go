package refresh_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/protocol/viewapi"
	viewservice "tiltyard/shared/service/view"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/refresh"
	"tiltyard/shared/work/udfcall"
)

// A process is a server and a worker over one storage.
type process struct {
	tables.Tables
	worker *jobs.Worker
	names  int
}

func open(t *testing.T, objects objectstore.Store) *process {
	t.Helper()
	return openWith(t, objects, tables.AutoRefresh{})
}

// openWith is open with a policy about refreshes without requests.
func openWith(t *testing.T, objects objectstore.Store, auto tables.AutoRefresh) *process {
	t.Helper()
	return openSized(t, objects, auto, refresh.PartSizes)
}

// openWithout is open without a runtime of functions.
func openWithout(t *testing.T, objects objectstore.Store) *process {
	t.Helper()
	return openAll(t, objects, tables.AutoRefresh{}, udfcall.Directory{}, refresh.PartSizes)
}

// few makes several parts of a refresh of a few rows.
var few = materialize.Sizes{Whole: 2, Rows: 3, Parts: 1000}

// openSized is openWith with sizes of parts.
func openSized(t *testing.T, objects objectstore.Store, auto tables.AutoRefresh, sizes materialize.Sizes) *process {
	t.Helper()
	return openAll(t, objects, auto, udfcall.Directory{Runtimes: udf.Runtimes{udf.Envelope: fake{}}}, sizes)
}

func openAll(t *testing.T, objects objectstore.Store, auto tables.AutoRefresh, functions udfcall.Directory, sizes materialize.Sizes) *process {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Tables: tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue), Auto: auto,
	})}
	p.worker = &jobs.Worker{
		Starter: *p.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Memory: memory.NewBudget(1<<30, 1<<30),
		Name:  func() string { p.names++; return fmt.Sprint(p.names) },
		Kinds: map[string]jobs.Kind{refresh.Kind: refresh.Refresh(p.Tables, functions, sizes)},
	}
	return p
}

var columns = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "pair", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
}, nil)

// rows returns rows with ids, each with a list of two items.
func rows(ids ...int64) dataset.Rows {
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, columns)
	b.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	for _, id := range ids {
		pair := b.Field(1).(*array.ListBuilder)
		pair.Append(true)
		pair.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{id, -id}, nil)
	}
	batch := b.NewRecordBatch()
	return dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// at returns a table by its name.
func (p *process) at(t *testing.T, name string) *engine.Table {
	t.Helper()
	found, err := p.Names.Table(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return p.At(found)
}

// source makes the table s with the rows 0 to 9.
func (p *process) source(t *testing.T, stable bool) {
	t.Helper()
	id := []string{"s"}
	at := p.Names.Places.New(id)
	must[engine.Written](t)(p.Rows.Table(id, at).CreateAs(t.Context(), rows(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), dataset.CreateOptions{StableRowIDs: stable}))
	if _, err := p.Names.CreateTable(t.Context(), id, at, 1, nil); err != nil {
		t.Fatal(err)
	}
}

func as(ctx context.Context) context.Context {
	return auth.NewContext(ctx, &auth.Principal{Subject: "test", Scopes: []string{auth.ScopeRead}})
}

// create makes the view v and returns the job that fills it.
func (p *process) create(ctx context.Context, query string) (string, error) {
	req := &viewapi.CreateMaterializedRequest{Common: protocol.Common{ID: []string{"v"}}, Query: query}
	if query == ofEach || query == ofAll {
		req = byFunction(query)
	}
	made, err := viewservice.New(p.Tables).CreateMaterialized(as(ctx), req)
	if err != nil {
		return "", err
	}
	return made.JobID, nil
}

// refresh begins a refresh of v.
func (p *process) refresh(t *testing.T, req viewapi.RefreshRequest) string {
	t.Helper()
	req.ID = []string{"v"}
	return must[*viewapi.RefreshResponse](t)(viewservice.New(p.Tables).RefreshMaterialized(as(t.Context()), &req)).JobID
}

// serve does what messages ask for until there are none for a while, or the process dies.
func (p *process) serve(t *testing.T) {
	for {
		ctx, done := context.WithTimeout(t.Context(), 10*time.Minute)
		d, err := p.worker.Queue.Receive(ctx, time.Minute)
		done()
		if err != nil || p.worker.Do(t.Context(), d.Message) != nil {
			return
		}
		_ = p.worker.Queue.Done(t.Context(), d)
	}
}

// done returns the result of a job.
func (p *process) done(t *testing.T, id string) string {
	t.Helper()
	made, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil || made.Status != transactionapi.Succeeded {
		t.Fatalf("the job is %v: %s, %v", made.Status, made.Failure, err)
	}
	return string(made.Result)
}

// ids returns a column of a table, in order.
func (p *process) ids(t *testing.T, name string) []int64 {
	t.Helper()
	return must[[]int64](t)(p.idsOf(t, name, nil))
}

// idsOf is ids for a version.
func (p *process) idsOf(t *testing.T, name string, version *int64) ([]int64, error) {
	t.Helper()
	return engine.Read(t.Context(), p.at(t, name), version, func(ctx context.Context, d *dataset.Dataset) ([]int64, error) {
		var all []int64
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id"}})
		if err != nil {
			return nil, err
		}
		for batch, err := range batches {
			if err != nil {
				return nil, err
			}
			all = append(all, batch.Column(0).(*array.Int64).Int64Values()...)
		}
		slices.Sort(all)
		return all, nil
	})
}

// checkStamp checks that the newest version of the view has its watermark.
func (p *process) checkStamp(t *testing.T) {
	t.Helper()
	source := must[uint64](t)(p.at(t, "s").Newest(t.Context()))
	must[bool](t)(engine.Read(t.Context(), p.at(t, "v"), nil, func(_ context.Context, d *dataset.Dataset) (bool, error) {
		mark, ok := view.StampOf(d.Schema().Metadata, d.Version())
		if !ok || mark.Source != source {
			t.Errorf("version %d of the view has the metadata %v, want a stamp of version %d", d.Version(), d.Schema().Metadata, source)
		}
		return ok, nil
	}))
}

// alter changes rows of the source: some are gone, some new, some have other values.
func (p *process) alter(t *testing.T) {
	t.Helper()
	s := p.at(t, "s")
	must[engine.Written](t)(s.Insert(t.Context(), rows(10, 11, 12)))
	must[engine.Written](t)(s.Delete(t.Context(), "id = 7"))
	must[engine.Written](t)(s.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "id + 100"}}, "id in (2, 8)"))
}

var altered = []int64{4, 5, 6, 9, 10, 11, 12, 102, 108}

const (
	query = "SELECT id FROM s WHERE id > 3"
	lines = "SELECT id FROM s, split_lines(cast(id AS string)) AS line WHERE id > 3"
	twice = "SELECT id FROM s, UNNEST(pair) AS item WHERE id > 3" // each row twice
	group = "SELECT id, count(*) AS n FROM s WHERE id > 3 GROUP BY id"
)

var faults = []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("the store is busy")}}

// A refresh whose worker dies at any request, or whose answers are lost, ends with the rows that the
// query gives, each once.
func TestRefreshSurvivesACrashAnywhere(t *testing.T) {
	both := slices.Sorted(slices.Values(append(altered, altered...)))
	for _, c := range []struct {
		query string
		full  bool
		want  []int64
		sizes materialize.Sizes
	}{
		{query, false, altered, refresh.PartSizes}, {query, true, altered, refresh.PartSizes}, {twice, false, both, refresh.PartSizes},
		{lines, false, altered, refresh.PartSizes}, {group, false, altered, refresh.PartSizes},
		{ofEach, false, altered, refresh.PartSizes}, {ofAll, false, altered, refresh.PartSizes},
		{query, false, altered, few}, {query, true, altered, few}, {twice, false, both, few}, {group, false, altered, few}, {ofEach, false, altered, few},
	} {
		for _, fault := range faults {
			step := 1
			if testing.Short() {
				step = 7
			}
			if c.sizes == few && testing.Short() {
				step = 17
			}
			for n, more := 1, true; more; n += step {
				t.Run(fmt.Sprintf("%s, full %v parts of %d crash %v lost %v request %d", c.query, c.full, c.sizes.Rows, fault.Crash, fault.Lost, n), func(t *testing.T) {
					more = false // also when the test fails
					synctest.Test(t, func(t *testing.T) { more = crash(t, c.query, c.full, c.want, c.sizes, fault, n) && !t.Failed() })
				})
			}
		}
	}
}

// crash refreshes a view with a worker that meets a fault at its n-th request, and then with another.
// It reports whether the fault was reached.
func crash(t *testing.T, query string, full bool, rows []int64, sizes materialize.Sizes, fault faultstore.Fault, n int) bool {
	var met atomic.Bool // by a read that may go on beside the test
	inner := memstore.New()
	second := openSized(t, inner, tables.AutoRefresh{}, sizes)
	second.source(t, true)
	first := must[string](t)(second.create(t.Context(), query))
	second.serve(t)
	second.done(t, first)
	second.alter(t)
	id := second.refresh(t, viewapi.RefreshRequest{Full: full})

	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.N == n {
			met.Store(true)
			return fault
		}
		return faultstore.Fault{}
	})
	dying := openSized(t, faulty, tables.AutoRefresh{}, sizes)
	dying.Jobs.Queue, dying.worker.Queue = second.Jobs.Queue, second.Jobs.Queue
	var both sync.WaitGroup
	both.Go(func() { dying.serve(t) })
	time.Sleep(time.Minute)
	both.Go(func() {
		second.serve(t)
		time.Sleep(time.Hour) // messages of the dead are lost
		if _, err := second.worker.ReviveAll(t.Context()); err == nil {
			second.serve(t)
		}
	})
	both.Wait()
	last := open(t, inner)
	result := last.done(t, id)
	want := "refresh"
	if sizes == few && query != group && query != ofEach {
		want = "commit"
	}
	if made, err := last.Transactions.Job(t.Context(), transaction.Unit{Job: id}); err != nil || made.Work.Stage != want {
		t.Errorf("the job has ended in stage %s, %v, want %s", made.Work.Stage, err, want)
	}
	if got := last.ids(t, "v"); !cmp.Equal(got, rows) {
		t.Errorf("rows are %v, want %v; the result is %s", got, rows, result)
	}
	last.checkStamp(t)
	return met.Load()
}

// A create that fails anywhere leaves either a view or nothing, and can be done again.
func TestCreateSurvivesACrashAnywhere(t *testing.T) {
	want := []int64{4, 5, 6, 7, 8, 9}
	for query, want := range map[string][]int64{
		query: want, lines: want, group: want, twice: slices.Sorted(slices.Values(append(want, want...))),
	} {
		for _, fault := range faults {
			for n, more := 1, true; more; n++ {
				t.Run(fmt.Sprintf("%s, crash %v lost %v request %d", query, fault.Crash, fault.Lost, n), func(t *testing.T) {
					more = false // also when the test fails
					more = crashCreate(t, query, want, fault, n) && !t.Failed()
				})
			}
		}
	}
}

// crashCreate creates a view over a store that has a fault at the n-th request, and again if it is not
// there, and then fills it. It reports whether the fault was reached.
func crashCreate(t *testing.T, query string, want []int64, fault faultstore.Fault, n int) bool {
	var met atomic.Bool // by a read that may go on beside the test
	inner := memstore.New()
	open(t, inner).source(t, true)
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.N == n {
			met.Store(true)
			return fault
		}
		return faultstore.Fault{}
	})
	_, first := open(t, faulty).create(t.Context(), query)
	p := open(t, inner)
	_, err := p.Names.Table(t.Context(), []string{"v"})
	if there := err == nil; !there && first == nil {
		t.Fatal("the view was created, and is not there")
	} else if !there {
		must[string](t)(p.create(t.Context(), query))
	}
	id := p.refresh(t, viewapi.RefreshRequest{Full: true})
	synctest.Test(t, func(t *testing.T) {
		q := open(t, inner)
		q.send(t, id)
		q.serve(t)
		q.done(t, id)
		if got := q.ids(t, "v"); !cmp.Equal(got, want) {
			t.Errorf("rows are %v, want %v", got, want)
		}
	})
	return met.Load()
}

func (p *process) send(t *testing.T, id string) {
	t.Helper()
	if err := p.Jobs.Queue.Send(t.Context(), 0, jobs.Message{Job: id}); err != nil {
		t.Fatal(err)
	}
}

// The outcomes of refreshes one after the other.
func TestModesOfRefreshes(t *testing.T) {
	for _, sizes := range []materialize.Sizes{refresh.PartSizes, few} {
		synctest.Test(t, func(t *testing.T) { modes(t, sizes) })
	}
}

func modes(t *testing.T, sizes materialize.Sizes) {
	for _, test := range []struct {
		name, query string
		stable      bool
		want        []string
	}{
		{"stable", query, true, []string{"rebuild 6", "incremental 5", "no_op 0", "incremental 2", "rebuild 9"}},
		{"addresses", query, false, []string{"rebuild 6", "rebuild 9", "no_op 0", "rebuild 6", "rebuild 9"}},
		{"limit", query + " LIMIT 4", true, []string{"rebuild 4", "rebuild 4", "no_op 0", "rebuild 4", "rebuild 4"}},
	} {
		p := openSized(t, memstore.New(), tables.AutoRefresh{}, sizes)
		p.source(t, test.stable)
		var got []string
		note := func(id string) {
			p.serve(t)
			var result struct {
				Mode string `json:"mode"`
				Rows int64  `json:"rows_written"`
			}
			made, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
			if err == nil {
				err = json.Unmarshal(made.Result, &result)
			}
			if err != nil {
				t.Fatalf("%s: %v, %s", test.name, err, made.Failure)
			}
			got = append(got, fmt.Sprint(result.Mode, " ", result.Rows))
		}
		note(must[string](t)(p.create(t.Context(), test.query)))
		p.alter(t)
		note(p.refresh(t, viewapi.RefreshRequest{}))
		note(p.refresh(t, viewapi.RefreshRequest{}))
		old := int64(1)
		note(p.refresh(t, viewapi.RefreshRequest{SourceVersion: &old}))
		note(p.refresh(t, viewapi.RefreshRequest{Full: true}))
		if !cmp.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Two refreshes at the same time give each row once.
func TestRefreshesAtTheSameTime(t *testing.T) {
	for _, sizes := range []materialize.Sizes{refresh.PartSizes, few} {
		synctest.Test(t, func(t *testing.T) { together(t, sizes) })
	}
}

func together(t *testing.T, sizes materialize.Sizes) {
	inner := memstore.New()
	p := openSized(t, inner, tables.AutoRefresh{}, sizes)
	p.source(t, true)
	must[string](t)(p.create(t.Context(), query))
	p.serve(t)
	p.alter(t)
	var all []string
	var workers sync.WaitGroup
	for range 4 {
		all = append(all, p.refresh(t, viewapi.RefreshRequest{Full: true}))
		other := openSized(t, inner, tables.AutoRefresh{}, sizes)
		other.worker.Queue = p.Jobs.Queue
		workers.Go(func() { other.serve(t) })
	}
	workers.Wait()
	for _, id := range all {
		p.done(t, id)
	}
	if got := open(t, inner).ids(t, "v"); !cmp.Equal(got, altered) {
		t.Errorf("rows are %v, want %v", got, altered)
	}
}

// Nothing but the sender's own right to the source lets a request begin a refresh.
func TestSenderMustBePermittedToReadTheSource(t *testing.T) {
	p := open(t, memstore.New())
	p.source(t, true)
	_, err := viewservice.New(p.Tables).CreateMaterialized(t.Context(), &viewapi.CreateMaterializedRequest{
		Common: protocol.Common{ID: []string{"v"}}, Query: query,
	})
	if !protocol.HasCode(err, protocol.PermissionDenied) {
		t.Errorf("create by nobody: %v", err)
	}
	must[string](t)(p.create(t.Context(), query))
	_, err = viewservice.New(p.Tables).RefreshMaterialized(t.Context(), &viewapi.RefreshRequest{Common: protocol.Common{ID: []string{"v"}}})
	if !protocol.HasCode(err, protocol.PermissionDenied) {
		t.Errorf("refresh by nobody: %v", err)
	}
}
