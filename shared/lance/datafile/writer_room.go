package datafile

import (
	"runtime"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/write"
)

// Need returns an upper bound of the writer's memory from the start of Write(rec) until the next
// Write: the rows of each column that wait for a full page, and the pages encoded concurrently. The
// memory of rec itself is not included.
func (w *Writer) Need(rec arrow.RecordBatch) int64 {
	leaves := make([]int64, rec.NumCols())
	for _, c := range w.columns {
		leaves[c.top]++
	}
	sizes := make([]RowSize, rec.NumCols())
	for i := range sizes {
		sizes[i] = SizeOf(rec.Column(i))
	}
	total := int64(0)
	waiting := make([]int64, len(w.columns))
	for i, c := range w.columns {
		size := sizes[c.top]
		waiting[i] = min(int64(c.encoder.Size())+size.Bytes/leaves[c.top], write.MaxWaiting+size.Longest)
		total += max(int64(c.encoder.Footprint()), waiting[i]/4*5) // slices grow by a quarter
	}
	slices.Sort(waiting)
	encoded := 1
	if !w.alone {
		encoded = runtime.GOMAXPROCS(0)
	}
	for _, bytes := range waiting[max(0, len(waiting)-encoded):] {
		total += encodedFactor * bytes
	}
	return total
}

// encodedFactor is the ratio of the memory that encoding a page takes to the memory of its rows:
// compressed chunks, the buffers that they are joined in, and dictionaries that were tried.
const encodedFactor = 2

// Flush makes pages of the waiting rows, however few, and frees their memory. Small pages cost
// readers more requests, so call it only when memory is short.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.eachColumn(w.Buffered() >= sideBySideBytes, func(c *columnWriter, emit func(encoding.Page) error) error {
			if c.encoder.Size() == 0 {
				return nil
			}
			if err := c.encoder.Flush(emit); err != nil {
				return err
			}
			c.encoder.Trim()
			return nil
		})
	}
	return w.err
}

// A RowSize is the memory that the values of an array take. Values that a slice excludes do not
// count.
type RowSize struct {
	Bytes   int64
	Longest int64 // of one value of variable width
}

// SizeOf estimates the memory of an array's values. It reads the offsets of strings and lists, but
// no values.
func SizeOf(arr arrow.Array) RowSize {
	data := arr.Data()
	return sizeOf(data, data.Offset(), data.Offset()+data.Len())
}

// sizeOf estimates the memory of the slots [from, to) of the buffers.
func sizeOf(data arrow.ArrayData, from, to int) RowSize {
	t := data.DataType()
	for ext, ok := t.(arrow.ExtensionType); ok; ext, ok = t.(arrow.ExtensionType) {
		t = ext.StorageType()
	}
	n := int64(to - from)
	switch t := t.(type) {
	case *arrow.NullType:
		return RowSize{}
	case *arrow.StructType:
		size := RowSize{Bytes: n / 8}
		for _, child := range data.Children() {
			size.add(sizeOf(child, child.Offset()+from, child.Offset()+to))
		}
		return size
	case *arrow.FixedSizeListType:
		child, width := data.Children()[0], int(t.Len())
		return sizeOf(child, child.Offset()+from*width, child.Offset()+to*width)
	case *arrow.LargeListType:
		return listSize[int64](data, from, to)
	case *arrow.ListType, *arrow.MapType:
		return listSize[int32](data, from, to)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return offsetSize[int64](data, from, to, 1)
	case *arrow.StringType, *arrow.BinaryType:
		return offsetSize[int32](data, from, to, 1)
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return viewSize(data, from, to)
	case *arrow.DictionaryType:
		items := sizeOf(data.Dictionary(), data.Dictionary().Offset(), data.Dictionary().Offset()+data.Dictionary().Len())
		return RowSize{Bytes: n*int64(t.IndexType.(arrow.FixedWidthDataType).BitWidth())/8 + items.Bytes, Longest: items.Longest}
	}
	return RowSize{Bytes: int64(FixedWidth(t) * float64(n))}
}

func (s *RowSize) add(other RowSize) {
	s.Bytes += other.Bytes
	s.Longest += other.Longest
}

// offsetSize estimates the memory of slots with offsets. unit is the size in bytes of the element
// that an offset counts: 1 for strings, the size of an item for lists.
func offsetSize[O int32 | int64](data arrow.ArrayData, from, to int, unit float64) RowSize {
	if from == to || data.Buffers()[1] == nil {
		return RowSize{}
	}
	offsets := arrow.GetData[O](data.Buffers()[1].Bytes())[from : to+1]
	longest := O(0)
	for i, end := range offsets[1:] {
		longest = max(longest, end-offsets[i])
	}
	units := float64(offsets[len(offsets)-1] - offsets[0])
	return RowSize{Bytes: 4*int64(to-from) + int64(units*unit), Longest: int64(float64(longest) * unit)}
}

// listSize estimates lists, assuming that all items have the same size.
func listSize[O int32 | int64](data arrow.ArrayData, from, to int) RowSize {
	items := data.Children()[0]
	all := sizeOf(items, items.Offset(), items.Offset()+items.Len())
	size := offsetSize[O](data, from, to, float64(all.Bytes)/float64(max(items.Len(), 1)))
	size.Longest += all.Longest
	return size
}

// viewSize estimates the memory of string views: a header of 16 bytes each, and the contents.
func viewSize(data arrow.ArrayData, from, to int) RowSize {
	size := RowSize{Bytes: int64((to - from) * arrow.ViewHeaderSizeBytes)}
	views, ok := array.MakeFromData(data).(array.ViewLike)
	if !ok {
		return size
	}
	for i := from - data.Offset(); i < to-data.Offset(); i++ {
		n := int64(views.ValueHeader(i).Len())
		size.Bytes += n
		size.Longest = max(size.Longest, n)
	}
	return size
}
