package legacyfile

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/schema"
)

// A pageTable locates the pages. In the file it has a cell for each id from the lowest to
// the highest of the file's fields, and within an id for each batch in turn:
//
//	i64  position of the page
//	i64  its length, in items
//
// Both are zero where there is no page: structs have none, and some ids may be unused.
type pageTable struct {
	lowest  int32 // id
	batches int
	cells   []page
}

// A page holds the values of a field in one batch.
type page struct {
	position, length int64
}

const cellBytes = 16

// page returns the page of a field in a batch; it is zero if there is none.
func (t *pageTable) page(id int32, batch int) page {
	at := (int64(id)-int64(t.lowest))*int64(t.batches) + int64(batch)
	if id < t.lowest || at >= int64(len(t.cells)) {
		return page{}
	}
	return t.cells[at]
}

// readPages reads the page table, and from it the size of each field.
func (f *stored) readPages(in extent, at uint64) error {
	lowest, highest := int32(math.MaxInt32), int32(-1)
	for id, field := range f.fields {
		lowest = min(lowest, id)
		if field.Type.ID() != arrow.STRUCT {
			highest = max(highest, id) // the table ends with the last page
		}
	}
	batches := int64(len(f.starts) - 1)
	if highest < 0 || batches == 0 {
		return nil
	}
	ids := int64(highest) - int64(lowest) + 1
	if ids > f.size/cellBytes/batches || at > uint64(f.size) {
		return corrupt("%d ids of %d batches at %d in a file of %d bytes", ids, batches, at, f.size)
	}
	b, ok := in.find(span{int64(at), ids * batches * cellBytes})
	if !ok {
		return corrupt("%d ids of %d batches at %d in a file of %d bytes", ids, batches, at, f.size)
	}
	f.pages = pageTable{lowest: lowest, batches: int(batches), cells: make([]page, ids*batches)}
	for i := range f.pages.cells {
		c := page{int64(binary.LittleEndian.Uint64(b[cellBytes*i:])), int64(binary.LittleEndian.Uint64(b[cellBytes*i+8:]))}
		if c.position < 0 || c.position > f.size || c.length < 0 {
			return corrupt("page %d of %d items at %d of %d bytes", i, c.length, c.position, f.size)
		}
		f.pages.cells[i] = c
	}
	f.measure(int64(at))
	return nil
}

// measure sets the stored size of each field: its pages and, for strings, the values before them. A
// page that does not fit in the file is an error only when it is read.
func (f *stored) measure(end int64) {
	type piece struct {
		field *storedField
		page
	}
	var pieces []piece
	for _, field := range f.fields {
		for batch := range f.pages.batches {
			if p := f.pages.page(field.ID, batch); p.length > 0 {
				pieces = append(pieces, piece{field, p})
			}
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.position, b.position) })
	before := int64(0)
	for _, p := range pieces {
		after := min(p.position+bytesOf(p.field.Field, p.length), end)
		from := p.position
		if isBinary(p.field.Type) {
			from = min(before, from)
		}
		if after > from {
			p.field.bytes += float64(after - from)
		}
		before = max(before, after)
	}
}

// bytesOf returns the size of a page with the given number of items, without the values to
// which its positions point.
func bytesOf(field *schema.Field, items int64) int64 {
	bits := int64(0)
	switch t := field.Type.(type) {
	case *arrow.ListType:
		bits = 32
	case *arrow.LargeListType:
		bits = 64
	default:
		if isBinary(t) {
			bits, items = 64, items+1
		} else if width, ok := fixedBits(t); ok {
			bits = width
		}
	}
	if bits > 0 && items > math.MaxInt64/2/bits {
		return math.MaxInt64 / 2
	}
	return (items*bits + 7) / 8
}

func isBinary(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		return true
	}
	return false
}

// maxBits is more than a value of fixed width in a file can have.
const maxBits = 1 << 45

// fixedBits returns the width of a type's values, if it is fixed: of a dictionary the width of an
// index, of a fixed-size list the width of all its items.
func fixedBits(t arrow.DataType) (int64, bool) {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		bits, ok := fixedBits(t.Elem())
		if bits > 0 && int64(t.Len()) > maxBits/bits {
			return 0, false
		}
		return bits * int64(t.Len()), ok
	case *arrow.DictionaryType:
		return fixedBits(t.IndexType)
	case arrow.FixedWidthDataType:
		return int64(t.BitWidth()), true
	}
	return 0, false
}
