package dataset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A write starts from the versions committed before it was requested, whatever the process has
// cached.
func TestWriteBeginsOnTheNewestVersion(t *testing.T) {
	rename := []alter.Alteration{{Path: "name", Rename: "label"}}
	renamed := dataset.Rows{Schema: arrow.NewSchema([]arrow.Field{datasettest.People.Field(0), {Name: "label", Type: arrow.BinaryTypes.String, Nullable: true}, datasettest.People.Field(2)}, nil)}
	renamed.Batches = datasettest.RowsOf(datasettest.UpTo(700)...).Batches
	many := datasettest.RowsOf(datasettest.UpTo(200_000)...) // more than is kept
	for _, c := range []struct {
		name  string
		other func(ctx context.Context, d *dataset.Dataset, table *dataset.Table) error
		rows  dataset.Rows
		want  error
		count int64
	}{
		{"after an append", appended, datasettest.RowsOf(1, 2), nil, 7},
		{"after a restore", func(ctx context.Context, _ *dataset.Dataset, table *dataset.Table) error {
			_, err := table.Restore(ctx, 1)
			return err
		}, datasettest.RowsOf(1, 2), nil, 5},
		{"after an overwrite", func(ctx context.Context, _ *dataset.Dataset, table *dataset.Table) error {
			_, err := table.Overwrite(ctx, datasettest.RowsOf(9), nil)
			return err
		}, datasettest.RowsOf(1, 2), nil, 3},
		{"after a new column", func(ctx context.Context, d *dataset.Dataset, _ *dataset.Table) error {
			_, err := alter.AddColumns(ctx, d, alter.NewColumns{Schema: arrow.NewSchema([]arrow.Field{{Name: "more", Type: arrow.Null, Nullable: true}}, nil)})
			return err
		}, datasettest.RowsOf(1, 2), nil, 5},
		{"after a rename that the rows know", func(ctx context.Context, d *dataset.Dataset, _ *dataset.Table) error {
			_, err := alter.Apply(ctx, d, rename, nil)
			return err
		}, renamed, nil, 703},
		{"after a rename that the rows do not know", func(ctx context.Context, d *dataset.Dataset, _ *dataset.Table) error {
			_, err := alter.Apply(ctx, d, rename, nil)
			return err
		}, datasettest.RowsOf(1, 2), schema.ErrMismatch, 3},
		{"of many rows, after an append", appended, many, nil, 200_005},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := memstore.New()
			ours, theirs := datasettest.TableIn(store), datasettest.TableIn(store)
			datasettest.Create(t, ours, 1, 2, 3)
			d, err := theirs.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.other(t.Context(), d, theirs); err != nil {
				t.Fatal(err)
			}
			if _, err = ours.Append(t.Context(), c.rows); !errors.Is(err, c.want) {
				t.Fatalf("append: got %v, want %v", err, c.want)
			}
			latest, err := theirs.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if latest.CountRows() != c.count {
				t.Errorf("version %d has %d rows, want %d", latest.Version(), latest.CountRows(), c.count)
			}
		})
	}
}

func appended(ctx context.Context, _ *dataset.Dataset, table *dataset.Table) error {
	_, err := table.Append(ctx, datasettest.RowsOf(5, 6))
	return err
}

func TestOverwriteBeginsOnTheNewestVersion(t *testing.T) {
	store := memstore.New()
	ours, theirs := datasettest.TableIn(store), datasettest.TableIn(store)
	datasettest.Create(t, ours, 1, 2, 3)
	if _, err := theirs.Overwrite(t.Context(), datasettest.RowsOf(9), nil); err != nil {
		t.Fatal(err)
	}
	made, err := ours.Overwrite(t.Context(), datasettest.RowsOf(4), nil)
	if err != nil || made.Dataset.Version() != 3 {
		t.Fatalf("overwrite made %+v, %v, want version 3", made, err)
	}
}
