package difference

import (
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// Find returns the addresses of all rows whose value in a uint64 or int64 column is in ids: the
// rows of a view that derive from these source rows. It reads the column in batches; held grows by
// the memory of the result. A null and a column of another type are [ErrNotComparable].
func Find(ctx context.Context, held *memory.Hold, view *snapshot.Snapshot, column string, ids *roaring64.Bitmap) (*rowset.Set, error) {
	found := new(rowset.Set)
	field, err := view.Column(column)
	if err != nil {
		return nil, err
	}
	if t := field.Type.ID(); t != arrow.UINT64 && t != arrow.INT64 {
		return nil, fmt.Errorf("%w: column %s is of type %s and holds no row ids", ErrNotComparable, column, field.Type)
	}
	if ids.IsEmpty() {
		return found, nil
	}
	matches, err := snapshot.Map(ctx, view, snapshot.ScanOptions{Columns: []string{column, snapshot.RowAddr}},
		func(ctx context.Context, batch arrow.RecordBatch) ([]uint64, error) {
			return matching(ctx, column, batch, ids)
		})
	if err != nil {
		return nil, err
	}
	for addresses, err := range matches {
		if err != nil {
			return nil, err
		}
		if err := found.AddHeld(ctx, held, addresses); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// matching returns the addresses of matching rows of a batch. Column 0 holds the values, column 1
// the addresses.
func matching(ctx context.Context, column string, batch arrow.RecordBatch, ids *roaring64.Bitmap) ([]uint64, error) {
	if err := memory.FromContext(ctx).Take(ctx, 8*batch.NumRows()); err != nil {
		return nil, err
	}
	sources := batch.Column(0)
	if sources.NullN() > 0 {
		return nil, fmt.Errorf("%w: column %s has rows without a row id", ErrNotComparable, column)
	}
	addresses := batch.Column(1).(*array.Uint64).Uint64Values()
	found := make([]uint64, 0, len(addresses))
	switch sources := sources.(type) {
	case *array.Uint64:
		for i, id := range sources.Uint64Values() {
			if ids.Contains(id) {
				found = append(found, addresses[i])
			}
		}
	case *array.Int64:
		for i, id := range sources.Int64Values() {
			if id >= 0 && ids.Contains(uint64(id)) {
				found = append(found, addresses[i])
			}
		}
	default:
		return nil, fmt.Errorf("%w: column %s holds values of type %s", ErrNotComparable, column, sources.DataType())
	}
	return found, nil
}

// Places returns the addresses of the live rows with the given stable ids. Other ids are ignored.
// held grows by the memory of the result.
func Places(ctx context.Context, held *memory.Hold, s *snapshot.Snapshot, ids *roaring64.Bitmap) (*rowset.Set, error) {
	found := new(rowset.Set)
	if ids.IsEmpty() {
		return found, nil
	}
	if err := load(ctx, stableIDs, s.Fragments()); err != nil {
		return nil, err
	}
	wanted, after := ids.Iterator(), uint64(0)
	lowest, highest := ids.Minimum(), ids.Maximum()
	addresses := make([]uint64, 0, placesAtOnce)
	flush := func() error {
		err := found.AddHeld(ctx, held, addresses)
		addresses = addresses[:0]
		return err
	}
	for _, f := range s.Fragments() {
		err := eachRun(ctx, stableIDs, f, 0, f.Rows, func(first, last uint64, row int64) error {
			if last < lowest || first > highest {
				return nil
			}
			if first < after {
				wanted = ids.Iterator() // the iterator only moves forward
			}
			after = first
			for wanted.AdvanceIfNeeded(first); wanted.HasNext() && wanted.PeekNext() <= last; {
				addresses = append(addresses, f.Address(row+int64(wanted.Next()-first)))
				if len(addresses) == cap(addresses) {
					if err := flush(); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// placesAtOnce is the number of addresses added to a set at a time.
const placesAtOnce = 4096
