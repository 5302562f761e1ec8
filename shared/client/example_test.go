package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
)

// A table is made of record batches, and searched for the rows nearest to a vector.
func Example() {
	ctx := context.Background()
	c := serveExample() // client.New("http://127.0.0.1:10024", client.Options{Token: token})

	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	vectors := b.Field(1).(*array.FixedSizeListBuilder)
	vectors.AppendValues([]bool{true, true, true})
	vectors.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{0, 0, 3, 4, 6, 8}, nil)
	batch := b.NewRecordBatch()

	if _, err := c.CreateTable(ctx, &dataapi.CreateTableRequest{Common: client.ID("points")}, client.Batches(schema, batch)); err != nil {
		log.Fatal(err)
	}
	if err := printNearest(ctx, c); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 1
	// 3 34
}

// printNearest prints the two points nearest to one.
func printNearest(ctx context.Context, c *client.Client) error {
	rows, err := c.QueryTable(ctx, &queryapi.Request{
		Common: client.ID("points"),
		Vector: queryapi.Vector{Vectors: [][]float64{{3, 3}}},
		Filter: "id > 1", Prefilter: true, K: new(int64(2)),
		Columns: queryapi.Projection{{Name: "id"}, {Name: "_distance"}},
	})
	if err != nil {
		return err
	}
	defer rows.Close()
	for batch, err := range rows.Batches() {
		if err != nil {
			return err
		}
		for i := range int(batch.NumRows()) {
			fmt.Println(batch.Column(0).ValueStr(i), batch.Column(1).ValueStr(i))
		}
	}
	return nil
}

// Programs act on the code of a refusal.
func ExampleError() {
	c := serveExample()
	_, err := c.DescribeTable(context.Background(), &tableapi.DescribeRequest{Common: client.ID("points")})
	switch refusal := (*client.Error)(nil); {
	case errors.Is(err, protocol.TableNotFound):
		fmt.Println("there is no such table")
	case errors.As(err, &refusal):
		fmt.Println("request", refusal.RequestID, "was refused:", refusal)
	}
	// Output: there is no such table
}

// A list of any length is read page by page.
func ExampleClient_Tables() {
	ctx := context.Background()
	c := serveExample()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := c.DeclareTable(ctx, &tableapi.DeclareRequest{Common: client.ID(name)}); err != nil {
			log.Fatal(err)
		}
	}
	for name, err := range c.Tables(ctx, &tableapi.ListRequest{Page: protocol.Page{Limit: new(int64(2))}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name)
	}
	// Output:
	// a
	// b
	// c
}

// An index is built by a job.
func ExampleClient_Wait() {
	ctx := context.Background()
	c := serveExample()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	if _, err := c.CreateTable(ctx, &dataapi.CreateTableRequest{Common: client.ID("t")}, client.Batches(schema)); err != nil {
		log.Fatal(err)
	}
	begun, err := c.CreateTableIndex(ctx, &indexapi.CreateRequest{Common: client.ID("t"), Column: "id", Type: "BTREE"})
	if err != nil {
		log.Fatal(err)
	}
	job, err := c.Wait(ctx, begun.JobID, func(job *jobapi.DescribeResponse) {
		if p := job.Progress; p != nil {
			log.Printf("%s: %d of %d steps", p.Stage, p.StepsDone, p.Steps)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.JobState)
	// Output: DONE
}

// The rows of an upload can be made while they are sent.
func ExampleSource() {
	ctx := context.Background()
	c := serveExample()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	source := client.Source{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for part := range int64(10) {
			for i := range int64(1000) {
				b.Field(0).(*array.Int64Builder).Append(part*1000 + i)
			}
			if !yield(b.NewRecordBatch(), nil) {
				return
			}
		}
	}}
	if _, err := c.CreateTable(ctx, &dataapi.CreateTableRequest{Common: client.ID("t")}, source); err != nil {
		log.Fatal(err)
	}
	count, err := c.CountTableRows(ctx, &queryapi.CountRowsRequest{Common: client.ID("t"), Predicate: "id >= 5000"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(count.Count)
	// Output: 5000
}
