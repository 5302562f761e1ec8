package jobtable

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

var columns = arrow.NewSchema([]arrow.Field{
	{Name: "job_id", Type: arrow.BinaryTypes.String}, {Name: "table_name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "status", Type: arrow.BinaryTypes.String}, {Name: "metrics", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "updated_at", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true}, {Name: "completed_at", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func open(t *testing.T) tables.Tables {
	t.Helper()
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	return tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Queue: new(memqueue.Queue),
	})
}

// create makes the table of jobs.
func create(t *testing.T, on tables.Tables, columns *arrow.Schema) *engine.Table {
	t.Helper()
	if _, err := on.Names.Namespaces.Create(t.Context(), []string{"__system"}, nil, namespaces.FailIfExists); err != nil {
		t.Fatal(err)
	}
	at := on.Names.Places.New(id())
	rows := dataset.Rows{Schema: columns, Batches: func(func(arrow.RecordBatch, error) bool) {}}
	if _, err := on.Rows.Table(id(), at).Create(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if _, err := on.Names.CreateTable(t.Context(), id(), at, 1, nil); err != nil {
		t.Fatal(err)
	}
	table, err := on.Names.Table(t.Context(), id())
	if err != nil {
		t.Fatal(err)
	}
	return on.At(table)
}

// rowsOf returns the rows of the table as texts.
func rowsOf(t *testing.T, table *engine.Table, columns ...string) []string {
	t.Helper()
	if columns == nil {
		columns = []string{"job_id", "table_name", "status", "metrics", "updated_at", "completed_at"}
	}
	var rows []string
	err := engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: columns})
		if err != nil {
			return err
		}
		for batch, err := range batches {
			if err != nil {
				return err
			}
			for i := range int(batch.NumRows()) {
				var cells []string
				for _, c := range batch.Columns() {
					cells = append(cells, c.ValueStr(i))
				}
				rows = append(rows, strings.Join(cells, " "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestJobsAreListedOnlyWhereATableIs(t *testing.T) {
	on := open(t)
	if mark, err := Exists(t.Context(), on); err != nil || mark.Listed {
		t.Errorf("got %v, %v", mark, err)
	}
	table := create(t, on, columns)
	mark, err := Exists(t.Context(), on)
	if err != nil || !mark.Listed {
		t.Fatalf("got %v, %v", mark, err)
	}
	mark.Announce(t.Context(), on, &transaction.Transaction{ID: "j'1"})
	if got := rowsOf(t, table); !cmp.Equal(got, []string{"j'1 (null) PENDING (null) (null) (null)"}) {
		t.Errorf("got %q", got)
	}
}

// A poll writes what the record says, also into a second row of the job, and adds a row only for a job that
// had the time to get one.
func TestRowsFollowTheRecord(t *testing.T) {
	on := open(t)
	table := create(t, on, columns)
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	record := &transaction.Transaction{ID: "a'b", Kind: tables.RefreshKind, Status: transactionapi.Running, Created: began, Updated: began.Add(time.Second), Rows: 5, Done: 1, Total: 2}
	for _, age := range []time.Duration{time.Second, time.Minute} {
		if _, err := write(t.Context(), table, record, began.Add(age)); err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, table); (len(got) == 1) != (age == time.Minute) {
			t.Errorf("after %v: %q", age, got)
		}
	}
	if _, err := table.Insert(t.Context(), row(columns, record)); err != nil { // by the client
		t.Fatal(err)
	}
	record.Status, record.Result = transactionapi.Succeeded, []byte(`{"rows_written":7}`)
	if _, err := write(t.Context(), table, record, began.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	want := `a'b (null) DONE ["{\"name\":\"rows_refreshed\",\"n\":7,\"total\":7,\"done\":true,\"desc\":\"rows of the view that were made\"}",` +
		`"{\"name\":\"steps\",\"n\":1,\"total\":2,\"done\":true,\"desc\":\"steps of the stage that runs\"}"] 2026-01-02T03:04:06 2026-01-02T03:04:06.000000`
	if got := rowsOf(t, table); !cmp.Equal(got, []string{want, want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The client of a table may require columns that only it fills. The row has what is known of the job in them,
// both when the request begins it and when a poll finds no row.
func TestRequiredColumnsHaveValues(t *testing.T) {
	zone := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	required := arrow.NewSchema([]arrow.Field{
		{Name: "table_name", Type: arrow.BinaryTypes.String}, {Name: "column_name", Type: arrow.BinaryTypes.String},
		{Name: "job_id", Type: arrow.BinaryTypes.String}, {Name: "job_type", Type: arrow.BinaryTypes.String},
		{Name: "object_ref", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "status", Type: arrow.BinaryTypes.String},
		{Name: "launched_at", Type: zone}, {Name: "config", Type: arrow.BinaryTypes.String},
		{Name: "later", Type: arrow.PrimitiveTypes.Int64}, {Name: "events", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	}, nil)
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fill := &transaction.Transaction{ID: "f", Kind: tables.FillKind, Object: []string{"a", "films"}, Created: began, Work: &transaction.Work{Input: []byte(`{"column":"loud"}`)}}
	refresh := &transaction.Transaction{ID: "r", Kind: tables.RefreshKind, Object: []string{"best"}, Created: began, Work: &transaction.Work{Input: []byte(`{"uid":"1"}`)}}

	on := open(t)
	table := create(t, on, required)
	Mark{Listed: true}.Announce(t.Context(), on, fill)
	if _, err := write(t.Context(), table, refresh, began.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got := rowsOf(t, table, "job_id", "table_name", "column_name", "job_type", "object_ref", "launched_at", "config", "later", "events")
	want := []string{
		"f films loud BACKFILL (null) 2026-01-02T03:04:05Z {} 0 []",
		"r best  REFRESH (null) 2026-01-02T03:04:05Z {} 0 []",
	}
	if !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A table whose columns are of other types gets what fits.
func TestColumnsOfOtherTypes(t *testing.T) {
	other := arrow.NewSchema([]arrow.Field{{Name: "status", Type: arrow.BinaryTypes.String}, {Name: "metrics", Type: arrow.PrimitiveTypes.Int64}, {Name: "updated_at", Type: arrow.PrimitiveTypes.Int64}}, nil)
	if got := assignments(other, &transaction.Transaction{Status: transactionapi.Canceled}); !cmp.Equal(got, []engine.Assignment{{Column: "status", SQL: "'CANCELLED'"}}) {
		t.Errorf("got %v", got)
	}
}
