package backfill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
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
	"tiltyard/shared/engine/history"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/udfcall"
)

// few makes several parts of a small table, which share the rows of its larger fragments.
var few = fill.Sizes{Whole: 5, Rows: 6, Calls: 6, Parts: 1000, CallParts: 1000}

// fragments are the rows of the fragments of the table.
var fragments = []int{4, 17, 3, 9, 2}

// house is a process over a storage that others may share.
func house(t *testing.T, objects objectstore.Store, sizes fill.Sizes) *process {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Tables: tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue),
	})}
	p.worker = &jobs.Worker{
		Starter: *p.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Memory: memory.NewBudget(1<<30, 1<<30),
		Name:  func() string { p.names++; return fmt.Sprintf("%p-%d", p, p.names) },
		Kinds: map[string]jobs.Kind{backfill.Kind: backfill.Fill(p.Tables, udfcall.Directory{}, sizes)},
	}
	return p
}

// build makes the table t of several fragments, some of whose rows are deleted.
func (p *process) build(t *testing.T) {
	t.Helper()
	id := []string{"t"}
	location := p.Names.Places.New(id)
	table := p.Rows.Table(id, location)
	next := 0
	for i, n := range fragments {
		write := table.Insert
		if i == 0 {
			write = table.Create
		}
		if _, err := write(t.Context(), numbers(t, next, n)); err != nil {
			t.Fatal(err)
		}
		next += n
	}
	if _, err := p.Names.CreateTable(t.Context(), id, location, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddComputedColumns(t.Context(), table, []engine.Assignment{{Column: "double", SQL: "id * 2"}}, computed.Schedule{}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Delete(t.Context(), "id % 7 = 3"); err != nil {
		t.Fatal(err)
	}
}

// numbers returns rows with ids from first on.
func numbers(t *testing.T, first, n int) dataset.Rows {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"id":%d},`, first+i)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(arrowmemory.DefaultAllocator, schema, strings.NewReader("["+strings.TrimSuffix(text.String(), ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// at returns the table.
func (p *process) at(t *testing.T) *engine.Table {
	t.Helper()
	found, err := p.Names.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	return p.At(found)
}

// serve does what messages ask for until there are none for a while. Messages whose worker fails come again.
func (p *process) serve(t *testing.T) {
	for {
		ctx, done := context.WithTimeout(t.Context(), 10*time.Minute)
		d, err := p.worker.Queue.Receive(ctx, time.Minute)
		done()
		if err != nil {
			return
		}
		if p.worker.Do(t.Context(), d.Message) != nil {
			return // the process has died, and another one gets its messages
		}
		_ = p.worker.Queue.Done(t.Context(), d)
	}
}

// rows returns the rows of the table in the form id:double, in the order of the ids, and how many commits
// have filled the column.
func (p *process) rows(t *testing.T) (rows []string, commits int) {
	t.Helper()
	err := engine.Do(t.Context(), p.at(t), nil, func(ctx context.Context, d *dataset.Dataset) error {
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id", "double"}})
		if err != nil {
			return err
		}
		for batch, err := range batches {
			if err != nil {
				return err
			}
			for i := range int(batch.NumRows()) {
				rows = append(rows, fmt.Sprintf("%04s:%s", batch.Column(0).(*array.Int64).ValueStr(i), batch.Column(1).(*array.Int64).ValueStr(i)))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	newest, err := p.at(t).Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for version := uint64(1); version <= newest; version++ {
		made, err := history.TransactionOf(t.Context(), p.at(t), version)
		if err != nil {
			t.Fatal(err)
		}
		if made.Operation == "DataReplacement" {
			commits++
		}
	}
	return rows, commits
}

// doubled are the rows of the table when its column is filled.
func doubled() []string {
	var rows []string
	all := 0
	for _, n := range fragments {
		all += n
	}
	for id := range all {
		if id%7 != 3 {
			rows = append(rows, fmt.Sprintf("%04d:%d", id, 2*id))
		}
	}
	return rows
}

// A trial is a backfill during which something happens at one request.
type trial struct {
	order  backfill.Order
	fault  func(n int) faultstore.Fault // of the n-th request; nil: none
	during func(p *process, n int)      // happens before the n-th request; may be nil
}

// run fills the column of a new table with a worker that meets the fault, and then with another one. It
// returns what is wrong in the end, and how many requests the first worker sent.
func (c trial) run(t *testing.T) (wrong string, requests int) {
	inner := memstore.New()
	second := house(t, inner, few)
	second.build(t)
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if c.during != nil {
			c.during(second, call.N)
		}
		if c.fault == nil {
			return faultstore.Fault{}
		}
		return c.fault(call.N)
	})
	order := c.order
	order.Column = "double"
	id := second.begin(t, order)
	first := house(t, faulty, few)
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
	done, err := second.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil || done.Status != transactionapi.Succeeded {
		return fmt.Sprintf("the job is %s in stage %s: %s, %v", done.Status, done.Work.Stage, done.Failure, err), 0
	}
	return house(t, inner, few).wrong(t, done), faulty.Snapshot().Requests
}

// wrong returns what is wrong after a job has filled the column.
func (p *process) wrong(t *testing.T, done *transaction.Transaction) string {
	want := doubled()
	rows, commits := p.rows(t)
	var result fill.Result
	if err := json.Unmarshal(done.Result, &result); err != nil {
		return err.Error()
	}
	again, err := fill.Run(t.Context(), p.at(t), fill.Order{Column: "double"})
	switch {
	case !slices.Equal(rows, want):
		return fmt.Sprintf("got rows %q", rows)
	case result.Published == nil || result.Failed != 0 || result.Remaining != 0 || result.Assigned != int64(len(want)):
		return fmt.Sprintf("got the result %s, want %d rows", done.Result, len(want))
	case commits != 2:
		return fmt.Sprintf("%d commits have filled the column, want 2", commits)
	case err != nil || again.Assigned > 0 || again.Published != nil:
		return fmt.Sprintf("another backfill: got %+v, %v; want nothing to do", again, err)
	}
	return ""
}

// rounds is an order that two rounds do: one of four fragments, whose rows parts share, and one of a fragment.
var rounds = backfill.Order{PerCommit: 4}

func TestPartsFillAColumnInRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong, requests := trial{order: rounds}.run(t)
		if wrong != "" {
			t.Error(wrong)
		}
		t.Log("requests:", requests)
	})
}

// inTurn calls try with each request, until one tells that there are no more.
func inTurn(t *testing.T, try func(t *testing.T, n int) (wrong string, requests int)) {
	step := 3
	if testing.Short() {
		step = 17
	}
	for n := 1; ; n += step {
		requests := 0
		synctest.Test(t, func(t *testing.T) {
			var wrong string
			if wrong, requests = try(t, n); wrong != "" {
				t.Errorf("request %d: %s", n, wrong)
			}
		})
		if t.Failed() || requests < n {
			t.Logf("%d requests", requests)
			return
		}
	}
}

// Wherever a worker dies, before a request or after it, others finish the job, and commit each round once.
func TestWorkerMayDieAtEachRequest(t *testing.T) {
	for _, lost := range []bool{false, true} {
		inTurn(t, func(t *testing.T, at int) (string, int) {
			return trial{order: rounds, fault: func(call int) faultstore.Fault { return faultstore.Fault{Crash: call == at, Lost: lost && call == at} }}.run(t)
		})
	}
}

// A worker that freezes, while others do its work, does no harm when it goes on.
func TestWorkerMayFreezeAtEachRequest(t *testing.T) {
	inTurn(t, func(t *testing.T, at int) (string, int) {
		thaws := time.Now().Add(5 * time.Minute)
		return trial{order: rounds, fault: func(call int) faultstore.Fault {
			if call < at {
				return faultstore.Fault{}
			}
			return faultstore.Fault{Wait: func(ctx context.Context) error { return backoff.Sleep(ctx, time.Until(thaws)) }}
		}}.run(t)
	})
}

func TestAnswersMayBeLost(t *testing.T) {
	inTurn(t, func(t *testing.T, at int) (string, int) {
		return trial{order: rounds, fault: func(call int) faultstore.Fault { return faultstore.Fault{Lost: call == at} }}.run(t)
	})
}

// changes are what others may do to the table meanwhile.
var changes = map[string]func(t *testing.T, table *engine.Table) error{
	"update": func(t *testing.T, table *engine.Table) error {
		_, err := table.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "id + 1000"}}, "id % 5 = 1")
		return err
	},
	"delete": func(t *testing.T, table *engine.Table) error {
		_, err := table.Delete(t.Context(), "id % 5 = 1")
		return err
	},
	"delete a fragment": func(t *testing.T, table *engine.Table) error {
		_, err := table.Delete(t.Context(), "id < 21")
		return err
	},
	"insert": func(t *testing.T, table *engine.Table) error {
		_, err := table.Insert(t.Context(), numbers(t, 500, 8))
		return err
	},
	"compact": func(t *testing.T, table *engine.Table) error {
		_, err := table.Alter(t.Context(), func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
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
	},
	"restore": func(t *testing.T, table *engine.Table) error { // no row is deleted any more
		_, err := table.Restore(t.Context(), uint64(len(fragments)+1))
		return err
	},
	"fill": func(t *testing.T, table *engine.Table) error {
		_, err := fill.Run(t.Context(), table, fill.Order{Column: "double"})
		return err
	},
	"new values of the input": func(t *testing.T, table *engine.Table) error {
		_, err := table.Alter(t.Context(), func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
			var op pb.DataReplacement
			for _, f := range d.Fragments()[:2] {
				piece, err := alter.StageColumns(ctx, d, f, alter.ColumnValues{
					Columns: []string{"id"}, Read: []string{"id"},
					Values: func(_ context.Context, batch arrow.RecordBatch) ([]arrow.Array, int64, error) {
						b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
						for _, id := range batch.Column(0).(*array.Int64).Int64Values() {
							b.Append(id + 2000)
						}
						return []arrow.Array{b.NewArray()}, batch.NumRows(), nil
					},
				}, 0, f.Rows)
				if err != nil {
					return nil, err
				}
				op.Replacements = append(op.Replacements, pb.FileReplacement{FragmentID: f.Meta.ID, NewFile: *piece.File})
			}
			return d.Commit(ctx, &op)
		})
		return err
	},
}

// Whatever others commit meanwhile, and whenever, the job ends, no row has a wrong value that is taken for a
// right one, and a further backfill fills what is left.
func TestOthersChangeTheTable(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			kind := rowsOnly
			if name == "update" || name == "new values of the input" {
				kind = inputs
			}
			inTurn(t, func(t *testing.T, at int) (string, int) { return changed(t, at, change, "", kind) })
		})
	}
}

// A job that computes some rows leaves the values that others have given to the rest.
func TestValuesOfOthersStay(t *testing.T) {
	inTurn(t, func(t *testing.T, at int) (string, int) { return changed(t, at, changes["fill"], "id % 2 = 0", whole) })
}

// A changeKind is what a change does to values.
type changeKind int

const (
	inputs   changeKind = iota // values that were computed before it are wrong, until another backfill
	rowsOnly                   // those that there are are right, and another backfill computes the rest
	whole                      // all rows have one
)

// changed does a job while a change comes in before a request.
func changed(t *testing.T, at int, change func(*testing.T, *engine.Table) error, where string, kind changeKind) (wrong string, requests int) {
	inner := memstore.New()
	other := house(t, inner, few)
	other.build(t)
	came := false
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.N == at {
			came = true
			if err := change(t, other.at(t)); err != nil {
				t.Error(err)
			}
		}
		return faultstore.Fault{}
	})
	p := house(t, faulty, few)
	id := p.begin(t, backfill.Order{Column: "double", Where: where, PerCommit: 4})
	p.serve(t)
	done, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
	if err != nil || done.Status != transactionapi.Succeeded {
		return fmt.Sprintf("the job is %s: %s, %v", done.Status, done.Failure, err), 0
	}
	requests = faulty.Snapshot().Requests
	last := house(t, inner, few)
	if kind != inputs { // all values that there are are right already
		rows, _ := last.rows(t)
		if wrong := wrongRow(rows, true); wrong != "" {
			return wrong, requests
		}
	}
	if kind != whole {
		if _, err := fill.Run(t.Context(), last.at(t), fill.Order{Column: "double"}); err != nil {
			return err.Error(), requests
		}
	}
	rows, _ := last.rows(t)
	if len(rows) < 10 {
		return fmt.Sprintf("%d rows are left", len(rows)), requests
	}
	return wrongRow(rows, !came), requests
}

// wrongRow returns a row with a wrong value, "" if there is none. Rows may have none if nulls is true.
func wrongRow(rows []string, nulls bool) string {
	for _, row := range rows {
		var id, double int
		if nulls && strings.HasSuffix(row, ":(null)") {
			continue
		}
		if n, err := fmt.Sscanf(row, "%d:%d", &id, &double); n != 2 || double != 2*id {
			return fmt.Sprintf("got row %s, %v", row, err)
		}
	}
	return ""
}
