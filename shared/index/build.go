package index

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

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
	// SetMetadata adds an entry to the metadata of the file.
	SetMetadata(key, value string)
	// Close ends the file. A segment of which one file is not closed cannot be committed.
	Close(ctx context.Context) error
}
