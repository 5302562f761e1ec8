package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
)

// A table in a directory: write it, print its schema, scan one column, append, read again.
//
// A table on S3 is the same but for its store and URI, with cfg from the AWS SDK:
//
//	client, err := s3store.NewClient(cfg)
//	store, err := s3store.New(client, "bucket", "", slog.Default())
//	at := objectstore.Location{URI: "s3://bucket/points.lance", Store: store, Prefix: "points.lance"}
func Example() {
	root, err := os.MkdirTemp("", "tables")
	if err != nil {
		log.Fatal(err)
	}
	err = example(context.Background(), root)
	if err := errors.Join(err, os.RemoveAll(root)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// id int64
	// name utf8
	// version 1, 3 rows: a b c
	// version 2, 4 rows: a b c d
}

func example(ctx context.Context, root string) error {
	store, err := diskstore.Open(root)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	at := objectstore.Location{URI: "file://" + root + "/points.lance", Store: store, Prefix: "points.lance"}
	table := dataset.NewSession(0, time.Now).Table(at, 0)
	if _, err := table.Create(ctx, points([]int64{1, 2, 3}, []string{"a", "b", "c"})); err != nil {
		return err
	}

	latest, err := table.Latest(ctx)
	if err != nil {
		return err
	}
	for _, field := range latest.ArrowSchema().Fields() {
		fmt.Println(field.Name, field.Type)
	}
	if err := printNames(ctx, latest); err != nil {
		return err
	}

	if _, err := table.Append(ctx, points([]int64{4}, []string{"d"})); err != nil {
		return err
	}
	if latest, err = table.Latest(ctx); err != nil {
		return err
	}
	return printNames(ctx, latest)
}

// printNames scans one column. Batches come in row order; their sizes are not defined.
func printNames(ctx context.Context, d *dataset.Dataset) error {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"name"}})
	if err != nil {
		return err
	}
	fmt.Printf("version %d, %d rows:", d.Version(), d.CountRows())
	for batch, err := range batches {
		if err != nil {
			return err
		}
		names := batch.Column(0).(*array.String)
		for i := range names.Len() {
			fmt.Print(" ", names.Value(i))
		}
	}
	fmt.Println()
	return nil
}

// points are rows to write: any number of batches of one schema, here a single one.
func points(ids []int64, names []string) dataset.Rows {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rows := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	rows.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	rows.Field(1).(*array.StringBuilder).AppendValues(names, nil)
	batch := rows.NewRecordBatch()
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}
