package fill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

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

func TestRunFillsRowsWithoutAValue(t *testing.T) {
	_, table := enginetest.CreateComputed(t)
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
		t.Errorf("a run without rows to fill made version %d of %d, %v", now, newest, err)
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

// Whichever call of the storage fails, each row has either no value or the correct one, and another run fills all rows.
func TestRunContinuesAfterAnyStorageFault(t *testing.T) {
	for _, fault := range []faultstore.Fault{
		{Crash: true, Err: faultstore.ErrCrashed}, {Crash: true, Lost: true}, {Lost: true},
	} {
		at := int64(1)
		for ; ; at++ {
			objects, _ := enginetest.CreateComputed(t)
			var calls atomic.Int64
			faultAt := at // a request may outlive the run that began it
			faulty := enginetest.Table(faultstore.New(objects, func(faultstore.Call) faultstore.Fault {
				if calls.Add(1) == faultAt {
					return fault
				}
				return faultstore.Fault{}
			}), engine.Limits{})
			_, _ = fill.Run(t.Context(), faulty, fill.Order{Column: "double", PerCommit: 1})
			after := enginetest.Table(objects, engine.Limits{})
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
			t.Fatalf("a run made %d calls, want at least 10", at)
		}
	}
}

func TestRunRefusesInvalidOrders(t *testing.T) {
	_, table := enginetest.CreateComputed(t)
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
		{fill.Order{Column: "four"}, protocol.InvalidInput}, // its input has rows without a value
		{fill.Order{Column: "bad"}, protocol.InvalidInput},
	} {
		_, err := fill.Run(t.Context(), table, c.order)
		var known *protocol.Error
		if !errors.As(err, &known) || known.Code != c.code {
			t.Errorf("%+v: got %v, want %v", c.order, err, c.code)
		}
	}
}

// A run that is stopped after each commit continues from there: it computes each row once, also if its condition is true for
// rows with a value, and counts all of them.
func TestRunContinuesFromItsState(t *testing.T) {
	errStop := errors.New("stop")
	for _, where := range []string{"", "id IS NOT NULL"} {
		_, table := enginetest.CreateComputed(t)
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
			t.Errorf("where %q: another run: got %+v, %v; want nothing to do", where, again, err)
		}
	}
}

// A run whose source version was cleaned up continues on the newest version.
func TestRunContinuesWithoutItsSourceVersion(t *testing.T) {
	_, table := enginetest.CreateComputed(t)
	got, err := fill.Run(t.Context(), table, fill.Order{Column: "double", From: &fill.State{Result: fill.Result{Assigned: 2, Source: 99}, Scope: 99, Next: 1}})
	if err != nil || got.Assigned != 7 {
		t.Errorf("got %+v, %v; want the 2 rows of before and 5", got, err)
	}
}

// Failures are stored before the values of their fragment are committed.
func TestRunSavesFailuresBeforeItCommits(t *testing.T) {
	_, table := enginetest.CreateComputed(t)
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

// A branch inherits which values of its table are current, and records the values that it computes itself.
func TestRunOnABranchFillsOnlyStaleValues(t *testing.T) {
	objects, table := enginetest.CreateComputed(t)
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
		t.Errorf("the branch has %d sidecars of its own, %v; want them in the folder of the table", len(page.Objects), err)
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
