package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/objectstore/memstore"
)

// double is a new column of twice the id.
func double(name string) NewColumns {
	s := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64}}, nil)
	return NewColumns{Schema: s, Read: []string{"id"}, Values: func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for _, id := range batch.Column(0).(*array.Int64).Int64Values() {
			b.Append(2 * id)
		}
		return array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, batch.NumRows()), nil
	}}
}

func checkDoubles(t datasettest.Fataler, d *Dataset, column string) {
	t.Helper()
	_, batches, err := d.Scan(context.Background(), snapshot.ScanOptions{Columns: []string{"id", column}})
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range batch.Column(0).(*array.Int64).Int64Values() {
			if got, want := batch.Column(1).ValueStr(i), fmt.Sprint(2*id); got != want {
				t.Fatalf("%s of row %d is %s, want %s", column, id, got, want)
			}
		}
	}
}

// Columns are added, renamed, cast and dropped on fragments with deleted rows, one of which has
// lost nearly all of its rows.
func TestColumnsComeAndGo(t *testing.T) {
	ctx := t.Context()
	table := tableIn(memstore.New())
	d := createStable(t, table, 3)
	step := func(next *Dataset, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		d = next
	}
	made, err := d.Delete(ctx, rowset.At(slices.Concat(datasettest.AddressesOf(t, d, datasettest.Multiples(3)), datasettest.AddressesOf(t, d, nil)[11:12])...), "")
	step(made.Dataset, err)
	step(d.AddColumns(ctx, double("y")))
	checkDoubles(t, d, "y")
	if l := lineages(t, d)[1]; l.Updated != d.Version() || l.Created != 1 {
		t.Errorf("a row of which a column was added: %+v, want it updated in version %d", l, d.Version())
	}
	step(d.AddColumns(ctx, NewColumns{Schema: arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)}))
	step(d.AlterColumns(ctx, []alter.Alteration{{Path: "y", Rename: "z"}}, nil))
	cast := func(_ context.Context, a arrow.Array, to arrow.DataType) (arrow.Array, error) {
		b := array.NewBuilder(memory.DefaultAllocator, to)
		for i := range a.Len() {
			if err := b.AppendValueFromString(a.ValueStr(i)); err != nil {
				return nil, err
			}
		}
		return b.NewArray(), nil
	}
	step(d.AlterColumns(ctx, []alter.Alteration{{Path: "z", Type: arrow.BinaryTypes.String}}, cast))
	checkDoubles(t, d, "z")
	if got, want := d.Schema().Field("z").Type, arrow.DataType(arrow.BinaryTypes.String); !arrow.TypeEqual(got, want) {
		t.Errorf("z is %s, want %s", got, want)
	}
	step(d.DropColumns(ctx, []string{"name", "n"}))
	var names []string
	for _, f := range d.Schema().Fields {
		names = append(names, f.Name)
	}
	if want := []string{"id", "v", "z"}; !cmp.Equal(names, want) {
		t.Errorf("columns %v, want %v", names, want)
	}
	step(d.AddColumns(ctx, double("name"))) // the name again, another field
	checkDoubles(t, d, "name")
	checkDoubles(t, d, "z")
}

func TestAlterationsThatCannotBe(t *testing.T) {
	ctx := t.Context()
	d := mustCreate(t, tableIn(memstore.New()), datasettest.UpTo(10)...)
	no := false
	for name, alterations := range map[string][]alter.Alteration{
		"nulls in a column that may have none": {{Path: "name", Nullable: &no}},
		"a name that is taken":                 {{Path: "name", Rename: "id"}},
		"two casts of one column":              {{Path: "id", Type: arrow.BinaryTypes.String}, {Path: "id", Type: arrow.PrimitiveTypes.Int8}},
	} {
		if _, err := d.AlterColumns(ctx, alterations, nil); !errors.Is(err, operation.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	var missing *snapshot.ErrNoColumn
	if _, err := d.AlterColumns(ctx, []alter.Alteration{{Path: "x"}}, nil); !errors.As(err, &missing) {
		t.Errorf("a column that is not there: %v, want ErrNoColumn", err)
	}
	if _, err := d.DropColumns(ctx, []string{"id", "name", "v"}); !errors.Is(err, operation.ErrInvalid) {
		t.Errorf("dropping all columns: %v, want ErrInvalid", err)
	}
	if _, err := d.AddColumns(ctx, double("id")); !errors.Is(err, operation.ErrInvalid) {
		t.Errorf("adding a column that is there: %v, want ErrInvalid", err)
	}
}

func TestAddedColumnIsStaleAfterAnAppend(t *testing.T) {
	ctx := t.Context()
	table := tableIn(memstore.New())
	d := mustCreate(t, table, 1, 2)
	if _, err := table.Append(ctx, rowsOf(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AddColumns(ctx, double("y")); !IsRowsChanged(err) {
		t.Errorf("%v, want that it be worked out again", err)
	}
}
