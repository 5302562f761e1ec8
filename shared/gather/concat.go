package gather

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Concat returns the rows of batches of one schema as one batch, in their order; of no
// batches an empty one.
func Concat(schema *arrow.Schema, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(batches) == 1 {
		return batches[0], nil
	}
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	columns := make([]arrow.Array, schema.NumFields())
	for i, f := range schema.Fields() {
		if len(batches) == 0 {
			columns[i] = array.NewBuilder(memory.DefaultAllocator, f.Type).NewArray()
			continue
		}
		parts := make([]arrow.Array, len(batches))
		for k, b := range batches {
			parts[k] = b.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return nil, fmt.Errorf("join column %s: %w", f.Name, err)
		}
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}
