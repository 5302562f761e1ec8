package client_test

import (
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/service/all/alltest"
)

// open returns a client of a new server.
func open(t *testing.T) *client.Client { return openBehind(t, nil) }

// openBehind returns a client of a new server behind a proxy.
func openBehind(t *testing.T, wrap func(http.Handler) http.Handler) *client.Client {
	t.Helper()
	server, err := alltest.Serve(wrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{Token: alltest.Token})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serveExample returns a client of a new server for an example, which ends with the process.
func serveExample() *client.Client {
	server, err := alltest.Serve(nil)
	if err == nil {
		var c *client.Client
		if c, err = client.New(server.URL, client.Options{Token: alltest.Token}); err == nil {
			return c
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
	return nil
}

var pointSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

// points are rows with these ids.
func points(ids ...int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, pointSchema)
	defer b.Release()
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("point %d", id))
		list := b.Field(2).(*array.FixedSizeListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(id), float32(id) / 2}, nil)
	}
	return b.NewRecordBatch()
}

// ok fails the test on an error.
func ok[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// collect returns all entries of a list.
func collect[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for entry, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	return all
}

// createPoints makes a table with these ids.
func createPoints(t *testing.T, c *client.Client, name string, ids ...int64) {
	t.Helper()
	if _, err := c.CreateTable(t.Context(), &dataapi.CreateTableRequest{Common: client.ID(name)}, client.Batches(pointSchema, points(ids...))); err != nil {
		t.Fatal(err)
	}
}

// idsOf returns the column id of all rows in the form 1 2 3, and closes the rows.
func idsOf(t *testing.T, rows *client.Rows) string {
	t.Helper()
	defer rows.Close()
	var ids []string
	for batch, err := range rows.Batches() {
		if err != nil {
			t.Fatal(err)
		}
		at := batch.Schema().FieldIndices("id")
		if len(at) != 1 {
			t.Fatalf("the columns are %v, want one named id", batch.Schema().Fields())
		}
		for i := range int(batch.NumRows()) {
			ids = append(ids, batch.Column(at[0]).ValueStr(i))
		}
	}
	return strings.Join(ids, " ")
}

var blobSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "b", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"lance-encoding:blob": "true"})},
}, nil)

// blobs are rows of these values; nil is null.
func blobs(values ...[]byte) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, blobSchema)
	defer b.Release()
	for i, value := range values {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if value == nil {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.BinaryBuilder).Append(value)
		}
	}
	return b.NewRecordBatch()
}
