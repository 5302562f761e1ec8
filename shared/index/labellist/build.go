package labellist

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// Version is the version of the format that Write writes.
const Version = 1

// nullsKey is the metadata key with the number of the global buffer that stores the rows with a NULL list.
const nullsKey = "lance:label_list_nulls"

// nullBytes bounds the memory of a row with a NULL list.
const nullBytes = 4

// Fits reports whether columns of a type can have such an index: lists of elements that can be sorted.
func Fits(t arrow.DataType) bool {
	elements := ElementType(t)
	return elements != nil && index.Sortable(elements)
}

// noList is the first byte of the key of a row with a NULL list. It sorts after the keys of all elements.
const noList = 0xff

// Sort sorts the elements of rows. Each batch has two columns: lists of type t, and the id of each row. Types
// that do not fit are lance.ErrUnsupported. The caller closes the Sorter.
func Sort(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error]) (*sortkey.Sorter, error) {
	if !Fits(t) {
		return nil, fmt.Errorf("%w: an index of elements on values of type %s", lance.ErrUnsupported, t)
	}
	nulls, held := rowset.At(), memory.Hold{}
	defer func() { held.Release() }()
	sorter, err := index.SortRows(ctx, ElementType(t), func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows {
			if err == nil {
				err = held.Resize(ctx, 2*nulls.Bytes()+nullBytes*batch.NumRows())
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for elements := range elementsOf(batch, nulls) {
				if !yield(elements, nil) {
					return
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for row := range nulls.All() {
		if err := sorter.Add([][]byte{binary.BigEndian.AppendUint64([]byte{noList}, row)}); err != nil {
			sorter.Close()
			return nil, err
		}
	}
	return sorter, nil
}

// Write writes the file of a segment from sorted keys, which Sort makes of lists of type t.
func Write(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error {
	var nulls index.RowEncoder
	file, count, err := valuebitmaps.Write(ctx, valuebitmaps.Bitmaps, ElementType(t), func(yield func([]byte, error) bool) {
		for key, err := range keys {
			if err == nil && key[0] == noList {
				nulls.Add(binary.BigEndian.Uint64(key[1:]))
			} else if !yield(key, err) {
				return
			}
		}
	}, out)
	if err != nil {
		return err
	}
	number, err := file.AddBuffer(nulls.Bytes())
	if err != nil {
		return err
	}
	file.SetMetadata(nullsKey, strconv.Itoa(number))
	valuebitmaps.Describe(file, count)
	return file.Close(ctx)
}

// elementsOf yields the elements of lists, each with its row, in batches. It adds the rows with a NULL list
// to nulls.
func elementsOf(batch arrow.RecordBatch, nulls *rowset.Set) iter.Seq[arrow.RecordBatch] {
	return func(yield func(arrow.RecordBatch) bool) {
		lists, ids := batch.Column(0).(array.ListLike), batch.Column(1).(*array.Uint64)
		start, end := int64(0), int64(0) // of consecutive elements
		rows := array.NewUint64Builder(arrowmemory.DefaultAllocator)
		flush := func() bool {
			if start == end {
				return true
			}
			columns := []arrow.Array{array.NewSlice(lists.ListValues(), start, end), rows.NewArray()}
			schema := arrow.NewSchema([]arrow.Field{
				{Name: "element", Type: columns[0].DataType(), Nullable: true}, {Name: "row", Type: columns[1].DataType()},
			}, nil)
			return yield(array.NewRecordBatch(schema, columns, end-start))
		}
		for i := range lists.Len() {
			if lists.IsNull(i) {
				nulls.Add([]uint64{ids.Value(i)})
				continue
			}
			from, to := lists.ValueOffsets(i)
			if from != end {
				if !flush() {
					return
				}
				start = from
			}
			for range to - from {
				rows.Append(ids.Value(i))
			}
			end = to
		}
		flush()
	}
}
