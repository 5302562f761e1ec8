package transaction

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// fixture is a service over a catalog that holds tables of two versions.
type fixture struct {
	*Service
	jobs *transaction.Store
}

func open(t *testing.T) *fixture {
	t.Helper()
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	records := objectrecord.Open(objects, time.Now)
	tables := tables.Open(tables.Stores{
		Objects: roots, Records: records, Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue),
	})
	return &fixture{Service: New(tables), jobs: tables.Transactions}
}

// table makes a table and appends to it, and returns what the append made.
func (f *fixture) table(t *testing.T, name string) engine.Written {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"id":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	rows := dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	id := []string{name}
	location := f.tables.Names.Places.New(id)
	table := f.tables.Rows.Table(id, location)
	if _, err := table.Create(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if _, err := f.tables.Names.CreateTable(t.Context(), id, location, 1, nil); err != nil {
		t.Fatal(err)
	}
	done, err := table.Insert(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func describe(id ...string) *transactionapi.DescribeRequest {
	return &transactionapi.DescribeRequest{Common: protocol.Common{ID: id}}
}

func alter(status transactionapi.Status, id ...string) *transactionapi.AlterRequest {
	return &transactionapi.AlterRequest{
		Common: protocol.Common{ID: id}, Actions: []transactionapi.Action{{SetStatus: &transactionapi.SetStatusAction{Status: status}}},
	}
}

func TestCommitIsDescribedUnderAllItsNames(t *testing.T) {
	f := open(t)
	for _, name := range []string{"t", strings.Repeat("long", 60)} {
		done := f.table(t, name)
		id := f.jobs.IDOfCommit(t.Context(), []string{name}, transaction.Commit{Version: uint64(done.Version), UUID: done.Transaction})
		want := &transactionapi.Response{Status: transactionapi.Succeeded, Properties: protocol.Properties{
			"uuid": done.Transaction, "version": "2", "read_version": "1", "operation": "Append",
		}}
		names := [][]string{{id}, {name, id}, {name, "2"}, {name, done.Transaction}}
		for _, path := range names {
			got, err := f.Describe(t.Context(), describe(path...))
			if err != nil {
				t.Fatalf("%q: %v", path, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", path, diff)
			}
		}
		for _, status := range []transactionapi.Status{transactionapi.Failed, transactionapi.Queued} {
			for _, path := range names {
				got, err := f.Alter(t.Context(), alter(status, path...))
				if err != nil || got.Status != status {
					t.Fatalf("%q to %v: got %+v, %v", path, status, got, err)
				}
			}
			for _, path := range names {
				if got, err := f.Describe(t.Context(), describe(path...)); err != nil || got.Status != status {
					t.Errorf("%q after that: got %+v, %v; want %v", path, got, err, status)
				}
			}
		}
	}
}

func TestUnknownTransactions(t *testing.T) {
	f := open(t)
	done := f.table(t, "t")
	of := func(table string, version uint64, uuid string) string {
		id, _ := transaction.CommitID([]string{table}, transaction.Commit{Version: version, UUID: uuid})
		return id
	}
	other := "00000000-0000-0000-0000-000000000000"
	for _, id := range [][]string{
		{"nothing"}, {"t", "nothing"}, {"t", "7"}, {"t", other}, {"u", "2"}, {"ns", "t", "2"}, {strings.Repeat("0", 32)}, {"c" + strings.Repeat("0", 32)},
		{of("t", 2, other)}, {of("t", 1, done.Transaction)}, {of("t", 9, done.Transaction)}, {of("u", 2, done.Transaction)},
	} {
		if got, err := f.Describe(t.Context(), describe(id...)); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
			t.Errorf("describe %q: got %+v, %v; want TransactionNotFound", id, got, err)
		}
		if got, err := f.Alter(t.Context(), alter(transactionapi.Failed, id...)); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
			t.Errorf("alter %q: got %+v, %v; want TransactionNotFound", id, got, err)
		}
	}
}
