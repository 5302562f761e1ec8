package backfill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/udfcall"
)

// A process is a server and a worker over one storage, with a table t of three fragments.
type process struct {
	tables.Tables
	worker *jobs.Worker
	names  int

	schedule computed.Schedule
}

func open(t *testing.T) *process {
	t.Helper()
	return openWith(t, tables.AutoRefresh{}, computed.Schedule{})
}

// openWith is open with a policy, and a schedule of the column double.
func openWith(t *testing.T, policy tables.AutoRefresh, schedule computed.Schedule) *process {
	t.Helper()
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Tables: tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue), Auto: policy,
	})}
	p.worker = &jobs.Worker{
		Starter: *p.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Memory: memory.NewBudget(1<<30, 1<<30),
		Name:  func() string { p.names++; return fmt.Sprint(p.names) },
		Kinds: map[string]jobs.Kind{backfill.Kind: backfill.Following(p.Tables, backfill.Fill(p.Tables, udfcall.Directory{Names: p.Names}, backfill.PartSizes))},
	}
	p.schedule = schedule
	p.make(t)
	return p
}

// make makes the table t.
func (p *process) make(t *testing.T) {
	t.Helper()
	id := []string{"t"}
	location := p.Names.Places.New(id)
	table := p.Rows.Table(id, location)
	for i := range 3 {
		write := table.Insert
		if i == 0 {
			write = table.Create
		}
		if _, err := write(t.Context(), rows(t, i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Names.CreateTable(t.Context(), id, location, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddComputedColumns(t.Context(), table, []engine.Assignment{{Column: "double", SQL: "id * 2"}}, p.schedule); err != nil {
		t.Fatal(err)
	}
}

// rows returns two rows of the table.
func rows(t *testing.T, i int) dataset.Rows {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(arrowmemory.DefaultAllocator, schema, strings.NewReader(fmt.Sprintf(`[{"id":%d},{"id":%d}]`, 2*i, 2*i+1)))
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

func (p *process) begin(t *testing.T, order backfill.Order) string {
	t.Helper()
	begun, err := p.Jobs.Begin(t.Context(), backfill.Kind, []string{"t"}, order)
	if err != nil {
		t.Fatal(err)
	}
	return begun.ID
}

// do processes the message of a job, in a run that has so much time.
func (p *process) do(t *testing.T, id string, within time.Duration) *transaction.Transaction {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), within)
	defer done()
	if err := p.worker.Do(ctx, jobs.Message{Job: id}); err != nil {
		t.Fatal(err)
	}
	got, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantResult(t *testing.T, got *transaction.Transaction, want string) {
	t.Helper()
	if got.Status != transactionapi.Succeeded || string(got.Result) != want {
		t.Errorf("the job is %v with %s (%s), want %s", got.Status, got.Result, got.Failure, want)
	}
}

// A job that needs more time than a run has goes on in the next runs, and counts the rows of all of them.
func TestJobGoesOnInTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		id := p.begin(t, backfill.Order{Column: "double", Where: "id >= 0", PerCommit: 1})
		for run := 1; run <= 2; run++ {
			got := p.do(t, id, time.Minute)
			if got.Status.Ended() || got.Done != int64(run) || got.Total != 3 || got.Rows != int64(2*run) {
				t.Fatalf("after run %d: %v, %d of %d, %d rows (%s)", run, got.Status, got.Done, got.Total, got.Rows, got.Failure)
			}
		}
		wantResult(t, p.do(t, id, time.Minute), `{"rows_assigned":6,"rows_failed":0,"rows_remaining":0,"source_version":4,"published_version":10}`)
	})
}

// A table that takes the name of the one that a job has begun with is filled from its beginning.
func TestJobBeginsAnewOnAnotherTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		id := p.begin(t, backfill.Order{Column: "double", PerCommit: 1})
		if got := p.do(t, id, time.Minute); got.Status.Ended() || got.Done != 1 {
			t.Fatalf("after a run: %v, %d done, want one fragment", got.Status, got.Done)
		}
		if _, err := p.Names.DeregisterTable(t.Context(), []string{"t"}); err != nil {
			t.Fatal(err)
		}
		p.make(t)
		wantResult(t, p.do(t, id, time.Hour), `{"rows_assigned":6,"rows_failed":0,"rows_remaining":0,"source_version":4,"published_version":8}`)
	})
}

// Columns of one use of a function are filled together, so a job on one of them waits for one on another.
func TestJobOnAnotherColumnOfTheUseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		first := p.begin(t, backfill.Order{Column: "double", Use: "u", PerCommit: 1})
		second := p.begin(t, backfill.Order{Column: "id", Use: "u"})
		other := p.begin(t, backfill.Order{Column: "id", Use: "v"})
		p.do(t, first, time.Minute)
		if got := p.do(t, second, time.Hour); got.Status.Ended() {
			t.Errorf("the second job is %v (%s), want that it waits", got.Status, got.Failure)
		}
		if got := p.do(t, other, time.Hour); !got.Status.Ended() {
			t.Errorf("a job on another use is %v, want that it does not wait", got.Status)
		}
		p.do(t, first, time.Hour)
		if got := p.do(t, second, time.Hour); !got.Status.Ended() {
			t.Errorf("then the second job is %v, want that it waits no longer", got.Status)
		}
	})
}

func TestJobOnTheSameColumnWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t)
		first := p.begin(t, backfill.Order{Column: "double", PerCommit: 1})
		second := p.begin(t, backfill.Order{Column: "double"})
		p.do(t, first, time.Minute)
		if got := p.do(t, second, time.Hour); got.Status.Ended() || got.Done != 0 {
			t.Fatalf("the second job is %v with %d fragments done, want that it waits", got.Status, got.Done)
		}
		wantEnd := func(id string, assigned int) {
			t.Helper()
			got := p.do(t, id, time.Hour)
			var result fill.Result
			if err := json.Unmarshal(got.Result, &result); err != nil || int(result.Assigned) != assigned {
				t.Errorf("the job is %v with %s, want %d rows", got.Status, got.Result, assigned)
			}
		}
		wantEnd(first, 6)
		wantEnd(second, 0)
	})
}
