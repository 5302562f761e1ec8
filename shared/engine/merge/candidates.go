package merge

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// maxLookups bounds the rows of a source whose keys are looked up in an index.
const maxLookups = 1 << 14

// candidates returns a function that finds the rows of a version that may match the source, by an
// index on one of the key columns. It returns nil if the source has too many rows or is not held in
// memory.
func (s *Source) candidates(d *dataset.Dataset, on []string, having Having) func(context.Context) (*snapshot.Candidates, error) {
	if s.rows == 0 || s.rows > maxLookups || s.file != nil {
		return nil
	}
	return func(ctx context.Context) (*snapshot.Candidates, error) {
		for _, column := range on {
			values, err := s.values(ctx, column)
			if err != nil {
				return nil, err
			}
			if found, err := having(ctx, d, column, values); found != nil || err != nil {
				return found, err
			}
		}
		return nil, nil //nolint:nilnil // all rows must be read
	}
}

// values returns the values of a column without nulls.
func (s *Source) values(ctx context.Context, column string) (arrow.Array, error) {
	var parts []arrow.Array
	for batch, err := range s.batches(ctx) {
		if err != nil {
			return nil, err
		}
		part, err := batch.match.Column(column, batch.RecordBatch)
		if err != nil {
			return nil, err
		}
		if part.NullN() > 0 {
			var valid []int32
			for i := range part.Len() {
				if part.IsValid(i) {
					valid = append(valid, int32(i))
				}
			}
			if part, err = take.Array(part, valid); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return array.Concatenate(parts, arrowmemory.DefaultAllocator)
}
