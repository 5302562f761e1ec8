package blobs_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/blobs"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/protocol"
)

// pictures is a table of a blob column and a plain one.
func pictures(t *testing.T) *engine.Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "picture", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"lance-encoding:blob": "true"})},
	}, nil)
	return enginetest.Create(t, schema, `[{"id": 1, "picture": "b25l"}, {"id": 2}, {"id": 3, "picture": ""}, {"id": 4, "picture": "Zm91cg=="}]`)
}

// fetched returns the pictures of rows as texts. The text of a null is "null".
func fetched(t *testing.T, table *engine.Table, rows ...uint64) []string {
	t.Helper()
	answer, err := blobs.Fetch(t.Context(), table, nil, "picture", rows)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for batch, err := range answer.Batches {
		if err != nil {
			t.Fatal(err)
		}
		column := batch.Column(0).(*array.LargeBinary)
		for i := range column.Len() {
			if column.IsNull(i) {
				got = append(got, "null")
			} else {
				got = append(got, string(column.Value(i)))
			}
		}
	}
	return got
}

func TestFetchKeepsTheOrderOfRows(t *testing.T) {
	got := fetched(t, pictures(t), 3, 0, 1, 2, 3)
	if d := cmp.Diff([]string{"four", "one", "null", "", "four"}, got); d != "" {
		t.Errorf("pictures (-want +got):\n%s", d)
	}
}

func TestOpenReadsPartsOfABlob(t *testing.T) {
	table := pictures(t)
	blob, err := blobs.Open(t.Context(), table, nil, "picture", 3)
	if err != nil {
		t.Fatal(err)
	}
	part, err := blob.Read(t.Context(), 1, 2)
	if err != nil || blob.Size != 4 || blob.Null || !bytes.Equal(part, []byte("ou")) {
		t.Errorf("got %q of %d bytes, error %v; want ou of 4", part, blob.Size, err)
	}
	if blob, err = blobs.Open(t.Context(), table, nil, "picture", 1); err != nil || !blob.Null {
		t.Errorf("got %+v, error %v; want null", blob, err)
	}
}

func TestFetchRefusesUnknownColumnsAndRows(t *testing.T) {
	table := pictures(t)
	for _, c := range []struct {
		column string
		row    uint64
		code   protocol.Code
	}{
		{"nothing", 0, protocol.TableColumnNotFound},
		{"id", 0, protocol.InvalidInput},
		{"picture", 4, protocol.InvalidInput},
		{"picture", 1 << 40, protocol.InvalidInput},
	} {
		_, err := blobs.Fetch(t.Context(), table, nil, c.column, []uint64{c.row})
		enginetest.WantCode(t, c.column, err, c.code)
	}
}

func TestFetchFindsBlobsAfterOtherColumnsChange(t *testing.T) {
	table, ctx := pictures(t), t.Context()
	if _, err := table.Update(ctx, []engine.Assignment{{Column: "id", SQL: "id * 10"}}, "id > 2"); err != nil {
		t.Fatal(err)
	}
	// The update moved the changed rows to a fragment of their own.
	if d := cmp.Diff([]string{"one", "null", "", "four"}, fetched(t, table, 0, 1, 1<<32, 1<<32|1)); d != "" {
		t.Errorf("pictures (-want +got):\n%s", d)
	}
	_, err := table.Update(ctx, []engine.Assignment{{Column: "picture", SQL: "'x'"}}, "")
	enginetest.WantCode(t, "assigning to blobs", err, protocol.Unsupported)
}
