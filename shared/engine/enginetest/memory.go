package enginetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
)

// WithMemory returns a context whose request may use a number of bytes, and the account of the request. When the test ends,
// it fails if some of the bytes were not released.
func WithMemory(t testing.TB, bytes int64) (context.Context, *memory.Share) {
	t.Helper()
	budget := memory.NewBudget(bytes, bytes)
	share := budget.Open()
	t.Cleanup(func() {
		share.Close()
		if held := budget.Usage().Held; held != 0 {
			t.Errorf("the budget has %d bytes too few", held)
		}
	})
	return memory.WithShare(t.Context(), share), share
}

// Numbered makes rows with the numbers from (included) to to (excluded). They have the columns key, a text, n, the number,
// and text, which has the given number of bytes. A batch has at most 4,096 rows.
func Numbered(from, to, bytes int) dataset.Rows {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	text := strings.Repeat("x", bytes)
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for at := from; at < to; at += 4096 {
			rows := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
			for n := at; n < min(at+4096, to); n++ {
				rows.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("the key of the row of number %d", n))
				rows.Field(1).(*array.Int64Builder).Append(int64(n))
				rows.Field(2).(*array.StringBuilder).Append(text)
			}
			if !yield(rows.NewRecordBatch(), nil) {
				return
			}
		}
	}}
}

// LongTexts makes a table with the columns id, the number of the row, and d, a dictionary of texts of the given number of
// bytes. Row n has the text of number n % texts; texts of higher numbers sort first. A row takes a few bytes. All texts of
// the rows, without a dictionary, could take more memory than a machine has.
func LongTexts(t testing.TB, rows, texts, bytes int) *engine.Table {
	t.Helper()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	columns := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "d", Type: typ, Nullable: true},
	}, nil)
	values := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	for n := range texts {
		values.Append(strings.Repeat("x", bytes) + string(rune('a'+texts-n)))
	}
	ids, indices := array.NewInt64Builder(arrowmemory.DefaultAllocator), array.NewInt8Builder(arrowmemory.DefaultAllocator)
	for i := range rows {
		ids.Append(int64(i))
		indices.Append(int8(i % texts))
	}
	batch := array.NewRecordBatch(columns, []arrow.Array{ids.NewArray(), array.NewDictionaryArray(typ, indices.NewArray(), values.NewArray())}, int64(rows))
	return CreateOf(t, dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}, dataset.CreateOptions{})
}
