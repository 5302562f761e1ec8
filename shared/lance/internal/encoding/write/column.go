// Package write turns Arrow arrays into pages of data files of version 2.1 and 2.2. A
// [ColumnEncoder] takes the rows of a field and emits the pages of one of its leaves, in the layout
// and the codecs that take the fewest bytes. choose.go holds the rules for codecs; constant.go,
// miniblock.go, fullzip.go and blob.go each make the pages of one layout and show its buffers.
package write

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A ColumnEncoder turns the rows of a field into the pages of one of its leaves. It collects rows
// until there are enough for a page, so that it holds no more than about two pages, or four of
// texts that seem to repeat (repeats.go). Use it from one goroutine at a time.
//
// A row goes through three stages. The shredder splits it into levels and values (package repdef).
// A page of them gets the cheapest layout that can hold it (constant.go, miniblock.go and
// fullzip.go). The layout compresses the levels and the values by codecs (package codec), or
// replaces the values by indices into a dictionary (index.go).
type ColumnEncoder struct {
	leaf     repdef.Leaf
	rules    rules
	storage  *column.Storage
	shredder *repdef.Shredder
	levels   repdef.Buffer
	values   *values.Values
	lender   lender
	dict     *column.Dictionary // for leaves of a dictionary type, whose values are indices
	packer   *column.Packer     // for packed structs, whose values are packed rows
	repeats  repeats
	step     int    // rows to take at once
	rows     uint64 // in pages
}

// rules are the requirements of a version of the format on its pages.
type rules struct {
	large      bool // chunks may be large, and their sizes are 32 bits
	constants  bool // constant pages may have a value; their levels may be compressed
	runs       bool // levels may be run lengths
	wideItems  bool // values of 64 bits may be indices, too
	offsetBits uint64
}

// NewColumnEncoder returns an encoder for the leaf at the end of path, for data files of version
// 2.1 or 2.2. A type that the format cannot hold is [lance.ErrUnsupported].
func NewColumnEncoder(path repdef.Path, v lance.Version) (*ColumnEncoder, error) {
	path.Leaf.Type = values.StorageType(path.Leaf.Type)
	if v != lance.V2_1 && v != lance.V2_2 {
		return nil, fmt.Errorf("%w: writing pages of version %s", lance.ErrUnsupported, v)
	}
	if len(path.Steps) > repdef.MaxSteps {
		return nil, fmt.Errorf("%w: field %q: nested deeper than %d", lance.ErrUnsupported, path.Leaf.Name, repdef.MaxSteps)
	}
	c := &ColumnEncoder{leaf: path.Leaf, shredder: repdef.NewShredder(&path), step: 1024}
	s, err := c.valueShape(v)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", path.Leaf.Name, err)
	}
	if t, ok := path.Leaf.Type.(*arrow.DictionaryType); ok {
		c.dict = column.NewDictionary(t, s)
		s = values.FixedShape(c.dict.IndexBits)
	}
	c.values = values.New(s)
	if s.Kind == values.Fixed && c.shredder.Lists == 0 {
		c.step = encoding.PageBytes*8/s.ValueBits() + 1
	}
	c.rules = rulesOf(v, values.OffsetBits(path.Leaf.Type))
	if c.storage, err = column.NewStorage(path.Leaf, v); err != nil {
		return nil, fmt.Errorf("field %q: %w", path.Leaf.Name, err)
	}
	return c, nil
}

// valueShape returns the shape of the leaf's values.
func (c *ColumnEncoder) valueShape(v lance.Version) (*values.Shape, error) {
	t, ok := c.leaf.Type.(*arrow.StructType)
	if !ok {
		return values.ShapeToWrite(c.leaf.Type)
	}
	var err error
	if c.packer, err = column.NewPacker(t, v); err != nil {
		return nil, err
	}
	return c.packer.Row, nil
}

// rulesOf returns the limits of a file version.
func rulesOf(v lance.Version, offsetBits uint64) rules {
	if v == lance.V2_1 {
		return rules{offsetBits: offsetBits}
	}
	return rules{
		large:      true,
		constants:  true,
		runs:       true,
		wideItems:  true,
		offsetBits: offsetBits,
	}
}

