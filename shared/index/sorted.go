package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// sortBytes bounds the keys that are sorted in memory, within the memory share.
const sortBytes = 256 << 20

// Sortable reports whether [SortRows] sorts values of a type: they have an order, and are neither
// nested nor from a dictionary.
func Sortable(t arrow.DataType) bool {
	_, err := OrderOf(t)
	return err == nil && sortkey.NewValues(t) != nil
}

// SortRows sorts rows by value, NULLs first, and rows with equal values by number. Each batch has two
// columns: values of type t, and the number of each row. The key of a row is the sortkey encoding of its
// value, followed by the row number in 8 big-endian bytes. Rows that exceed the memory are sorted in a
// temporary file. The caller closes the Sorter. A type that is not [Sortable] is lance.ErrUnsupported.
func SortRows(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error]) (*sortkey.Sorter, error) {
	if !Sortable(t) {
		return nil, fmt.Errorf("%w: an index on values of type %s", lance.ErrUnsupported, t)
	}
	keyOf, paired := sortkey.Of(t, true), sortkey.HavePairs(t)
	sorter := sortkey.NewSorter(ctx, sortkey.NoLimit, sortBytes)
	for batch, err := range rows {
		switch {
		case err != nil:
		case paired:
			err = addPairs(ctx, sorter, batch)
		default:
			err = addKeys(ctx, sorter, batch, keyOf)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			sorter.Close()
			return nil, err
		}
	}
	return sorter, nil
}

// addKeys adds the key of each row. It reserves memory for the keys until the sorter holds them.
func addKeys(ctx context.Context, sorter *sortkey.Sorter, batch arrow.RecordBatch, keyOf sortkey.Append) error {
	const numberBytes = 8
	size := sortkey.Bytes(batch.Column(0)) + numberBytes*batch.NumRows()
	held, err := memory.Take(ctx, size)
	if err != nil {
		return err
	}
	rows := batch.Column(1).(*array.Uint64)
	keys, _ := sortkey.Keys(int(batch.NumRows()), size, func(block []byte, row int) []byte {
		return binary.BigEndian.AppendUint64(keyOf(block, batch.Column(0), row), rows.Value(row))
	})
	held.Release()
	return sorter.Add(keys)
}

// addPairs is addKeys for values whose keys are pairs.
func addPairs(ctx context.Context, sorter *sortkey.Sorter, batch arrow.RecordBatch) error {
	held, err := memory.Take(ctx, sortkey.PairsBytes(int(batch.NumRows())))
	if err != nil {
		return err
	}
	pairs := sortkey.PairsOf(batch.Column(0), batch.Column(1).(*array.Uint64).Uint64Values())
	held.Release()
	return sorter.AddPairs(pairs)
}
