package version20

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A ColumnEncoder turns the rows of a field into the pages of one of its columns. Every field of a
// schema is a column, not only the leaves, and a page is a few whole buffers:
//
//	struct       nothing: null structs cannot be stored
//	list         u64 × lists    where each ends among the items of the page, which are
//	                            rows of another column; plus the adjustment when null
//	string       u64 × values   where each ends in the bytes, with the same adjustment
//	             bytes
//	fixed width  [validity bitmap if some are null] values
//	vector       [validity bitmap] [validity bitmap of the items] items
//	dictionary   indices, then the items as above; a null row has the index of a null item
//
// The adjustment is one more than the largest position. Positions are those of binary.go.
type ColumnEncoder struct {
	node     repdef.Leaf
	nested   bool // the path begins at a field further out
	kind     nodeKind
	shredder *repdef.Shredder
	storage  *column.Storage
	values   *values.Values // of leaves
	dict     *column.Dictionary
	packer   *column.Packer // of packed structs
	valid    values.Bitmap  // of leaves and lists: which slots are not null
	ends     []uint64       // of lists
	slots    int            // of a page to be
	first    uint64         // number of the row in which the page begins
	rows     uint64         // top-level rows so far
	pages    int
	step     int
}

type nodeKind int

const (
	leafNode nodeKind = iota
	listNode
	structNode
)

// NewColumnEncoder returns an encoder for the field at the end of path, which may be a struct or a
// list. A type that version 2.0 cannot hold is [lance.ErrUnsupported].
func NewColumnEncoder(path repdef.Path) (*ColumnEncoder, error) {
	path.Leaf.Type = values.StorageType(path.Leaf.Type)
	c := &ColumnEncoder{node: path.Leaf, nested: len(path.Steps) > 0, shredder: repdef.NewShredder(&path), step: 1024}
	switch path.Leaf.Type.ID() {
	case arrow.STRUCT:
		if path.Leaf.Packed {
			return c, c.pack()
		}
		c.kind = structNode
		return c, nil
	case arrow.LIST, arrow.LARGE_LIST:
		c.kind = listNode
		return c, nil
	}
	s, err := values.ShapeToWrite(path.Leaf.Type)
	if err == nil {
		c.storage, err = column.NewStorage(path.Leaf, lance.V2_0)
	}
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", path.Leaf.Name, err)
	}
	if t, ok := path.Leaf.Type.(*arrow.DictionaryType); ok {
		c.dict = column.NewDictionary(t, s)
		c.dict.MaxItems-- // one index is reserved for null
		s = values.FixedShape(c.dict.IndexBits)
	}
	c.values = values.New(s)
	return c, nil
}

// pack sets the column up for packed rows.
func (c *ColumnEncoder) pack() (err error) {
	c.packer, err = column.NewPacker(c.node.Type.(*arrow.StructType), lance.V2_0)
	if err != nil {
		return fmt.Errorf("field %q: %w", c.node.Name, err)
	}
	c.values = values.New(c.packer.Row)
	return nil
}

