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
	// Scan yields all rows.
	Scan(ctx context.Context) iter.Seq2[arrow.RecordBatch, error]
	// Sample yields about n rows of random places, in the order of the table. Neighbours come
	// together.
	Sample(ctx context.Context, n int64, random *rand.Rand) iter.Seq2[arrow.RecordBatch, error]
	// Keys yields what keys makes of batches of all rows, in the order of the rows. keys is called
	// on all cores.
	Keys(ctx context.Context, keys func(context.Context, arrow.RecordBatch) ([][]byte, error)) iter.Seq2[[][]byte, error]
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