// Append adds the rows of arr, an array of the field at the start of the path, and passes pages to
// emit as they fill up. The encoder may refer to the memory of arr until the next Append or Flush;
// it never changes that memory, and the caller must not do so either. The type of arr must be the
// field's type or its storage type. A null in a field that is not nullable is an error that names
// the field. After an error the encoder cannot be used any more.
func (c *ColumnEncoder) Append(arr arrow.Array, emit func(encoding.Page) error) error {
	arr = values.Storage(arr)
	for from := 0; from < arr.Len(); {
		n := min(c.step, arr.Len()-from)
		done, err := c.appendPiece(array.NewSlice(arr, int64(from), int64(from+n)), emit)
		if err != nil {
			return err
		}
		if done {
			from += n
		}
		if c.isFull() {
			if err := c.Flush(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size returns the memory of the rows that wait for a page.
func (c *ColumnEncoder) Size() int {
	size := c.values.Memory() + c.repeats.memory() + 2*len(c.levels.Rep) + 2*len(c.levels.Def)
	if c.dict != nil {
		size += c.dict.Items.Memory()
	}
	if c.packer != nil {
		size += c.packer.Memory()
	}
	return size
}

// appendPiece adds some rows. If they are too many at once it adds none and returns false; it has
// then made step smaller, or a page of the rows before.
func (c *ColumnEncoder) appendPiece(rows arrow.Array, emit func(encoding.Page) error) (bool, error) {
	leaf, err := c.shredder.Shred(rows)
	if err != nil {
		return false, err
	}
	size := c.slotBytes(leaf) + 4*c.shredder.N
	if size > 2*encoding.PageBytes && rows.Len() > 1 {
		c.step = max(1, rows.Len()/2)
		return false, nil
	}
	if c.levels.N > 0 && (c.Size()+size > 1<<30 || c.dict != nil && c.dict.Overflows(leaf.(*array.Dictionary), c.shredder)) {
		return false, c.Flush(emit)
	}
	before := c.Size()
	switch {
	case c.dict != nil:
		err = c.dict.AppendIndices(c.values, leaf.(*array.Dictionary), c.shredder)
	case c.packer != nil:
		err = c.packer.AppendRows(c.values, leaf, c.shredder.Spans, c.shredder.ItemLevels())
	case c.borrow(leaf):
	default:
		c.keep()
		err = c.values.AppendArray(leaf, c.shredder.Spans, c.shredder.ItemLevels())
	}
	if err != nil {
		return false, fmt.Errorf("field %q: %w", c.leaf.Name, err)
	}
	if c.repeats.dict != nil {
		if !c.appendRepeats() {
			return false, c.Flush(emit)
		}
		c.levels.Add(c.shredder)
		c.step = encoding.PageBytes/8/max(1, size/rows.Len()) + 1
		return true, nil
	}
	c.levels.Add(c.shredder)
	// The next rows are likely to be about as large; fill the page with them.
	grown, missing := c.Size()-before, max(encoding.PageBytes/8, encoding.PageBytes-c.Size())
	c.step = min(missing/max(1, grown/rows.Len())+1, 1<<21)
	return true, nil
}

// slotBytes estimates the memory of the shredded rows' values.
func (c *ColumnEncoder) slotBytes(leaf arrow.Array) int {
	if c.packer == nil {
		return values.SlotBytes(leaf, c.values.Shape, c.shredder.Spans)
	}
	size := 0
	for i := range c.packer.Members {
		size += values.SlotBytes(values.Storage(leaf.(*array.Struct).Field(i)), c.packer.Members[i].Values.Shape, c.shredder.Spans)
	}
	return size
}

// Flush makes pages of the remaining rows.
func (c *ColumnEncoder) Flush(emit func(encoding.Page) error) error {
	if c.levels.N == 0 {
		return nil
	}
	c.storage.Trained = column.Symbols{}
	layers, visible := c.levels.Finish(c.shredder)
	p := &pageRows{
		rules:       c.rules,
		Storage:     c.storage,
		rep:         c.levels.Rep,
		def:         c.levels.Def,
		n:           c.levels.N,
		maxRep:      uint16(c.shredder.Lists),
		layers:      layers,
		chunkLevels: chunkLevels(c.shredder.Lists, layers),
		visible:     visible,
		values:      c.values,
		dict:        c.dict,
		packer:      c.packer,
		distinct:    c.repeats.distinct,
	}
	// Repeated texts were gathered as indices.
	if c.repeats.dict != nil {
		p.values, p.dict = c.repeats.indices, c.repeats.dict
	}
	encode := p.encode
	if c.leaf.Blob {
		encode = p.encodeBlobs
	}
	err := encode(func(page encoding.Page) error {
		page.Priority = c.rows
		c.rows += uint64(page.Rows)
		return emit(page)
	})
	if err != nil {
		return fmt.Errorf("field %q: %w", c.leaf.Name, err)
	}
	c.levels.Reset()
	c.giveBack()
	c.endRepeats()
	c.values.Reset()
	if c.dict != nil {
		c.dict.Reset()
	}
	if c.packer != nil {
		c.packer.Reset()
	}
	return nil
}

// pageRows are whole rows that become one page, or several if one cannot hold them.
type pageRows struct {
	rules
	*column.Storage
	n           int      // entries
	rep, def    []uint16 // empty when all are 0
	maxRep      uint16
	layers      []pb.RepDefLayer
	chunkLevels int    // entries per chunk
	visible     uint16 // an entry has a stored value when its def is not above this
	values      *values.Values
	dict        *column.Dictionary // items behind the values if these are indices, otherwise nil
	packer      *column.Packer     // source of the values if they are packed rows, otherwise nil
	distinct    bool               // the values are known not to be worth a dictionary
}

// rows counts the rows.
func (p *pageRows) rows() int {
	if p.maxRep == 0 {
		return p.n
	}
	return countLevel(p.rep, p.maxRep)
}

// zipBytes is the size of the longest value from which a page stores values one by one instead of
// in chunks.
const zipBytes = 256

// encode chooses a layout and makes the pages.
func (p *pageRows) encode(emit func(encoding.Page) error) error {
	if p.packer != nil {
		return p.encodePacked(emit)
	}
	// Special forms come first: constants, a dictionary, full-zip for large values.
	first := p.firstValid()
	if first < 0 {
		return emit(p.constantNulls())
	}
	if page, ok := p.constantValue(first); ok {
		return emit(page)
	}
	if end := p.sparseEnd(); end < p.n {
		return p.encodeParts(end, emit)
	}
	if p.dict == nil {
		indices, dict := p.buildDictionary()
		if dict != nil {
			indexed := *p
			indexed.values, indexed.dict = indices, dict
			return indexed.encodeMiniBlocks(emit)
		}
		if p.zips() {
			page, err := p.fullZip()
			if err != nil {
				return err
			}
			return emit(page)
		}
	}
	return p.encodeMiniBlocks(emit)
}

// encodeParts encodes the entries before end and the rest as separate pages.
func (p *pageRows) encodeParts(end int, emit func(encoding.Page) error) error {
	values := p.countValues(end)
	head, err := p.part(0, end, 0, values)
	if err != nil {
		return err
	}
	if err := head.encode(emit); err != nil {
		return err
	}
	tail, err := p.part(end, p.n, values, p.values.N)
	if err != nil {
		return err
	}
	return tail.encode(emit)
}

// encodePacked makes pages of packed structs. Readers expect fixed-width structs in chunks and
// others row by row.
func (p *pageRows) encodePacked(emit func(encoding.Page) error) error {
	if p.values.Shape.Kind == values.Fixed {
		return p.encodeMiniBlocks(emit) // makes constant pages of nulls
	}
	if err := p.packPage(); err != nil {
		return err
	}
	if p.firstValid() < 0 {
		return emit(p.constantNulls())
	}
	page, err := p.fullZip()
	if err != nil {
		return err
	}
	return emit(page)
}

// firstValid returns the position of the first stored value that is not null, or -1.
func (p *pageRows) firstValid() int {
	if p.values.Shape.Kind == values.Null || p.values.N == 0 {
		return -1
	}
	if len(p.def) == 0 {
		return 0
	}
	value := 0
	for _, d := range p.def {
		if d == 0 {
			return value
		}
		if d <= p.visible {
			value++
		}
	}
	return -1
}

// part returns entries [from, to) as a page of its own, with their values [fromValue, toValue).
func (p *pageRows) part(from, to, fromValue, toValue int) (*pageRows, error) {
	part := *p
	part.n, part.distinct = to-from, false
	if len(p.rep) > 0 {
		part.rep = p.rep[from:to]
	}
	if len(p.def) > 0 {
		part.def = p.def[from:to]
	}
	var err error
	part.values, err = p.values.Span(fromValue, toValue)
	return &part, err
}

// packPage packs the waiting rows of variable width.
func (p *pageRows) packPage() error {
	for i := range p.packer.Members {
		m := &p.packer.Members[i]
		m.Codec = codec.FlatCodec(m.Values, 8)
		if m.IsVariable() {
			m.Storage.Trained = column.Symbols{}
			page := pageRows{rules: p.rules, Storage: m.Storage, values: m.Values}
			page.offsetBits = m.Width
			var err error
			if m.Values, m.Codec, err = page.chooseZipCodec(); err != nil {
				return err
			}
		}
	}
	row := 0
	for e := range p.n {
		def := uint16(0)
		if len(p.def) > 0 {
			def = p.def[e]
		}
		// An entry above visible has no stored value; a null in a visible entry is stored empty.
		if def > p.visible {
			continue
		}
		if def == 0 {
			p.values.Data = p.packer.AppendRow(p.values.Data, row)
		}
		if err := p.values.EndValue(); err != nil {
			return err
		}
		row++
	}
	p.packer.Reset()
	return nil
}
