// Package take copies selected rows out of Arrow arrays and batches by position, for example the matches of
// a filter or search, or the rows that a merge updates. It works column by column, for every type that a
// Lance table supports.
package take

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Null in place of a position gives a null value.
const Null int32 = -1

// Array returns the values of a at the given positions, in their order; a position may
// occur more than once, and Null gives a null. Positions must lie within a. The error
// is a type that cannot be taken, or more than 2 GiB of values under 32-bit offsets.
func Array(a arrow.Array, positions []int32) (arrow.Array, error) {
	data, err := take(a.Data(), positions)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(data), nil
}

// Batch returns the rows of a batch at the given positions.
func Batch(batch arrow.RecordBatch, positions []int32) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	for i, column := range batch.Columns() {
		var err error
		if columns[i], err = Array(column, positions); err != nil {
			return nil, fmt.Errorf("take column %s: %w", batch.ColumnName(i), err)
		}
	}
	return array.NewRecordBatch(batch.Schema(), columns, int64(len(positions))), nil
}

// take copies the values at positions. A negative position gives a null.
func take(d arrow.ArrayData, positions []int32) (arrow.ArrayData, error) {
	valid, nulls := validity(d, positions)
	made := func(buffers []*memory.Buffer, children ...arrow.ArrayData) (arrow.ArrayData, error) {
		return array.NewData(d.DataType(), len(positions), buffers, children, nulls, 0), nil
	}
	switch t := d.DataType().(type) {
	case *arrow.NullType:
		return array.NewData(t, len(positions), []*memory.Buffer{nil}, nil, len(positions), 0), nil
	case *arrow.BooleanType:
		return made([]*memory.Buffer{valid, bits(d.Buffers()[1], d.Offset(), positions)})
	case *arrow.DictionaryType:
		out := array.NewDataWithDictionary(t, len(positions),
			[]*memory.Buffer{valid, fixed(d, t.BitWidth()/8, positions)}, nulls, 0, d.Dictionary().(*array.Data))
		return out, nil
	case *arrow.StringType, *arrow.BinaryType:
		offsets, values, err := binary[int32](d, positions)
		if err != nil {
			return nil, err
		}
		return made([]*memory.Buffer{valid, offsets, values})
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		offsets, values, err := binary[int64](d, positions)
		if err != nil {
			return nil, err
		}
		return made([]*memory.Buffer{valid, offsets, values})
	case *arrow.ListType, *arrow.MapType:
		offsets, child, err := list[int32](d, positions)
		if err != nil {
			return nil, err
		}
		return made([]*memory.Buffer{valid, offsets}, child)
	case *arrow.LargeListType:
		offsets, child, err := list[int64](d, positions)
		if err != nil {
			return nil, err
		}
		return made([]*memory.Buffer{valid, offsets}, child)
	case *arrow.FixedSizeListType:
		child, err := fixedSizeList(d, int(t.Len()), positions)
		if err != nil {
			return nil, err
		}
		return made([]*memory.Buffer{valid}, child)
	case *arrow.StructType:
		children, err := members(d, positions)
		if err != nil {
			return nil, err
		}
		return made([]*memory.Buffer{valid}, children...)
	case arrow.FixedWidthDataType:
		return made([]*memory.Buffer{valid, fixed(d, t.BitWidth()/8, positions)})
	default:
		return nil, fmt.Errorf("cannot take values of type %s", d.DataType())
	}
}

