package work_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/protocol/viewapi"
	viewservice "tiltyard/shared/service/view"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/refresh"
	"tiltyard/shared/work/udfcall"
)

// A site is a server and a worker over a directory, which counts requests. A part has 700 MB of memory.
type site struct {
	tables.Tables
	objects *faultstore.Store
	worker  *jobs.Worker
	names   int
}

// BenchmarkViews measures the stages of refreshes of a view of 10^7 rows and of the backfill of a column of its
// source: the processor time of the longest part and of all, requests and bytes. docs/scale.md has the results.
// Run it with -cpu 1, as the functions of the estimates have one core, and with -benchtime 1x.
func BenchmarkViews(b *testing.B) {
	const rows = 10_000_000
	for b.Loop() {
		b.StopTimer()
		s := openSite(b)
		source := s.source(b, rows)
		b.StartTimer()
		ctx := auth.NewContext(b.Context(), &auth.Principal{Subject: "test", Scopes: []string{auth.ScopeRead}})
		views := viewservice.New(s.Tables)
		created, err := views.CreateMaterialized(ctx, &viewapi.CreateMaterializedRequest{
			Common: protocol.Common{ID: []string{"v"}}, Query: "SELECT id, n * 2 AS m, upper(text) AS t FROM s WHERE n % 10 < 9",
		})
		if err != nil {
			b.Fatal(err)
		}
		s.measure(b, "the first refresh", created.JobID)
		again := func(what string, req viewapi.RefreshRequest) {
			req.ID = []string{"v"}
			begun, err := views.RefreshMaterialized(ctx, &req)
			if err != nil {
				b.Fatal(err)
			}
			s.measure(b, what, begun.JobID)
		}
		must(b)(source.Insert(b.Context(), some(rows, rows/100)))
		again("appended: 1 %", viewapi.RefreshRequest{})
		must(b)(source.Update(b.Context(), []engine.Assignment{{Column: "n", SQL: "n + 7"}}, "id % 100 = 3"))
		again("updated: 1 %", viewapi.RefreshRequest{})
		must(b)(source.Update(b.Context(), []engine.Assignment{{Column: "n", SQL: "n + 7"}}, "id % 4 = 3"))
		again("updated: 25 %", viewapi.RefreshRequest{})
		again("all rows again", viewapi.RefreshRequest{Full: true})
		must(b)(evolution.AddComputedColumns(b.Context(), source, []engine.Assignment{{Column: "length", SQL: "char_length(text) + n"}}, computed.Schedule{}))
		begun, err := s.Jobs.Begin(b.Context(), backfill.Kind, []string{"s"}, backfill.Order{Column: "length"})
		if err != nil {
			b.Fatal(err)
		}
		s.measure(b, "the backfill", begun.ID)
	}
}

func must(b *testing.B) func(engine.Written, error) {
	return func(_ engine.Written, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
}

func openSite(b *testing.B) *site {
	b.Helper()
	dir, err := diskstore.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	objects := faultstore.New(dir, nil)
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "file://" + b.TempDir(), Store: objects})
	if err != nil {
		b.Fatal(err)
	}
	s := &site{objects: objects, Tables: tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 64 << 20, Queue: new(memqueue.Queue),
	})}
	s.worker = &jobs.Worker{
		Starter: *s.Jobs, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Memory: memory.NewBudget(700<<20, 700<<20),
		Name: func() string { s.names++; return fmt.Sprint(s.names) },
		Kinds: map[string]jobs.Kind{
			refresh.Kind:  refresh.Refresh(s.Tables, udfcall.Directory{}, refresh.PartSizes),
			backfill.Kind: backfill.Fill(s.Tables, udfcall.Directory{}, backfill.PartSizes),
		},
	}
	return s
}

// source makes the table s, with stable row ids.
func (s *site) source(b *testing.B, rows int) *engine.Table {
	b.Helper()
	id := []string{"s"}
	at := s.Names.Places.New(id)
	t := s.Rows.Table(id, at)
	must(b)(t.CreateAs(b.Context(), some(0, rows), dataset.CreateOptions{StableRowIDs: true}))
	if _, err := s.Names.CreateTable(b.Context(), id, at, 1, nil); err != nil {
		b.Fatal(err)
	}
	return t
}

var columns = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String},
}, nil)

// some returns rows of about 116 bytes, from an id on.
func some(from, count int) dataset.Rows {
	return dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		const atOnce = 10_000
		for first := from; first < from+count; first += atOnce {
			to := array.NewRecordBuilder(arrowmemory.DefaultAllocator, columns)
			for id := first; id < min(first+atOnce, from+count); id++ {
				to.Field(0).(*array.Int64Builder).Append(int64(id))
				to.Field(1).(*array.Int64Builder).Append(int64(id % 1000))
				to.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("%x %s", uint64(id)*0x9E3779B97F4A7C15, strings.Repeat("words of texts ", 5)))
			}
			if !yield(to.NewRecordBatch(), nil) {
				return
			}
		}
	}}
}

// A stage is what its parts have taken.
type stage struct {
	parts, requests int
	longest, all    time.Duration
	read, written   int64
}

// measure works until a job has ended.
func (s *site) measure(b *testing.B, what, id string) {
	b.Helper()
	stages, order := map[string]*stage{}, []string(nil)
	for {
		ctx, done := context.WithTimeout(b.Context(), 200*time.Millisecond)
		d, err := s.Jobs.Queue.Receive(ctx, time.Hour)
		done()
		if err != nil {
			break
		}
		name := d.Stage
		if name == "" {
			found, err := s.Transactions.Job(b.Context(), transaction.Unit{Job: d.Job})
			if err != nil {
				b.Fatal(err)
			}
			name = "job in " + found.Work.Stage
		}
		if stages[name] == nil {
			stages[name] = &stage{}
			order = append(order, name)
		}
		s.objects.Reset()
		began := processorTime(b)
		if err := s.worker.Do(b.Context(), d.Message); err != nil {
			b.Fatal(err)
		}
		if err := s.Jobs.Queue.Done(b.Context(), d); err != nil {
			b.Fatal(err)
		}
		at, counts, took := stages[name], s.objects.Snapshot(), processorTime(b)-began
		at.parts, at.requests, at.all, at.longest = at.parts+1, at.requests+counts.Requests, at.all+took, max(at.longest, took)
		at.read, at.written = at.read+counts.ReadBytes, at.written+counts.WrittenBytes
	}
	for _, name := range order {
		at := stages[name]
		b.Logf("%-18s %-20s %4d parts, longest %8v, all %8v, %6d requests, %5d MB read, %5d MB written",
			what, name, at.parts, at.longest.Round(time.Millisecond), at.all.Round(time.Millisecond), at.requests, at.read/1e6, at.written/1e6)
	}
	done, err := s.Transactions.Job(b.Context(), transaction.Unit{Job: id})
	if err != nil || done.Status != transactionapi.Succeeded {
		b.Fatal(done.Status, done.Work.Stage, done.Failure, err)
	}
	b.Logf("%-18s %s", what, done.Result)
}

// processorTime returns how long processors have worked for this process.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
