package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/sortkey"
)

// sortBytes is how many bytes of keys are sorted in memory, if the share has so much.
const sortBytes = 256 << 20

// Sortable reports whether [SortRows] sorts values of a type: they have an order, and are neither
// nested nor from a dictionary.
func Sortable(t arrow.DataType) bool {
	_, err := OrderOf(t)
	return err == nil && sortkey.NewValues(t) != nil
}

// SortRows sorts rows by their values, NULL first, and rows with the same value by their numbers. Each
// batch has two columns: values of type t, and the number of each row. The key of a row is that of its
// value, as sortkey writes it, and the row's number in the last 8 bytes, the most significant first.
// Rows that do not fit into memory are sorted in a temporary file. The caller closes the Sorter. A type
// that is not [Sortable] is lance.ErrUnsupported.
func SortRows(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error]) (*sortkey.Sorter, error) {
	if !Sortable(t) {
		return nil, fmt.Errorf("%w: an index on values of type %s", lance.ErrUnsupported, t)
	}
	keyOf := sortkey.Of(t, true)
	sorter := sortkey.NewSorter(ctx, sortkey.NoLimit, sortBytes)
	for batch, err := range rows {
		if err == nil {
			err = sorter.Add(keysOf(batch, keyOf))
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

// keysOf returns the key of each row.
func keysOf(batch arrow.RecordBatch, keyOf sortkey.Append) [][]byte {
	rows := batch.Column(1).(*array.Uint64)
	ends := make([]int, batch.NumRows())
	var block []byte
	if t, ok := batch.Column(0).DataType().(arrow.FixedWidthDataType); ok {
		const others = 1 + 8 // whether there is a value, and the number
		block = make([]byte, 0, len(ends)*(t.Bytes()+others))
	}
	for i := range ends {
		block = binary.BigEndian.AppendUint64(keyOf(block, batch.Column(0), i), rows.Value(i))
		ends[i] = len(block)
	}
	keys, start := make([][]byte, len(ends)), 0
	for i, end := range ends {
		keys[i], start = block[start:end:end], end
	}
	return keys
}
