package encoding

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A ColumnEncoderV20 is the ColumnEncoder of data files of version 2.0. There every node
// of a schema is a column, not only the leaves, and a page is a few whole buffers:
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
// The adjustment is one more than the largest position.
type ColumnEncoderV20 struct {
	node     Leaf
	kind     nodeKind
	shredder *shredder
	storage  *storageChoice
	values   *values // of leaves
	dict     *dictionaryBuilder
	packer   *structPacker // of packed structs
	valid    bitmap        // of leaves and lists: which slots are not null
	ends     []uint64      // of lists
	slots    int           // of a page to be
	first    uint64        // number of the row in which the page begins
	rows     uint64        // top-level rows so far
	pages    int
	step     int
}

type nodeKind int

const (
	leafNode nodeKind = iota
	listNode
	structNode
)

// NewColumnEncoderV20 returns an encoder for the field at the end of path, which may be
// a struct or a list. Types that the version cannot hold are [lance.ErrUnsupported].
func NewColumnEncoderV20(path Path) (*ColumnEncoderV20, error) {
	path.Leaf.Type = storageType(path.Leaf.Type)
	c := &ColumnEncoderV20{node: path.Leaf, shredder: newShredder(&path), step: 1024}
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
	s, err := leafShape(path.Leaf.Type)
	if err == nil {
		c.storage, err = newStorageChoice(path.Leaf, lance.V2_0)
	}
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", path.Leaf.Name, err)
	}
	if t, ok := path.Leaf.Type.(*arrow.DictionaryType); ok {
		c.dict = newDictionary(t, s)
		c.dict.maxItems-- // one index is for null
		s = fixedShape(c.dict.indexBits)
	}
	c.values = newValues(s)
	return c, nil
}

// pack makes the column one of packed rows.
func (c *ColumnEncoderV20) pack() (err error) {
	c.packer, err = newStructPacker(c.node.Type.(*arrow.StructType), lance.V2_0)
	if err != nil {
		return fmt.Errorf("field %q: %w", c.node.Name, err)
	}
	c.values = newValues(c.packer.row)
	return nil
}

