package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/cherrypick"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
)

// forked returns a table of three fragments, with stable row ids or without, and its branch "b".
func forked(t *testing.T, store objectstore.Store, stable bool) (table, branch *Table) {
	t.Helper()
	ctx := t.Context()
	table = tableIn(store)
	made, err := table.CreateAs(ctx, rowsOf(datasettest.UpTo(10)...), CreateOptions{StableRowIDs: stable})
	for n := int64(10); err == nil && n < 30; n += 10 {
		made, err = table.Append(ctx, rowsOf(datasettest.UpTo(n + 10)[n:]...))
	}
	if err == nil {
		_, err = made.Dataset.Delete(ctx, rowset.At(datasettest.AddressesOf(t, made.Dataset, datasettest.Multiples(7))...), "")
	}
	if err == nil {
		_, err = table.CreateBranch(ctx, "b", "", 0)
	}
	if err == nil {
		branch, err = table.OpenBranch(ctx, "b")
	}
	if err != nil {
		t.Fatal(err)
	}
	return table, branch
}

// addTo adds columns to the newest version of a table.
func addTo(t *testing.T, table *Table, columns ...NewColumns) {
	t.Helper()
	for _, c := range columns {
		d, err := table.Latest(t.Context())
		if err == nil {
			_, err = d.AddColumns(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func noValues(name string) NewColumns {
	return NewColumns{Schema: arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)}
}

func TestColumnsOfABranchComeToTheTable(t *testing.T) {
	for _, stable := range []bool{true, false} {
		t.Run(fmt.Sprintf("stable row ids %v", stable), func(t *testing.T) {
			ctx := t.Context()
			store := memstore.New()
			table, branch := forked(t, store, stable)
			addTo(t, branch, double("twice"), noValues("empty"), double("gone"))
			d, err := branch.Latest(ctx)
			if err == nil {
				_, err = d.DropColumns(ctx, []string{"gone"})
			}
			if err != nil {
				t.Fatal(err)
			}
			made, diff, err := table.CherryPick(ctx, "b")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := made.Version(), diff.Fork.Version()+1; got != want {
				t.Errorf("version %d, want %d", got, want)
			}
			if got := diff.Rows; got != (cherrypick.Rows{Unchanged: 25, Known: true}) {
				t.Errorf("rows %+v, want 25 that are unchanged", got)
			}
			// The files of the branch go with it.
			if err := table.DeleteBranch(ctx, "b"); err != nil {
				t.Fatal(err)
			}
			if left, err := store.List(ctx, objectstore.ListOptions{Prefix: "t.lance/tree/"}); err != nil || len(left.Objects) > 0 {
				t.Fatalf("%d objects of the branch are left (%v)", len(left.Objects), err)
			}
			now, err := tableIn(store).Latest(ctx)
			if err != nil {
				t.Fatal(err)
			}
			checkDoubles(t, now, "twice")
			if got, want := now.CountRows(), int64(25); got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
			var names []string
			for _, f := range now.Schema().Fields {
				names = append(names, f.Name)
			}
			if diff := cmp.Diff([]string{"id", "name", "v", "twice", "empty"}, names); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			datasettest.IDsOf(t, now, snapshot.ScanOptions{})
		})
	}
}

func TestBranchesThatCannotBeCherryPicked(t *testing.T) {
	onNewest := func(table *Table, do func(d *Dataset) error) error {
		d, err := table.Latest(context.Background())
		if err != nil {
			return err
		}
		return do(d)
	}
	appended := func(table *Table) error {
		_, err := table.Append(context.Background(), rowsOf(100))
		return err
	}
	cases := []struct {
		name string
		do   func(table, branch *Table) error
		want []cherrypick.Code
	}{
		{"nothing", func(_, _ *Table) error { return nil }, []cherrypick.Code{cherrypick.NothingToApply}},
		{"rows more", func(_, branch *Table) error { return appended(branch) },
			[]cherrypick.Code{cherrypick.RowCountMismatch, cherrypick.RowsChanged, cherrypick.NoColumnChanges}},
		{"rows that change", func(_, branch *Table) error {
			return onNewest(branch, func(d *Dataset) error {
				moved := datasettest.AddressesOf(fatal{}, d, nil)[:1]
				_, err := d.Replace(context.Background(), Replacement{Delete: rowset.At(moved...), Moved: moved, Insert: rowsOf(1)})
				return err
			})
		}, []cherrypick.Code{cherrypick.RowsChanged, cherrypick.NoColumnChanges}},
		{"a table that goes on", func(table, _ *Table) error { return appended(table) },
			[]cherrypick.Code{cherrypick.BaseMoved, cherrypick.RowCountMismatch, cherrypick.NothingToApply}},
		{"columns less", func(_, branch *Table) error {
			return onNewest(branch, func(d *Dataset) error {
				_, err := d.DropColumns(context.Background(), []string{"name"})
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnRemoved, cherrypick.NoColumnChanges}},
		{"a column of another name", func(_, branch *Table) error {
			return onNewest(branch, func(d *Dataset) error {
				_, err := d.AlterColumns(context.Background(), []alter.Alteration{{Path: "name", Rename: "called"}}, nil)
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnChanged, cherrypick.NoColumnChanges}},
		{"a column in the place of another", func(_, branch *Table) error {
			return onNewest(branch, func(d *Dataset) error {
				d, err := d.DropColumns(context.Background(), []string{"name"})
				if err == nil {
					_, err = d.AddColumns(context.Background(), noValues("name"))
				}
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnChanged, cherrypick.NoColumnChanges}},
		{"a column that is computed from one that went", func(_, branch *Table) error {
			return onNewest(branch, func(d *Dataset) error {
				d, err := d.DropColumns(context.Background(), []string{"name"})
				if err == nil {
					c := noValues("length")
					f := c.Schema.Field(0)
					f.Metadata = arrow.NewMetadata([]string{"computed_column.inputs"}, []string{`["id","name"]`})
					c.Schema = arrow.NewSchema([]arrow.Field{f}, nil)
					_, err = d.AddColumns(context.Background(), c)
				}
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnRemoved, cherrypick.InputColumnDependency}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table, branch := forked(t, memstore.New(), true)
			if err := c.do(table, branch); err != nil {
				t.Fatal(err)
			}
			before, err := table.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, diff, err := table.CherryPick(t.Context(), "b")
			if !errors.Is(err, ErrNotPicked) {
				t.Fatalf("got %v, want ErrNotPicked", err)
			}
			var got []cherrypick.Code
			for _, p := range diff.Problems {
				got = append(got, p.Code)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("problems %v, want %v", got, c.want)
			}
			if after, err := table.Latest(t.Context()); err != nil || after.Version() != before.Version() {
				t.Errorf("the table is at another version than %d (%v)", before.Version(), err)
			}
		})
	}
}

// fatal fails what cannot fail.
type fatal struct{}

func (fatal) Helper()                   {}
func (fatal) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (fatal) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func TestBranchesOfBranchesAreNotCherryPicked(t *testing.T) {
	ctx := t.Context()
	table, _ := forked(t, memstore.New(), true)
	if _, err := table.CreateBranch(ctx, "c", "b", 0); err != nil {
		t.Fatal(err)
	}
	child, err := table.OpenBranch(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	addTo(t, child, double("twice"))
	diff, err := table.DiffBranch(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	if len(diff.Problems) != 1 || diff.Problems[0].Code != cherrypick.ParentNotMain {
		t.Errorf("problems %v, want that the parent is not the table", diff.Problems)
	}
}

// What both sides did to rows since the fork is counted, although rows of both have the same ids.
func TestRowsOfBothSidesAreCounted(t *testing.T) {
	ctx := t.Context()
	table, branch := forked(t, memstore.New(), true)
	if _, err := table.Append(ctx, rowsOf(100, 101)); err != nil {
		t.Fatal(err)
	}
	if _, err := branch.Append(ctx, rowsOf(200)); err != nil {
		t.Fatal(err)
	}
	d, err := table.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	moved := datasettest.AddressesOf(t, d, datasettest.WhereID(func(id int64) bool { return id < 4 })) // 1 2 3
	if _, err := d.Replace(ctx, Replacement{Delete: rowset.At(moved...), Moved: moved, Insert: rowsOf(1, 2, 3)}); err != nil {
		t.Fatal(err)
	}
	if d, err = branch.Latest(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.WhereID(func(id int64) bool { return id == 3 || id == 4 }))...), ""); err != nil {
		t.Fatal(err)
	}
	diff, err := table.DiffBranch(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	want := cherrypick.Rows{Unchanged: 25 - 4, NewOnMain: 2, NewOnBranch: 1, Changed: 3, Stale: 2, Known: true}
	if diff.Rows != want {
		t.Errorf("rows %+v, want %+v", diff.Rows, want)
	}
}

// A cherry-pick that ends anywhere leaves the table as it was, or with all columns.
func TestCherryPickSurvivesACrashAnywhere(t *testing.T) {
	crashAnywhere(t, func(d *Dataset) error {
		ctx := context.Background()
		if _, err := d.table.BranchInfo(ctx, "b"); err != nil {
			if _, err := d.table.CreateBranch(ctx, "b", "", d.Version()); err != nil {
				return err
			}
		}
		branch, err := d.table.OpenBranch(ctx, "b")
		if err != nil {
			return err
		}
		newest, err := branch.Latest(ctx)
		if err == nil && newest.Schema().Field("twice") == nil {
			_, err = newest.AddColumns(ctx, double("twice"))
		}
		if err == nil {
			_, _, err = d.table.CherryPick(ctx, "b")
		}
		return err
	}, func(d *Dataset) string {
		if d.Schema().Field("twice") == nil {
			return "as it was"
		}
		checkDoubles(t, d, "twice")
		return "with the column"
	})
}
