package ngram

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance"
)

const (
	// nullToken is the token of NULL texts.
	nullToken = 0
	// batchTokens is the approximate number of trigrams per batch.
	batchTokens = 1 << 16
)

// Sort sorts the trigrams of rows. Each batch has two columns: the texts, and the id of each row. A column
// that is not a string column is lance.ErrUnsupported. The caller closes the Sorter.
func Sort(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error]) (*sortkey.Sorter, error) {
	if !IsText(t) {
		return nil, fmt.Errorf("%w: an index of trigrams on values of type %s", lance.ErrUnsupported, t)
	}
	return index.SortRows(ctx, arrow.PrimitiveTypes.Uint32, func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			for tokens := range tokensOf(batch) {
				if !yield(tokens, nil) {
					return
				}
			}
		}
	})
}

// Write writes the file of a segment from sorted keys, as Sort returns them.
func Write(ctx context.Context, _ arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error {
	file, _, err := valuebitmaps.Write(ctx, format, arrow.PrimitiveTypes.Uint32, keys, out)
	if err != nil {
		return err
	}
	return file.Close(ctx)
}

var tokenSchema = arrow.NewSchema([]arrow.Field{
	{Name: format.Keys, Type: arrow.PrimitiveTypes.Uint32}, {Name: "row", Type: arrow.PrimitiveTypes.Uint64},
}, nil)

// tokensOf yields the trigrams of texts, each with its row, in batches.
func tokensOf(batch arrow.RecordBatch) iter.Seq[arrow.RecordBatch] {
	return func(yield func(arrow.RecordBatch) bool) {
		texts, ids := batch.Column(0).(interface{ Value(int) string }), batch.Column(1).(*array.Uint64)
		tokens, rows := array.NewUint32Builder(arrowmemory.DefaultAllocator), array.NewUint64Builder(arrowmemory.DefaultAllocator)
		add := func(token uint32, row uint64) {
			tokens.Append(token)
			rows.Append(row)
		}
		for i := range int(batch.NumRows()) {
			if batch.Column(0).IsNull(i) {
				add(nullToken, ids.Value(i))
			} else {
				for _, trigram := range fulltext.Trigrams(texts.Value(i)) {
					add(Token(trigram), ids.Value(i))
				}
			}
			if n := tokens.Len(); n >= batchTokens || i == int(batch.NumRows())-1 && n > 0 {
				if !yield(array.NewRecordBatch(tokenSchema, []arrow.Array{tokens.NewArray(), rows.NewArray()}, int64(n))) {
					return
				}
			}
		}
	}
}
