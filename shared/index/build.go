package index

import (
	"context"
	"iter"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Source gives the rows that an index is built of. Its batches have two columns: the values, and
// as a number what the kind of index stores of each row, the address or the id.
type Source interface {
	// Rows returns how many rows there are.
	Rows() int64
	// RowBytes is about how many bytes a value has.
	RowBytes() float64
	// StableRowIDs reports whether the rows have ids that stay when they move.
	StableRowIDs() bool
	// Scan yields rows; all if span is nil.
	Scan(ctx context.Context, span Span) iter.Seq2[arrow.RecordBatch, error]
	// Sample yields about n rows of random places, in the order of the table. Neighbours come
	// together.
	Sample(ctx context.Context, n int64, random *rand.Rand) iter.Seq2[arrow.RecordBatch, error]
	// Map yields what f makes of batches of rows, in the order of the rows; of all if span is nil. f is called on all
	// cores.
	Map(ctx context.Context, span Span, f func(context.Context, arrow.RecordBatch) (any, error)) iter.Seq2[any, error]
}

// Span returns which rows of a fragment are read: from one number to before another.
type Span = func(fragment uint64) (from, to int64)

// Map is [Source.Map] with a type.
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

// Scan yields rows, and reports them; all if span is nil.
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

// An Output takes the files of a segment that is being built. Nobody sees them before the segment is
// committed.
type Output interface {
	// Create begins a file. The metadata of the schema becomes that of the file.
	Create(ctx context.Context, name string, schema *arrow.Schema) (FileWriter, error)
}

// A FileWriter writes one file of a segment. It takes memory of the context's share for what it
// holds back.
type FileWriter interface {
	// Write adds rows, whose columns are those of the schema.
	Write(ctx context.Context, rows arrow.RecordBatch) error
	// AddBuffer writes a global buffer, which belongs to no column, and returns its number. Metadata
	// refer to it by that.
	AddBuffer(b []byte) (int, error)
	// SetMetadata adds an entry to the metadata of the file.
	SetMetadata(key, value string)
	// Close ends the file. A segment of which one file is not closed cannot be committed.
	Close(ctx context.Context) error
}
