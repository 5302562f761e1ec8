package alter_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Columns are added, renamed, cast and dropped on fragments with deleted rows; one fragment has
// lost nearly all of its rows.
func TestColumnsComeAndGo(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.CreateStable(t, table, 3)
	step := func(next *dataset.Dataset, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		d = next
	}
	made, err := d.Delete(ctx, rowset.At(slices.Concat(datasettest.AddressesOf(t, d, datasettest.Multiples(3)), datasettest.AddressesOf(t, d, nil)[11:12])...), "")
	step(made.Dataset, err)
	step(alter.AddColumns(ctx, d, datasettest.Double("y")))
	datasettest.CheckDoubles(t, d, "y")
	if l := datasettest.Lineages(t, d)[1]; l.Updated != d.Version() || l.Created != 1 {
		t.Errorf("a row of which a column was added: %+v, want it updated in version %d", l, d.Version())
	}
	step(alter.AddColumns(ctx, d, alter.NewColumns{Schema: arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)}))
	step(alter.Apply(ctx, d, []alter.Alteration{{Path: "y", Rename: "z"}}, nil))
	cast := func(_ context.Context, a arrow.Array, to arrow.DataType) (arrow.Array, error) {
		b := array.NewBuilder(memory.DefaultAllocator, to)
		for i := range a.Len() {
			if err := b.AppendValueFromString(a.ValueStr(i)); err != nil {
				return nil, err
			}
		}
		return b.NewArray(), nil
	}
	step(alter.Apply(ctx, d, []alter.Alteration{{Path: "z", Type: arrow.BinaryTypes.String}}, cast))
	datasettest.CheckDoubles(t, d, "z")
	if got, want := d.Schema().Field("z").Type, arrow.DataType(arrow.BinaryTypes.String); !arrow.TypeEqual(got, want) {
		t.Errorf("z is %s, want %s", got, want)
	}
	step(alter.DropColumns(ctx, d, []string{"name", "n"}))
	var names []string
	for _, f := range d.Schema().Fields {
		names = append(names, f.Name)
	}
	if want := []string{"id", "v", "z"}; !cmp.Equal(names, want) {
		t.Errorf("columns %v, want %v", names, want)
	}
	step(alter.AddColumns(ctx, d, datasettest.Double("name"))) // the name again, another field
	datasettest.CheckDoubles(t, d, "name")
	datasettest.CheckDoubles(t, d, "z")
}

func TestAlterationsThatCannotBe(t *testing.T) {
	ctx := t.Context()
	d := datasettest.Create(t, datasettest.TableIn(memstore.New()), datasettest.UpTo(10)...)
	no := false
	for name, alterations := range map[string][]alter.Alteration{
		"nulls in a column that may have none": {{Path: "name", Nullable: &no}},
		"a name that is taken":                 {{Path: "name", Rename: "id"}},
		"two casts of one column":              {{Path: "id", Type: arrow.BinaryTypes.String}, {Path: "id", Type: arrow.PrimitiveTypes.Int8}},
	} {
		if _, err := alter.Apply(ctx, d, alterations, nil); !errors.Is(err, operation.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	var missing *snapshot.ErrNoColumn
	if _, err := alter.Apply(ctx, d, []alter.Alteration{{Path: "x"}}, nil); !errors.As(err, &missing) {
		t.Errorf("a column that is not there: %v, want ErrNoColumn", err)
	}
	if _, err := alter.DropColumns(ctx, d, []string{"id", "name", "v"}); !errors.Is(err, operation.ErrInvalid) {
		t.Errorf("dropping all columns: %v, want ErrInvalid", err)
	}
	if _, err := alter.AddColumns(ctx, d, datasettest.Double("id")); !errors.Is(err, operation.ErrInvalid) {
		t.Errorf("adding a column that is there: %v, want ErrInvalid", err)
	}
}

func TestAddedColumnIsStaleAfterAnAppend(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.Create(t, table, 1, 2)
	if _, err := table.Append(ctx, datasettest.RowsOf(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := alter.AddColumns(ctx, d, datasettest.Double("y")); !dataset.IsRowsChanged(err) {
		t.Errorf("%v, want that it be worked out again", err)
	}
}
