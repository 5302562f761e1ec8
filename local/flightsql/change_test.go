package flightsql

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// texts runs a statement as one that returns rows, and returns the values of a column of texts.
func texts(ctx context.Context, t *testing.T, c *flightsql.Client, text, column string) (values []string) {
	t.Helper()
	info, err := c.Execute(ctx, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rows, err := c.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		found := batch.Schema().FieldIndices(column)
		if len(found) != 1 {
			t.Fatalf("%s: got the columns %s, want %s", text, batch.Schema(), column)
		}
		for i := range int(batch.NumRows()) {
			values = append(values, batch.Column(found[0]).(*array.String).Value(i))
		}
	}
	if rows.Err() != nil {
		t.Fatalf("%s: %v", text, rows.Err())
	}
	return values
}

func TestChangesReturnTheNumberOfRows(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	for _, step := range []struct {
		text string
		want int64
	}{
		{"CREATE TABLE notes (id bigint, body text)", 0},
		{"INSERT INTO notes VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3},
		{"UPDATE notes SET body = 'x' WHERE id > 1", 2},
		{"INSERT INTO notes SELECT id, text FROM docs WHERE id BETWEEN 10 AND 13", 4},
		{"DELETE FROM notes WHERE id = 1", 1},
	} {
		got, err := c.ExecuteUpdate(ctx, step.text)
		if err != nil || got != step.want {
			t.Errorf("%s: got %d, %v, want %d", step.text, got, err, step.want)
		}
	}
	if got := texts(ctx, t, c, "SELECT CAST(count(*) AS text) AS n FROM notes", "n"); len(got) != 1 || got[0] != "6" {
		t.Errorf("got %s rows, want 6", got)
	}
	if _, err := c.ExecuteUpdate(ctx, "DELETE FROM nothing WHERE true"); status.Code(err) != codes.NotFound {
		t.Errorf("a change of a missing table: %v", err)
	}
	prepared, err := c.Prepare(ctx, "DELETE FROM notes WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	prepared.SetParameters(numbers(t, 2, 3, 99))
	if got, err := prepared.ExecuteUpdate(ctx); err != nil || got != 2 {
		t.Errorf("a prepared change of three rows of parameters: got %d, %v, want 2", got, err)
	}
}

// The end of a statement about a view is the end of its work, as the clients of LanceDB expect.
func TestViewsAreFilledWhenTheirStatementEnds(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	texts(ctx, t, c, `CREATE MATERIALIZED VIEW "late" AS SELECT id, text FROM docs WHERE id >= 4990`, "job_id")
	count := func() string { return texts(ctx, t, c, `SELECT CAST(count(*) AS text) AS n FROM "late"`, "n")[0] }
	if got := count(); got != "10" {
		t.Errorf("the view has %s rows, want 10", got)
	}
	if _, err := c.ExecuteUpdate(ctx, "DELETE FROM docs WHERE id = 4995"); err != nil {
		t.Fatal(err)
	}
	texts(ctx, t, c, `REFRESH MATERIALIZED VIEW "late" WITH (full = true)`, "job_id")
	if got := count(); got != "9" {
		t.Errorf("the refreshed view has %s rows, want 9", got)
	}
	if got := texts(ctx, t, c, "SHOW MATERIALIZED VIEWS LIMIT 3", "name"); len(got) != 1 || got[0] != "late" {
		t.Errorf("got the views %s", got)
	}
	if got := texts(ctx, t, c, `DESCRIBE MATERIALIZED VIEW "late"`, "query"); len(got) != 1 {
		t.Errorf("got the queries %s", got)
	}
	texts(ctx, t, c, `DROP MATERIALIZED VIEW "late"`, "status")
	if got := texts(ctx, t, c, "SHOW MATERIALIZED VIEWS WHERE name > 'a' LIMIT 3", "name"); len(got) != 0 {
		t.Errorf("got the views %s after the drop", got)
	}
}

// numbers is a batch of one column of integers.
func numbers(t *testing.T, values ...int64) arrow.RecordBatch {
	t.Helper()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	s := arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(values)))
}
