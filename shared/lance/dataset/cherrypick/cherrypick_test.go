package cherrypick_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/cherrypick"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// forked returns a table of three fragments, with stable row ids or without, and its branch "b".
func forked(t *testing.T, store objectstore.Store, stable bool) (table, branch *dataset.Table) {
	t.Helper()
	ctx := t.Context()
	table = datasettest.TableIn(store)
	made, err := table.CreateAs(ctx, datasettest.RowsOf(datasettest.UpTo(10)...), dataset.CreateOptions{StableRowIDs: stable})
	for n := int64(10); err == nil && n < 30; n += 10 {
		made, err = table.Append(ctx, datasettest.RowsOf(datasettest.UpTo(n + 10)[n:]...))
	}
	if err == nil {
		_, err = made.Dataset.Delete(ctx, rowset.At(datasettest.AddressesOf(t, made.Dataset, datasettest.Multiples(7))...), "")
	}
	if err == nil {
		_, err = branches.Create(ctx, table, "b", "", 0)
	}
	if err == nil {
		branch, err = branches.Open(ctx, table, "b")
	}
	if err != nil {
		t.Fatal(err)
	}
	return table, branch
}

// addTo adds columns to the newest version of a table.
func addTo(t *testing.T, table *dataset.Table, columns ...alter.NewColumns) {
	t.Helper()
	for _, c := range columns {
		d, err := table.Latest(t.Context())
		if err == nil {
			_, err = alter.AddColumns(t.Context(), d, c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func noValues(name string) alter.NewColumns {
	return alter.NewColumns{Schema: arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)}
}

func TestColumnsOfABranchComeToTheTable(t *testing.T) {
	for _, stable := range []bool{true, false} {
		t.Run(fmt.Sprintf("stable row ids %v", stable), func(t *testing.T) {
			ctx := t.Context()
			store := memstore.New()
			table, branch := forked(t, store, stable)
			addTo(t, branch, datasettest.Double("twice"), noValues("empty"), datasettest.Double("gone"))
			d, err := branch.Latest(ctx)
			if err == nil {
				_, err = alter.DropColumns(ctx, d, []string{"gone"})
			}
			if err != nil {
				t.Fatal(err)
			}
			made, diff, err := cherrypick.Apply(ctx, table, "b")
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
			if err := branches.Delete(ctx, table, "b"); err != nil {
				t.Fatal(err)
			}
			if left, err := store.List(ctx, objectstore.ListOptions{Prefix: "t.lance/tree/"}); err != nil || len(left.Objects) > 0 {
				t.Fatalf("%d objects of the branch are left (%v)", len(left.Objects), err)
			}
			now, err := datasettest.TableIn(store).Latest(ctx)
			if err != nil {
				t.Fatal(err)
			}
			datasettest.CheckDoubles(t, now, "twice")
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
	onNewest := func(table *dataset.Table, do func(d *dataset.Dataset) error) error {
		d, err := table.Latest(context.Background())
		if err != nil {
			return err
		}
		return do(d)
	}
	appended := func(table *dataset.Table) error {
		_, err := table.Append(context.Background(), datasettest.RowsOf(100))
		return err
	}
	cases := []struct {
		name string
		do   func(table, branch *dataset.Table) error
		want []cherrypick.Code
	}{
		{"nothing", func(_, _ *dataset.Table) error { return nil }, []cherrypick.Code{cherrypick.NothingToApply}},
		{"rows more", func(_, branch *dataset.Table) error { return appended(branch) },
			[]cherrypick.Code{cherrypick.RowCountMismatch, cherrypick.RowsChanged, cherrypick.NoColumnChanges}},
		{"rows that change", func(_, branch *dataset.Table) error {
			return onNewest(branch, func(d *dataset.Dataset) error {
				moved := datasettest.AddressesOf(fatal{}, d, nil)[:1]
				_, err := d.Replace(context.Background(), dataset.Replacement{Delete: rowset.At(moved...), Moved: moved, Insert: datasettest.RowsOf(1)})
				return err
			})
		}, []cherrypick.Code{cherrypick.RowsChanged, cherrypick.NoColumnChanges}},
		{"a table that goes on", func(table, _ *dataset.Table) error { return appended(table) },
			[]cherrypick.Code{cherrypick.BaseMoved, cherrypick.RowCountMismatch, cherrypick.NothingToApply}},
		{"columns less", func(_, branch *dataset.Table) error {
			return onNewest(branch, func(d *dataset.Dataset) error {
				_, err := alter.DropColumns(context.Background(), d, []string{"name"})
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnRemoved, cherrypick.NoColumnChanges}},
		{"a column of another name", func(_, branch *dataset.Table) error {
			return onNewest(branch, func(d *dataset.Dataset) error {
				_, err := alter.Apply(context.Background(), d, []alter.Alteration{{Path: "name", Rename: "called"}}, nil)
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnChanged, cherrypick.NoColumnChanges}},
		{"a column in the place of another", func(_, branch *dataset.Table) error {
			return onNewest(branch, func(d *dataset.Dataset) error {
				d, err := alter.DropColumns(context.Background(), d, []string{"name"})
				if err == nil {
					_, err = alter.AddColumns(context.Background(), d, noValues("name"))
				}
				return err
			})
		}, []cherrypick.Code{cherrypick.ColumnChanged, cherrypick.NoColumnChanges}},
		{"a column that is computed from one that went", func(_, branch *dataset.Table) error {
			return onNewest(branch, func(d *dataset.Dataset) error {
				d, err := alter.DropColumns(context.Background(), d, []string{"name"})
				if err == nil {
					c := noValues("length")
					f := c.Schema.Field(0)
					f.Metadata = arrow.NewMetadata([]string{"computed_column.inputs"}, []string{`["id","name"]`})
					c.Schema = arrow.NewSchema([]arrow.Field{f}, nil)
					_, err = alter.AddColumns(context.Background(), d, c)
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
			_, diff, err := cherrypick.Apply(t.Context(), table, "b")
			if !errors.Is(err, cherrypick.ErrNotPicked) {
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

// fatal panics, for helpers that must not fail here.
type fatal struct{}

func (fatal) Helper()                   {}
func (fatal) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (fatal) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func TestBranchesOfBranchesAreNotCherryPicked(t *testing.T) {
	ctx := t.Context()
	table, _ := forked(t, memstore.New(), true)
	if _, err := branches.Create(ctx, table, "c", "b", 0); err != nil {
		t.Fatal(err)
	}
	child, err := branches.Open(ctx, table, "c")
	if err != nil {
		t.Fatal(err)
	}
	addTo(t, child, datasettest.Double("twice"))
	diff, err := cherrypick.DiffOf(ctx, table, "c")
	if err != nil {
		t.Fatal(err)
	}
	if len(diff.Problems) != 1 || diff.Problems[0].Code != cherrypick.ParentNotMain {
		t.Errorf("problems %v, want that the parent is not the table", diff.Problems)
	}
}

// Changes of rows on both sides are counted, although rows of both sides have equal ids.
func TestRowsOfBothSidesAreCounted(t *testing.T) {
	ctx := t.Context()
	table, branch := forked(t, memstore.New(), true)
	if _, err := table.Append(ctx, datasettest.RowsOf(100, 101)); err != nil {
		t.Fatal(err)
	}
	if _, err := branch.Append(ctx, datasettest.RowsOf(200)); err != nil {
		t.Fatal(err)
	}
	d, err := table.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	moved := datasettest.AddressesOf(t, d, datasettest.WhereID(func(id int64) bool { return id < 4 })) // 1 2 3
	if _, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(moved...), Moved: moved, Insert: datasettest.RowsOf(1, 2, 3)}); err != nil {
		t.Fatal(err)
	}
	if d, err = branch.Latest(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Delete(ctx, rowset.At(datasettest.AddressesOf(t, d, datasettest.WhereID(func(id int64) bool { return id == 3 || id == 4 }))...), ""); err != nil {
		t.Fatal(err)
	}
	diff, err := cherrypick.DiffOf(ctx, table, "b")
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
	datasettest.CrashAnywhere(t, func(d *dataset.Dataset) error {
		ctx := context.Background()
		if _, _, err := d.Table().Refs().Branch(ctx, "b"); err != nil {
			if _, err := branches.Create(ctx, d.Table(), "b", "", d.Version()); err != nil {
				return err
			}
		}
		branch, err := branches.Open(ctx, d.Table(), "b")
		if err != nil {
			return err
		}
		newest, err := branch.Latest(ctx)
		if err == nil && newest.Schema().Field("twice") == nil {
			_, err = alter.AddColumns(ctx, newest, datasettest.Double("twice"))
		}
		if err == nil {
			_, _, err = cherrypick.Apply(ctx, d.Table(), "b")
		}
		return err
	}, func(d *dataset.Dataset) string {
		if d.Schema().Field("twice") == nil {
			return "as it was"
		}
		datasettest.CheckDoubles(t, d, "twice")
		return "with the column"
	})
}
