package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// computedTable makes a table of three fragments with the column double, which is id * 2 and not filled.
func computedTable(t *testing.T) (*memstore.Store, *engine.Table) {
	t.Helper()
	objects := memstore.New()
	table := tableIn(objects, engine.Limits{})
	columns := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	if _, err := table.CreateAs(t.Context(), rowsJSON(t, columns, `[{"id":1},{"id":2}]`), dataset.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{`[{"id":3},{"id":4}]`, `[{"id":5},{"id":null}]`} {
		if _, err := table.Insert(t.Context(), rowsJSON(t, columns, more)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := evolution.AddComputedColumns(t.Context(), table, []engine.Assignment{{Column: "double", SQL: "id * 2"}}, computed.Schedule{}); err != nil {
		t.Fatal(err)
	}
	return objects, table
}

// doubles returns the rows of a table in the form id:double.
func doubles(t *testing.T, table *engine.Table) []string {
	t.Helper()
	var got []string
	err := engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id", "double"}})
		if err != nil {
			return err
		}
		for batch, err := range batches {
			if err != nil {
				return err
			}
			for i := range int(batch.NumRows()) {
				got = append(got, batch.Column(0).(*array.Int64).ValueStr(i)+":"+batch.Column(1).(*array.Int64).ValueStr(i))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var filledDoubles = []string{"1:2", "2:4", "3:6", "4:8", "5:10", "(null):(null)"}

func TestBackfill(t *testing.T) {
	_, table := computedTable(t)
	filled := func(b fill.Order, assigned, remaining int64, want ...string) {
		t.Helper()
		b.Column = "double"
		got, err := fill.Run(t.Context(), table, b)
		if err != nil || got.Assigned != assigned || got.Remaining != remaining {
			t.Fatalf("%+v: got %+v, %v; want %d assigned, %d remaining", b, got, err, assigned, remaining)
		}
		if rows := doubles(t, table); !slices.Equal(rows, want) {
			t.Fatalf("%+v: got rows %q, want %q", b, rows, want)
		}
	}
	filled(fill.Order{Where: "id = 4"}, 1, 0, "1:(null)", "2:(null)", "3:(null)", "4:8", "5:(null)", "(null):(null)")
	filled(fill.Order{Fragments: 1}, 2, 4, "1:2", "2:4", "3:(null)", "4:8", "5:(null)", "(null):(null)")
	filled(fill.Order{PerCommit: 1}, 3, 0, filledDoubles...)
	newest, err := table.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	filled(fill.Order{}, 0, 0, filledDoubles...)
	if now, err := table.Newest(t.Context()); err != nil || now != newest {
		t.Errorf("a backfill of nothing made version %d of %d, %v", now, newest, err)
	}
	if _, err := table.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "id + 5"}}, "id = 5"); err != nil {
		t.Fatal(err)
	}
	got, err := fill.Run(t.Context(), table, fill.Order{Column: "double"})
	if err != nil || got.Assigned == 0 {
		t.Fatalf("after an update of an input: %+v, %v", got, err)
	}
	rows := doubles(t, table)
	slices.Sort(rows)
	if want := []string{"(null):(null)", "10:20", "1:2", "2:4", "3:6", "4:8"}; !slices.Equal(rows, want) {
		t.Errorf("after an update of an input: got rows %q, want %q", rows, want)
	}
}

// Whatever call of the storage fails, each row has either no value or the right one, and another backfill
// fills all of them.
func TestBackfillThatFailsIsContinued(t *testing.T) {
	for _, fault := range []faultstore.Fault{
		{Crash: true, Err: faultstore.ErrCrashed}, {Crash: true, Lost: true}, {Lost: true},
	} {
		at := int64(1)
		for ; ; at++ {
			objects, _ := computedTable(t)
			var calls atomic.Int64
			faultAt := at // a request may outlive the backfill that began it
			faulty := tableIn(faultstore.New(objects, func(faultstore.Call) faultstore.Fault {
				if calls.Add(1) == faultAt {
					return fault
				}
				return faultstore.Fault{}
			}), engine.Limits{})
			_, _ = fill.Run(t.Context(), faulty, fill.Order{Column: "double", PerCommit: 1})
			after := tableIn(objects, engine.Limits{})
			for i, row := range doubles(t, after) {
				if id, _, _ := strings.Cut(row, ":"); row != filledDoubles[i] && row != id+":(null)" {
					t.Fatalf("call %d, %+v: got row %s", at, fault, row)
				}
			}
			if _, err := fill.Run(t.Context(), after, fill.Order{Column: "double"}); err != nil {
				t.Fatalf("call %d, %+v: %v", at, fault, err)
			}
			if rows := doubles(t, after); !slices.Equal(rows, filledDoubles) {
				t.Fatalf("call %d, %+v: got rows %q", at, fault, rows)
			}
			if calls.Load() < at {
				break
			}
		}
		if at < 10 {
			t.Fatalf("a backfill made %d calls, want 10 at least", at)
		}
	}
}

func TestBackfillsThatAreRefused(t *testing.T) {
	_, table := computedTable(t)
	if _, err := evolution.AddComputedColumns(t.Context(), table, []engine.Assignment{{Column: "four", SQL: "double * 2"}, {Column: "bad", SQL: "id / 0"}}, computed.Schedule{}); err != nil {
		t.Fatal(err)
	}
	gone := int64(99)
	for _, c := range []struct {
		order fill.Order
		code  protocol.Code
	}{
		{fill.Order{Column: "id"}, protocol.InvalidInput},
		{fill.Order{Column: "nope"}, protocol.TableColumnNotFound},
		{fill.Order{Column: "double", Where: "nope = 1"}, protocol.InvalidInput},
		{fill.Order{Column: "double", Where: "id"}, protocol.InvalidInput},
		{fill.Order{Column: "double", Version: &gone}, protocol.TableVersionNotFound},
		{fill.Order{Column: "four"}, protocol.InvalidInput}, // its input is not filled
		{fill.Order{Column: "bad"}, protocol.InvalidInput},
	} {
		_, err := fill.Run(t.Context(), table, c.order)
		var known *protocol.Error
		if !errors.As(err, &known) || known.Code != c.code {
			t.Errorf("%+v: got %v, want %v", c.order, err, c.code)
		}
	}
}

// A backfill that is stopped after each commit goes on from there: it computes each row once, also with a
// condition that holds for rows with a value, and counts all of them.
func TestBackfillGoesOnWhereItWas(t *testing.T) {
	errStop := errors.New("stop")
	for _, where := range []string{"", "id IS NOT NULL"} {
		_, table := computedTable(t)
		var from *fill.State
		runs := 0
		for ; ; runs++ {
			started := from
			var progress int64
			got, err := fill.Run(t.Context(), table, fill.Order{
				Column: "double", Where: where, Rows: 2, From: from,
				Progress: func(done, _, _ int64) { progress = max(progress, done) },
				Reached: func(_ context.Context, at fill.State) error {
					from = &at
					return errStop
				},
			})
			if err == nil {
				if got.Assigned != 5 || got.Source != 4 || progress != 3 {
					t.Errorf("where %q: got %+v and progress %d, want 5 rows of version 4 and 3 fragments", where, got, progress)
				}
				break
			}
			if !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			if started != nil && from.Next <= started.Next {
				t.Fatalf("where %q: got from fragment %d to %d", where, started.Next, from.Next)
			}
		}
		if runs != 2 {
			t.Errorf("where %q: stopped %d times, want a commit for each fragment of two rows", where, runs)
		}
		if rows := doubles(t, table); !slices.Equal(rows, filledDoubles) {
			t.Errorf("where %q: got rows %q", where, rows)
		}
		again, err := fill.Run(t.Context(), table, fill.Order{Column: "double"})
		if err != nil || where == "" && again.Published != nil {
			t.Errorf("where %q: another backfill: got %+v, %v; want nothing to do", where, again, err)
		}
	}
}

// A backfill whose version was cleaned up in the meantime goes on with the newest one.
func TestBackfillGoesOnWithoutItsVersion(t *testing.T) {
	_, table := computedTable(t)
	got, err := fill.Run(t.Context(), table, fill.Order{Column: "double", From: &fill.State{Result: fill.Result{Assigned: 2, Source: 99}, Scope: 99, Next: 1}})
	if err != nil || got.Assigned != 7 {
		t.Errorf("got %+v, %v; want the 2 rows of before and 5", got, err)
	}
}

// Failures are stored before the values of their fragment are committed.
func TestBackfillSavesBeforeItCommits(t *testing.T) {
	_, table := computedTable(t)
	saved := 0
	_, err := fill.Run(t.Context(), table, fill.Order{Column: "double", PerCommit: 1, Save: func(context.Context, int64) error {
		if saved++; saved == 2 {
			return errors.New("full")
		}
		return nil
	}})
	if err == nil || !strings.HasSuffix(err.Error(), "full") {
		t.Fatalf("got %v", err)
	}
	if rows := doubles(t, table); !slices.Equal(rows, []string{"1:2", "2:4", "3:(null)", "4:(null)", "5:(null)", "(null):(null)"}) {
		t.Errorf("got rows %q, want the first fragment filled", rows)
	}
}

func TestValuesOfComputedColumnsAreNotWritten(t *testing.T) {
	_, table := computedTable(t)
	both := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "double", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	declared := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"computed_column.kind": "sql"})},
	}, nil)
	rows := func(s *arrow.Schema) dataset.Rows { return rowsJSON(t, s, `[{"id":7}]`) } // null counts as a value
	writes := map[string]func() (engine.Written, error){
		"insert":    func() (engine.Written, error) { return table.Insert(t.Context(), rows(both)) },
		"overwrite": func() (engine.Written, error) { return table.OverwriteRows(t.Context(), rows(both)) },
		"declare":   func() (engine.Written, error) { return table.OverwriteRows(t.Context(), rows(declared)) },
		"merge": func() (engine.Written, error) {
			return table.Merge(t.Context(), rows(both), merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true})
		},
		"part": func() (engine.Written, error) {
			_, err := table.WritePart(t.Context(), rows(both), false)
			return engine.Written{}, err
		},
		"part of an overwrite": func() (engine.Written, error) {
			_, err := table.WritePart(t.Context(), rows(declared), true)
			return engine.Written{}, err
		},
	}
	for name, write := range writes {
		before, err := table.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = write()
		if protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%s: got %v, want InvalidInput", name, err)
		}
		if after, err := table.Newest(t.Context()); err != nil || after != before {
			t.Errorf("%s: made version %d of %d, %v", name, after, before, err)
		}
	}
	// Another process has dropped the column, which this one does not know yet.
	_, table = computedTable(t)
	if _, err := evolution.DropColumns(t.Context(), table, []string{"double"}); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddNullColumns(t.Context(), table, arrow.NewSchema(both.Fields()[1:], nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Insert(t.Context(), rows(both)); err != nil {
		t.Errorf("a column that is not computed any more: %v", err)
	}
}

func TestCleanupDeletesSidecarsThatNoVersionNames(t *testing.T) {
	objects, table := computedTable(t)
	sidecars := func() int {
		page, err := objects.List(t.Context(), objectstore.ListOptions{Prefix: "t.lance/_computed/"})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Objects)
	}
	for _, more := range []string{`[{"id":7}]`, `[{"id":8}]`} {
		if _, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Insert(t.Context(), rowsJSON(t, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil), more)); err != nil {
			t.Fatal(err)
		}
	}
	clean := func(before time.Time, want int) {
		t.Helper()
		if _, err := maintenance.DeleteOrphans(t.Context(), table, before, false, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := sidecars(); got != want {
			t.Errorf("%d sidecars, want %d", got, want)
		}
	}
	clean(time.Now().Add(time.Hour), 2) // versions name both
	if _, err := maintenance.ExpireVersions(t.Context(), table, cleanup.Expiry{Before: time.Now().Add(time.Hour), Keep: 1}); err != nil {
		t.Fatal(err)
	}
	clean(time.Now().Add(-time.Hour), 2) // they may belong to a commit that is being made
	clean(time.Now().Add(time.Hour), 1)
	if got, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); err != nil || got.Assigned != 1 {
		t.Errorf("after the cleanup: got %+v, %v; want the row that was inserted last", got, err)
	}
}

