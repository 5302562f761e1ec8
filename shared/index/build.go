package index

import (
	"context"
	"iter"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Source provides the rows to index. Its batches have two columns: the values, and the u64 that the index
// stores for each row, which is an address or an id.
type Source interface {
	// Rows returns the number of rows.
	Rows() int64
	// RowBytes returns the approximate size of a value in bytes.
	RowBytes() float64
	// StableRowIDs reports whether the rows have ids that stay when they move.
	StableRowIDs() bool
	// Scan yields rows; all if span is nil.
	Scan(ctx context.Context, span Span) iter.Seq2[arrow.RecordBatch, error]
	// Sample yields about n rows of random places, in the order of the table. Neighbours come
	// together.
	Sample(ctx context.Context, n int64, random *rand.Rand) iter.Seq2[arrow.RecordBatch, error]
	// Map calls f with batches of rows, on all cores, and yields the results in the order of the rows. A
	// nil span selects all rows.
	Map(ctx context.Context, span Span, f func(context.Context, arrow.RecordBatch) (any, error)) iter.Seq2[any, error]
}

// A Span returns the rows [from, to) of a fragment that are read.
type Span = func(fragment uint64) (from, to int64)

// Map is a typed [Source.Map].
func Map[T any](ctx context.Context, rows Source, span Span, f func(context.Context, arrow.RecordBatch) (T, error)) iter.Seq2[T, error] {
	made := rows.Map(ctx, span, func(ctx context.Context, batch arrow.RecordBatch) (any, error) { return f(ctx, batch) })
	return func(yield func(T, error) bool) {
		for value, err := range made {
			t, _ := value.(T)
			if !yield(t, err) {
				return
			}
		}
	}
}

// Scan yields the rows of a span and reports progress to Watch. A nil span selects all rows.
func (b Build) Scan(ctx context.Context, span Span) iter.Seq2[arrow.RecordBatch, error] {
	rows := b.Rows.Scan(ctx, span)
	if b.Watch == nil {
		return rows
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows {
			if err == nil {
				b.Watch(batch.NumRows())
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

// An Output receives the files of a new segment. They are invisible to readers until the segment is
// committed.
type Output interface {
	// Create begins a file. The metadata of the schema becomes that of the file.
	Create(ctx context.Context, name string, schema *arrow.Schema) (FileWriter, error)
}

// A FileWriter writes one file of a segment. Buffered rows are accounted to the context's memory share.
type FileWriter interface {
	// Write appends rows, whose columns follow the schema.
	Write(ctx context.Context, rows arrow.RecordBatch) error
	// AddBuffer writes a global buffer, which belongs to no column, and returns its number, by which
	// metadata refer to it.
	AddBuffer(b []byte) (int, error)
	// SetMetadata adds an entry to the metadata of the file.
	SetMetadata(key, value string)
	// Close completes the file. A segment can only be committed when all of its files are closed.
	Close(ctx context.Context) error
}