// Append adds the rows of arr, an array of the field where the path begins, and hands
// pages to emit as they fill; see [ColumnEncoder.Append].
func (c *ColumnEncoderV20) Append(arr arrow.Array, emit func(Page) error) error {
	arr = storage(arr)
	for from := 0; from < arr.Len(); {
		n := min(c.step, arr.Len()-from)
		before := c.Size()
		if err := c.appendPiece(array.NewSlice(arr, int64(from), int64(from+n)), emit); err != nil {
			return fmt.Errorf("field %q: %w", c.node.Name, err)
		}
		from += n
		c.rows += uint64(n)
		missing := max(pageBytes/8, pageBytes-c.Size())
		c.step = min(missing/max(1, (c.Size()-before)/n)+1, 1<<21)
		if c.Size() >= pageBytes {
			if err := c.flush(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size returns how much memory the rows take that no page has been made of.
func (c *ColumnEncoderV20) Size() int {
	size := 8*len(c.ends) + len(c.valid.bytes)
	if c.values != nil {
		size += c.values.memory()
	}
	if c.dict != nil {
		size += c.dict.items.memory()
	}
	return size
}

func (c *ColumnEncoderV20) appendPiece(rows arrow.Array, emit func(Page) error) error {
	s := c.shredder
	arr, err := s.descendFlat(rows)
	if err != nil {
		return err
	}
	if c.kind == leafNode {
		if err := checkLeaf(arr, &c.node); err != nil {
			return err
		}
	}
	if c.kind == leafNode && c.dict == nil && c.packer == nil && c.values.shape.kind == shapeFixed {
		return c.appendFixed(arr)
	}
	if err := s.cutNulls(arr, s.leafNull, c.node.Nullable, c.node.Name); err != nil {
		return err
	}
	cut := s.itemLevels()
	if c.node.Type.ID() == arrow.STRUCT && !allZero(cut) {
		return fmt.Errorf("%w: null structs in data files of version 2.0", lance.ErrUnsupported)
	}
	if c.dict != nil && c.slots > 0 && c.dict.overflows(arr.(*array.Dictionary), s) {
		if err := c.flush(emit); err != nil {
			return err
		}
	}
	c.slots += s.n
	if cut == nil {
		c.valid.appendOnes(s.n)
	} else {
		c.valid.appendBelow(cut, 1)
	}
	switch {
	case c.dict != nil:
		return c.dict.appendIndices(c.values, arr.(*array.Dictionary), s)
	case c.packer != nil:
		return c.packer.appendRows(c.values, arr, s.spans, cut)
	case c.kind == leafNode:
		return c.values.appendArray(arr, s.spans, cut)
	case c.kind == listNode:
		return c.appendEnds(arr, cut)
	}
	return nil
}

// appendFixed adds values of fixed width, with zeros for those that are null.
func (c *ColumnEncoderV20) appendFixed(arr arrow.Array) error {
	s := c.shredder
	if err := c.values.appendArray(arr, s.spans, nil); err != nil {
		return err
	}
	c.slots += s.n
	bitmap, offset, _ := s.validity(arr)
	if bitmap == nil {
		c.valid.appendOnes(s.n)
		return nil
	}
	first, zeros := c.valid.n, c.valid.zeros
	for _, sp := range s.spans {
		c.valid.appendBits(bitmap, offset+sp.from, offset+sp.to)
	}
	if c.valid.zeros == zeros {
		return nil
	}
	if !c.node.Nullable {
		return fmt.Errorf("field %q is not nullable but has a null", c.node.Name)
	}
	c.values.clearNulls(&c.valid, first)
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

// appendEnds adds where the lists end.
func (c *ColumnEncoderV20) appendEnds(arr arrow.Array, cut []uint16) error {
	switch lists := arr.(type) {
	case *array.List:
		if arr.DataType().ID() == c.node.Type.ID() {
			addEnds(c, slotOffsets(lists.Offsets(), arr), cut)
			return nil
		}
	case *array.LargeList:
		if arr.DataType().ID() == c.node.Type.ID() {
			addEnds(c, slotOffsets(lists.Offsets(), arr), cut)
			return nil
		}
	}
	return fmt.Errorf("array of type %s does not fit the schema", arr.DataType())
}

func addEnds[O int32 | int64](c *ColumnEncoderV20, offsets []O, cut []uint16) {
	end := uint64(0)
	if len(c.ends) > 0 {
		end = c.ends[len(c.ends)-1]
	}
	at := len(c.ends)
	c.ends = slices.Grow(c.ends, c.shredder.n)[:at+c.shredder.n]
	out := c.ends[at:]
	k := 0
	for _, sp := range c.shredder.spans {
		for i := sp.from; i < sp.to; i, k = i+1, k+1 {
			if cut == nil || cut[k] == 0 {
				end += uint64(offsets[i+1] - offsets[i])
			}
			out[k] = end
		}
	}
}

// Flush makes a page of all rows that are left. Columns without any get an empty page.
func (c *ColumnEncoderV20) Flush(emit func(Page) error) error {
	if c.slots == 0 && (c.pages > 0 || len(c.shredder.path.Steps) == 0) {
		return nil
	}
	return c.flush(emit)
}

func (c *ColumnEncoderV20) flush(emit func(Page) error) error {
	page := Page{Rows: c.slots, Priority: c.first}
	b := arrayBuffers{page: &page}
	page.Encoding = pb.Any{TypeURL: pb.TypeArrayEncoding, Value: c.encode(&b)}
	if err := emit(page); err != nil {
		return fmt.Errorf("field %q: %w", c.node.Name, err)
	}
	c.pages++
	c.first, c.slots, c.ends, c.valid = c.rows, 0, c.ends[:0], bitmap{}
	if c.values != nil {
		c.values.reset()
	}
	if c.dict != nil {
		c.dict.reset()
	}
	return nil
}

// encode makes the page's buffers and returns the encoded message that describes them.
func (c *ColumnEncoderV20) encode(b *arrayBuffers) []byte {
	switch {
	case c.kind == structNode:
		return arrayMember(5, nil)
	case c.slots == 0:
		return allNulls()
	case c.kind == listNode:
		return b.lists(c.ends, &c.valid)
	case c.packer != nil:
		return c.packer.arrayEncoding(b, c.values.fixed)
	case c.values.shape.kind == shapeNull:
		return allNulls()
	case c.dict != nil:
		return b.dictionary(c)
	case c.valid.zeros == c.slots:
		return allNulls()
	case c.values.shape.kind == shapeVariable:
		return b.texts(c)
	}
	return b.nullable(&c.valid, func() []byte { return b.fixed(c.values, 0) })
}