// A branch begins with what is known of the values of its table, and keeps what it computes itself.
func TestBranchKnowsWhichValuesAreFresh(t *testing.T) {
	objects, table := computedTable(t)
	if _, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); err != nil {
		t.Fatal(err)
	}
	if _, err := branches.Create(t.Context(), table.Data(), "b", "", 0); err != nil {
		t.Fatal(err)
	}
	branch, err := table.On(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	filled := func(want int64) {
		t.Helper()
		if got, err := fill.Run(t.Context(), branch, fill.Order{Column: "double"}); err != nil || got.Assigned != want {
			t.Errorf("got %+v, %v; want %d rows", got, err, want)
		}
	}
	filled(0)
	if _, err := branch.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "id + 5"}}, "id = 5"); err != nil {
		t.Fatal(err)
	}
	filled(1)
	filled(0)
	page, err := objects.List(t.Context(), objectstore.ListOptions{Prefix: "t.lance/tree/b/_computed/"})
	if err != nil || len(page.Objects) > 0 {
		t.Errorf("the branch has %d sidecars of its own, %v; they lie with the table", len(page.Objects), err)
	}
	before := time.Now().Add(time.Hour)
	if _, err := maintenance.DeleteOrphans(t.Context(), table, before, false, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	filled(0)
	if got, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); err != nil || got.Assigned != 0 {
		t.Errorf("the table: got %+v, %v; want nothing to do", got, err)
	}
}
