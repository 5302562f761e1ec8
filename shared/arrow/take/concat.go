package take

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Concat returns the rows of batches of one schema as one batch, in their order; without batches an empty
// one. Dictionaries are merged to one with the used values. If these are too many for the column's index
// type, the result has a wider index type than the schema.
func Concat(schema *arrow.Schema, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(batches) == 1 {
		return batches[0], nil
	}
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	fields := schema.Fields()
	columns := make([]arrow.Array, len(fields))
	for i, f := range fields {
		parts := make([]arrow.Array, 0, len(batches))
		for _, b := range batches {
			if b.NumRows() > 0 {
				parts = append(parts, b.Column(i))
			}
		}
		var err error
		if columns[i], err = concat(f.Type, parts); err != nil {
			return nil, fmt.Errorf("join column %s: %w", f.Name, err)
		}
		fields[i].Type = columns[i].DataType()
	}
	metadata := schema.Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &metadata), columns, rows), nil
}

func concat(t arrow.DataType, parts []arrow.Array) (arrow.Array, error) {
	switch {
	case len(parts) == 0:
		return Nulls(t, 0), nil
	case len(parts) == 1:
		return parts[0], nil
	case !HasDictionary(t):
		return array.Concatenate(parts, memory.DefaultAllocator)
	}
	return concatDictionaries(parts)
}