// Append adds the rows of arr, an array of the field at the start of the path, and passes pages to
// emit as they fill up; see [write.ColumnEncoder.Append].
func (c *ColumnEncoder) Append(arr arrow.Array, emit func(encoding.Page) error) error {
	arr = values.Storage(arr)
	for from := 0; from < arr.Len(); {
		n := min(c.step, arr.Len()-from)
		before := c.Size()
		if err := c.appendPiece(array.NewSlice(arr, int64(from), int64(from+n)), emit); err != nil {
			return fmt.Errorf("field %q: %w", c.node.Name, err)
		}
		from += n
		c.rows += uint64(n)
		missing := max(encoding.PageBytes/8, encoding.PageBytes-c.Size())
		c.step = min(missing/max(1, (c.Size()-before)/n)+1, 1<<21)
		if c.Size() >= encoding.PageBytes {
			if err := c.flush(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size returns the memory of the rows that wait for a page.
func (c *ColumnEncoder) Size() int {
	size := 8*len(c.ends) + len(c.valid.Bytes)
	if c.values != nil {
		size += c.values.Memory()
	}
	if c.dict != nil {
		size += c.dict.Items.Memory()
	}
	return size
}

// appendPiece shreds rows for this column and appends them to the waiting page.
func (c *ColumnEncoder) appendPiece(rows arrow.Array, emit func(encoding.Page) error) error {
	s := c.shredder
	arr, err := s.DescendFlat(rows)
	if err != nil {
		return err
	}
	if c.kind == leafNode {
		if err := repdef.CheckLeaf(arr, &c.node); err != nil {
			return err
		}
	}
	if c.kind == leafNode && c.dict == nil && c.packer == nil && c.values.Shape.Kind == values.Fixed {
		return c.appendFixed(arr)
	}
	if err := s.CutNulls(arr, s.LeafNull, c.node.Nullable, c.node.Name); err != nil {
		return err
	}
	cut := s.ItemLevels()
	if c.node.Type.ID() == arrow.STRUCT && !allZero(cut) {
		return fmt.Errorf("%w: null structs in data files of version 2.0", lance.ErrUnsupported)
	}
	// Indices of one page must fit their width: end the page before the dictionary overflows.
	if c.dict != nil && c.slots > 0 && c.dict.Overflows(arr.(*array.Dictionary), s) {
		if err := c.flush(emit); err != nil {
			return err
		}
	}
	c.slots += s.N
	if cut == nil {
		c.valid.AppendOnes(s.N)
	} else {
		c.valid.AppendBelow(cut, 1)
	}
	switch {
	case c.dict != nil:
		return c.dict.AppendIndices(c.values, arr.(*array.Dictionary), s)
	case c.packer != nil:
		return c.packer.AppendRows(c.values, arr, s.Spans, cut)
	case c.kind == leafNode:
		return c.values.AppendArray(arr, s.Spans, cut)
	case c.kind == listNode:
		return c.appendEnds(arr, cut)
	}
	return nil
}

// appendFixed appends values of fixed width, with zeros in place of nulls.
func (c *ColumnEncoder) appendFixed(arr arrow.Array) error {
	s := c.shredder
	if err := c.values.AppendArray(arr, s.Spans, nil); err != nil {
		return err
	}
	c.slots += s.N
	bitmap, offset, _ := s.Validity(arr)
	if bitmap == nil {
		c.valid.AppendOnes(s.N)
		return nil
	}
	first, zeros := c.valid.N, c.valid.Zeros
	for _, sp := range s.Spans {
		c.valid.AppendBits(bitmap, offset+sp.From, offset+sp.To)
	}
	if c.valid.Zeros == zeros {
		return nil
	}
	if !c.node.Nullable {
		return fmt.Errorf("field %q is not nullable but has a null", c.node.Name)
	}
	c.values.ClearNulls(&c.valid, first)
	return nil
}

func allZero(levels []uint16) bool {
	for _, l := range levels {
		if l != 0 {
			return false
		}
	}
	return true
}

// appendEnds appends the ends of the lists.
func (c *ColumnEncoder) appendEnds(arr arrow.Array, cut []uint16) error {
	switch lists := arr.(type) {
	case *array.List:
		if arr.DataType().ID() == c.node.Type.ID() {
			addEnds(c, repdef.SlotOffsets(lists.Offsets(), arr), cut)
			return nil
		}
	case *array.LargeList:
		if arr.DataType().ID() == c.node.Type.ID() {
			addEnds(c, repdef.SlotOffsets(lists.Offsets(), arr), cut)
			return nil
		}
	}
	return fmt.Errorf("array of type %s does not fit the schema", arr.DataType())
}

// addEnds appends the end of each list among the page's items. Null lists repeat the end before
// them.
func addEnds[O int32 | int64](c *ColumnEncoder, offsets []O, cut []uint16) {
	end := uint64(0)
	if len(c.ends) > 0 {
		end = c.ends[len(c.ends)-1]
	}
	at := len(c.ends)
	c.ends = slices.Grow(c.ends, c.shredder.N)[:at+c.shredder.N]
	out := c.ends[at:]
	k := 0
	for _, sp := range c.shredder.Spans {
		for i := sp.From; i < sp.To; i, k = i+1, k+1 {
			if cut == nil || cut[k] == 0 {
				end += uint64(offsets[i+1] - offsets[i])
			}
			out[k] = end
		}
	}
}

// Flush makes a page of the remaining rows. A nested column without any rows gets an empty page.
func (c *ColumnEncoder) Flush(emit func(encoding.Page) error) error {
	if c.slots == 0 && (c.pages > 0 || !c.nested) {
		return nil
	}
	return c.flush(emit)
}

// flush encodes the waiting rows as one page.
func (c *ColumnEncoder) flush(emit func(encoding.Page) error) error {
	page := encoding.Page{Rows: c.slots, Priority: c.first}
	b := arrayBuffers{page: &page}
	page.Encoding = pb.Any{TypeURL: pb.TypeArrayEncoding, Value: c.encode(&b)}
	if err := emit(page); err != nil {
		return fmt.Errorf("field %q: %w", c.node.Name, err)
	}
	c.pages++
	c.first, c.slots, c.ends, c.valid = c.rows, 0, c.ends[:0], values.Bitmap{}
	if c.values != nil {
		c.values.Reset()
	}
	if c.dict != nil {
		c.dict.Reset()
	}
	return nil
}

// encode makes the page's buffers and returns the message that describes them, encoded.
func (c *ColumnEncoder) encode(b *arrayBuffers) []byte {
	switch {
	case c.kind == structNode:
		return arrayMember(5, nil)
	case c.slots == 0:
		return allNulls()
	case c.kind == listNode:
		return b.lists(c.ends, &c.valid)
	case c.packer != nil:
		return b.packedRows(c.packer, c.values.Fixed)
	case c.values.Shape.Kind == values.Null:
		return allNulls()
	case c.dict != nil:
		return b.dictionary(c)
	case c.valid.Zeros == c.slots:
		return allNulls()
	case c.values.Shape.Kind == values.Variable:
		return b.texts(c)
	}
	return b.nullable(&c.valid, func() []byte { return b.fixed(c.values, 0) })
}