// validity takes the validity bitmap; nil when no value is null.
func validity(d arrow.ArrayData, positions []int32) (*memory.Buffer, int) {
	bitmap := validBits(d)
	nulls := 0
	for _, p := range positions {
		if p < 0 || (bitmap != nil && !bitutil.BitIsSet(bitmap, d.Offset()+int(p))) {
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	out := make([]byte, bitutil.BytesForBits(int64(len(positions))))
	for i, p := range positions {
		if p >= 0 && (bitmap == nil || bitutil.BitIsSet(bitmap, d.Offset()+int(p))) {
			bitutil.SetBit(out, i)
		}
	}
	return memory.NewBufferBytes(out), nulls
}

// validBits returns the validity bitmap, or nil if there is none.
func validBits(d arrow.ArrayData) []byte {
	if len(d.Buffers()) == 0 || d.Buffers()[0] == nil || d.NullN() == 0 {
		return nil
	}
	return d.Buffers()[0].Bytes()
}

// bits copies single bits, such as bools. A negative position gives 0.
func bits(from *memory.Buffer, offset int, positions []int32) *memory.Buffer {
	out := make([]byte, bitutil.BytesForBits(int64(len(positions))))
	if from == nil {
		return memory.NewBufferBytes(out)
	}
	for i, p := range positions {
		if p >= 0 && bitutil.BitIsSet(from.Bytes(), offset+int(p)) {
			bitutil.SetBit(out, i)
		}
	}
	return memory.NewBufferBytes(out)
}

// fixed takes values of width bytes. Each run of consecutive positions is copied at once.
func fixed(d arrow.ArrayData, width int, positions []int32) *memory.Buffer {
	out := make([]byte, len(positions)*width)
	if d.Buffers()[1] == nil {
		return memory.NewBufferBytes(out)
	}
	from := d.Buffers()[1].Bytes()[d.Offset()*width:]
	switch width {
	case 4:
		takeWords(arrow.Uint32Traits.CastFromBytes(out), arrow.Uint32Traits.CastFromBytes(from), positions)
	case 8:
		takeWords(arrow.Uint64Traits.CastFromBytes(out), arrow.Uint64Traits.CastFromBytes(from), positions)
	default:
		eachRun(positions, func(at, start, n int) {
			copy(out[at*width:], from[start*width:(start+n)*width])
		})
	}
	return memory.NewBufferBytes(out)
}

func takeWords[T uint32 | uint64](out, from []T, positions []int32) {
	for i, p := range positions {
		if p >= 0 {
			out[i] = from[p]
		}
	}
}

// eachRun calls f for each maximal run of consecutive positions: its place in the output, its first
// position, and its length. Nulls are skipped.
func eachRun(positions []int32, f func(at, start, n int)) {
	for i := 0; i < len(positions); {
		n := 1
		for i+n < len(positions) && positions[i+n] == positions[i]+int32(n) && positions[i] >= 0 {
			n++
		}
		if positions[i] >= 0 {
			f(i, int(positions[i]), n)
		}
		i += n
	}
}

type offset interface{ int32 | int64 }

func offsetsOf[T offset](d arrow.ArrayData) []T {
	if d.Buffers()[1] == nil || d.Buffers()[1].Len() == 0 {
		return make([]T, 1) // an empty array may come without offsets
	}
	return arrow.GetData[T](d.Buffers()[1].Bytes())[d.Offset():]
}

// newOffsets returns the offsets of the taken values, or an error when they do not
// fit in T.
func newOffsets[T offset](from []T, valid []byte, base int, positions []int32) ([]T, error) {
	out := make([]T, len(positions)+1)
	var total int64
	limit := int64(math.MaxInt64)
	if _, narrow := any(T(0)).(int32); narrow {
		limit = math.MaxInt32
	}
	for i, p := range positions {
		if p >= 0 && (valid == nil || bitutil.BitIsSet(valid, base+int(p))) {
			total += int64(from[p+1] - from[p])
		}
		if total > limit {
			return nil, fmt.Errorf("more than %d bytes or items of variable length in one batch", limit)
		}
		out[i+1] = T(total)
	}
	return out, nil
}

// binary copies the values of a variable-width array. T is the type of the offsets.
func binary[T offset](d arrow.ArrayData, positions []int32) (offsets, values *memory.Buffer, err error) {
	from := offsetsOf[T](d)
	to, err := newOffsets(from, validBits(d), d.Offset(), positions)
	if err != nil {
		return nil, nil, err
	}
	out := make([]byte, to[len(positions)])
	if len(out) > 0 {
		bytes := d.Buffers()[2].Bytes()
		for i, p := range positions {
			if to[i+1] > to[i] {
				copy(out[to[i]:to[i+1]], bytes[from[p]:from[p+1]])
			}
		}
	}
	return memory.NewBufferBytes(arrow.GetBytes(to)), memory.NewBufferBytes(out), nil
}

// list copies the elements of lists, by taking their positions from the child array.
func list[T offset](d arrow.ArrayData, positions []int32) (*memory.Buffer, arrow.ArrayData, error) {
	from := offsetsOf[T](d)
	to, err := newOffsets(from, validBits(d), d.Offset(), positions)
	if err != nil {
		return nil, nil, err
	}
	if int64(to[len(positions)]) > math.MaxInt32 {
		return nil, nil, fmt.Errorf("more than %d list items in one batch", math.MaxInt32)
	}
	items := make([]int32, 0, to[len(positions)])
	for i, p := range positions {
		for k := T(0); k < to[i+1]-to[i]; k++ {
			items = append(items, int32(from[p]+k))
		}
	}
	child, err := take(d.Children()[0], items)
	return memory.NewBufferBytes(arrow.GetBytes(to)), child, err
}

// fixedSizeList copies lists of n elements. Lists of fixed-width elements without nulls, such as vectors,
// are copied as a whole.
func fixedSizeList(d arrow.ArrayData, n int, positions []int32) (arrow.ArrayData, error) {
	if child, ok := d.Children()[0].(*array.Data); ok && child.NullN() == 0 {
		if t, ok := child.DataType().(arrow.FixedWidthDataType); ok && t.BitWidth()%8 == 0 && t.ID() != arrow.DICTIONARY && t.ID() != arrow.FIXED_SIZE_LIST {
			return vectors(d, child, n, t.BitWidth()/8, positions), nil
		}
	}
	items := make([]int32, 0, len(positions)*n)
	for _, p := range positions {
		for k := range n {
			if p < 0 {
				items = append(items, Null)
			} else {
				items = append(items, int32((d.Offset()+int(p))*n+k))
			}
		}
	}
	return take(d.Children()[0], items)
}

// vectors takes lists of plain values, a whole list (and run of lists) at a time.
func vectors(d arrow.ArrayData, child *array.Data, n, width int, positions []int32) arrow.ArrayData {
	size := n * width
	out := make([]byte, len(positions)*size)
	if child.Buffers()[1] != nil {
		from := child.Buffers()[1].Bytes()[(child.Offset()+d.Offset()*n)*width:]
		eachRun(positions, func(at, start, count int) {
			copy(out[at*size:], from[start*size:(start+count)*size])
		})
	}
	return array.NewData(child.DataType(), len(positions)*n, []*memory.Buffer{nil, memory.NewBufferBytes(out)}, nil, 0, 0)
}

// members takes the rows from each child of a struct. Positions are shifted by the struct's offset, because
// children are not sliced with it.
func members(d arrow.ArrayData, positions []int32) ([]arrow.ArrayData, error) {
	shifted := positions
	if d.Offset() != 0 {
		shifted = make([]int32, len(positions))
		for i, p := range positions {
			shifted[i] = p
			if p >= 0 {
				shifted[i] = p + int32(d.Offset())
			}
		}
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		var err error
		if children[i], err = take(c, shifted); err != nil {
			return nil, err
		}
	}
	return children, nil
}
