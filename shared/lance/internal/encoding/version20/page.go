// Package version20 reads and writes pages of data files of version 2.0. That version has no
// levels: every field is a column, also a struct or a list. The column of a struct holds nothing.
// The column of a list holds the end of each list, and the items are the rows of the next column.
// The encoding of a page is a tree of array encodings (array.go). A reader computes the position of
// a value in the buffers, so it fetches only the wanted rows.
//
// The column list<u8> with the rows [1, 2] and [3] is two columns of one page each:
//
//	list   02 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00   ends 2 and 3
//	u8     01 02 03
//
// Begin with [PageReader] and [ColumnEncoder].
package version20

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A PageReader decodes rows of one page of version 2.0. It is safe for concurrent use.
type PageReader struct {
	enc          pb.ArrayEncoding
	shape        *values.Shape
	isDictionary bool
	rows         int
	sizes        []int
	small        int // see encoding.PageInfo
}

// NewPageReader returns a reader of a page of a leaf of type t, or of a list if enc is an
// ArrayList.
func NewPageReader(t arrow.DataType, enc pb.ArrayEncoding, info encoding.PageInfo) (*PageReader, error) {
	r := &PageReader{enc: enc, rows: info.Rows, sizes: info.Sizes, small: info.Small}
	if _, ok := enc.(*pb.ArrayList); ok {
		return r, nil
	}
	r.shape = values.ShapeToRead(t)
	if r.shape.Kind == values.Opaque {
		return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
	}
	r.isDictionary = values.StorageType(t).ID() == arrow.DICTIONARY
	return r, nil
}

// Items are decoded rows of a page of version 2.0.
type Items struct {
	items values.Items
	valid values.Bitmap
}

// Read decodes rows, which ascend and lie within the page. It returns nil if fetch lacked some of
// the bytes.
func (r *PageReader) Read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
	a := arrayReader{page: r, fetch: fetch, room: room}
	it, err := a.read(r.enc, r.shape, rows)
	if err != nil {
		return nil, err
	}
	if a.missing {
		a.fetchSmallPage()
		return nil, nil
	}
	return it, nil
}

// Lists are decoded rows of a page of lists of version 2.0.
type Lists struct {
	lengths []int32
	valid   values.Bitmap
	// Items are the items of the lists, counted from the page's first item.
	Items []encoding.RowRange
}

// NumItems returns the number of items in the lists of the page, or 0 if it is not a page of lists.
func (r *PageReader) NumItems() uint64 {
	if list, ok := r.enc.(*pb.ArrayList); ok {
		return list.NumItems
	}
	return 0
}

// ReadLists reads rows of a page of lists.
func (r *PageReader) ReadLists(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Lists, error) {
	enc, ok := r.enc.(*pb.ArrayList)
	if !ok {
		return nil, lance.Corruptf("page of a list column is encoded as %s", arrayName(r.enc))
	}
	a := arrayReader{page: r, fetch: fetch, room: room}
	ends, err := a.readEnds(enc.Offsets, enc.NullOffsetAdjustment, rows)
	if err != nil {
		return nil, err
	}
	if a.missing {
		a.fetchSmallPage()
		return nil, nil
	}
	// The items are rows of another column, to be read next.
	lists := &Lists{valid: ends.valid}
	at := 0
	for i, r := range rows {
		span := ends.spans[i]
		if uint64(span.To) > enc.NumItems {
			return nil, lance.Corruptf("lists end at item %d of %d", span.To, enc.NumItems)
		}
		lists.Items = append(lists.Items, span)
		last := span.From
		for range r.To - r.From {
			lists.lengths = append(lists.lengths, int32(ends.ends[at]-last))
			last = ends.ends[at]
			at++
		}
	}
	return lists, nil
}

// A ListBuilder joins the structure of lists of consecutive pages.
type ListBuilder struct {
	offsets []int32
	valid   values.Bitmap
}

// Add takes the lists of some rows.
func (b *ListBuilder) Add(l *Lists) error {
	if b.offsets == nil {
		b.offsets = []int32{0}
	}
	last := b.offsets[len(b.offsets)-1]
	for _, n := range l.lengths {
		if last+n < last {
			return values.ErrTooLarge
		}
		last += n
		b.offsets = append(b.offsets, last)
	}
	b.valid.AppendBitmap(&l.valid)
	return nil
}

// Finish returns the structure of the lists.
func (b *ListBuilder) Finish() repdef.Node {
	if b.offsets == nil {
		b.offsets = []int32{0}
	}
	return repdef.Node{Len: b.valid.N, Valid: b.valid.Bytes, Nulls: b.valid.Zeros, Offsets: b.offsets}
}

// A LeafBuilder makes an array of decoded rows of consecutive pages.
type LeafBuilder struct {
	Type  arrow.DataType
	Room  values.Room // charged for the joined result of several pages
	pages []*values.Items
	valid values.Bitmap
}

// Add takes decoded rows, which must not be used again.
func (b *LeafBuilder) Add(it *Items) {
	b.pages = append(b.pages, &it.items)
	b.valid.AppendBitmap(&it.valid)
}

// Finish returns the array, which must have the given number of rows.
func (b *LeafBuilder) Finish(rows int) (arrow.Array, error) {
	if b.valid.N != rows {
		return nil, lance.Corruptf("%d rows, want %d", b.valid.N, rows)
	}
	all, err := values.Join(b.Type, b.pages, rows, b.Room)
	if err != nil {
		return nil, err
	}
	return values.ToArrow(b.Type, all, &b.valid)
}
