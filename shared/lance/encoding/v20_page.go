package encoding

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// Version 2.0 of the format has no levels: every field is a column, also structs and
// lists. A struct's column holds nothing; a list's column holds where each list ends,
// and its items are the rows of the next column. A page's encoding is a tree of array
// encodings (v20_array.go), whose values can be found by arithmetic.

// A PageReaderV20 decodes rows of one page of version 2.0. It is safe for concurrent use.
type PageReaderV20 struct {
	enc          pb.ArrayEncoding
	shape        *shape
	isDictionary bool
	rows         int
	sizes        []int
	small        int // see PageInfo
}

// NewPageReaderV20 returns a reader of a page of a leaf of type t, or of a list when t
// is one.
func NewPageReaderV20(t arrow.DataType, enc pb.ArrayEncoding, info PageInfo) (*PageReaderV20, error) {
	r := &PageReaderV20{enc: enc, rows: info.Rows, sizes: info.Sizes, small: info.Small}
	if _, ok := enc.(*pb.ArrayList); ok {
		return r, nil
	}
	r.shape = storedShape(t)
	if r.shape.kind == shapeOpaque {
		return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
	}
	r.isDictionary = storageType(t).ID() == arrow.DICTIONARY
	return r, nil
}

// ItemsV20 are decoded rows of a page of version 2.0.
type ItemsV20 struct {
	items Items
	valid bitmap
}

// Read decodes rows, which are ascending and within the page. It returns nil when fetch
// has not given all the bytes it asked for.
func (r *PageReaderV20) Read(fetch Fetch, room Room, rows []RowRange) (*ItemsV20, error) {
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
	valid   bitmap
	// Items are the items of the lists, counted from the page's first item.
	Items []RowRange
}

// NumItems is how many items the lists of the page have, 0 if it is no page of lists.
func (r *PageReaderV20) NumItems() uint64 {
	if list, ok := r.enc.(*pb.ArrayList); ok {
		return list.NumItems
	}
	return 0
}

// ReadLists is Read for a page of lists.
func (r *PageReaderV20) ReadLists(fetch Fetch, room Room, rows []RowRange) (*Lists, error) {
	enc, ok := r.enc.(*pb.ArrayList)
	if !ok {
		return nil, corruptf("page of a list column is encoded as %s", arrayName(r.enc))
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
	lists := &Lists{valid: ends.valid}
	at := 0
	for i, r := range rows {
		span := ends.spans[i]
		if uint64(span.To) > enc.NumItems {
			return nil, corruptf("lists end at item %d of %d", span.To, enc.NumItems)
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

// A ListBuilderV20 puts the structure of lists together from consecutive pages.
type ListBuilderV20 struct {
	offsets []int32
	valid   bitmap
}

// Add takes the lists of some rows.
func (b *ListBuilderV20) Add(l *Lists) error {
	if b.offsets == nil {
		b.offsets = []int32{0}
	}
	last := b.offsets[len(b.offsets)-1]
	for _, n := range l.lengths {
		if last+n < last {
			return errTooLarge
		}
		last += n
		b.offsets = append(b.offsets, last)
	}
	b.valid.appendAll(&l.valid)
	return nil
}

// Finish returns the structure of the lists.
func (b *ListBuilderV20) Finish() Node {
	if b.offsets == nil {
		b.offsets = []int32{0}
	}
	return Node{Len: b.valid.n, Valid: b.valid.bytes, Nulls: b.valid.zeros, Offsets: b.offsets}
}

// A LeafBuilderV20 puts an array together from decoded rows of consecutive pages.
type LeafBuilderV20 struct {
	Type  arrow.DataType
	Room  Room // asked for what is made of several pages
	pages []*Items
	valid bitmap
}

// Add takes decoded rows, which must not be used again.
func (b *LeafBuilderV20) Add(it *ItemsV20) {
	b.pages = append(b.pages, &it.items)
	b.valid.appendAll(&it.valid)
}

// Finish returns the array, which must have the given number of rows.
func (b *LeafBuilderV20) Finish(rows int) (arrow.Array, error) {
	if b.valid.n != rows {
		return nil, corruptf("%d rows, want %d", b.valid.n, rows)
	}
	all, err := joinItems(b.Type, b.pages, rows, b.Room)
	if err != nil {
		return nil, err
	}
	return buildLeaf(b.Type, all, &b.valid)
}

// appendAll appends the bits of another bitmap.
func (b *bitmap) appendAll(other *bitmap) {
	if other.bytes == nil {
		b.appendOnes(other.n)
		return
	}
	b.appendBits(other.bytes, 0, other.n)
}
