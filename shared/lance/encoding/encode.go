package encoding

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A Page is one encoded page: its buffers and the message that tells how to read them.
type Page struct {
	Encoding pb.Any
	Buffers  [][]byte // valid until the function that was given the page returns
	Rows     int      // below a fixed-size list of structs, or lists in 2.0: their items
	Priority uint64   // number of the first row (2.0: of the top-level row where it begins)
}

func newPage(l pb.Layout, rows int, buffers ...[]byte) Page {
	return Page{
		Encoding: pb.Any{TypeURL: pb.TypePageLayout, Value: pb.MarshalLayout(l)},
		Buffers:  buffers,
		Rows:     rows,
	}
}

// pageBytes is how much Arrow memory of a leaf becomes one page: enough that pages are
// read in large requests, and what the native writer takes.
const pageBytes = 8 << 20

// A ColumnEncoder turns the rows of a field into the pages of one of its leaves. Rows
// are gathered and encoded when there are enough for a page, so that it
// holds no more than about two pages, or four of texts that seem to repeat
// (repeats_encode.go). Use it from one goroutine at a time.
//
// A row goes through three stages. The shredder splits it into levels and values
// (repdef_shred.go). A page's worth of them is given the cheapest layout that holds it
// (layouts are constant_, miniblock_ and fullzip_encode.go), which compresses the
// levels and the values by codecs (repdef_encode.go, flat_, variable_ and
// bitpack_encode.go, dictionary_encode.go).
type ColumnEncoder struct {
	leaf     Leaf
	rules    rules
	storage  *storageChoice
	shredder *shredder
	levels   levelBuffer
	values   *values
	lender   lender
	dict     *dictionaryBuilder // for leaves of a dictionary type, whose values are indices
	packer   *structPacker      // for packed structs, whose values are packed rows
	repeats  repeats
	step     int    // rows to take at once
	rows     uint64 // in pages
}

// rules are what a version of the format asks of pages.
type rules struct {
	large      bool // chunks may be large, and their sizes are 32 bits
	constants  bool // constant pages may have a value; their levels may be compressed
	runs       bool // levels may be run lengths
	wideItems  bool // values of 64 bits may be indices, too
	offsetBits uint64
}

// NewColumnEncoder returns an encoder for the leaf at the end of path, for data files
// of version 2.1 or 2.2. Types that the format cannot hold are [lance.ErrUnsupported].
func NewColumnEncoder(path Path, v lance.Version) (*ColumnEncoder, error) {
	path.Leaf.Type = storageType(path.Leaf.Type)
	if v != lance.V2_1 && v != lance.V2_2 {
		return nil, fmt.Errorf("%w: writing pages of version %s", lance.ErrUnsupported, v)
	}
	if len(path.Steps) > maxSteps {
		return nil, fmt.Errorf("%w: field %q: nested deeper than %d", lance.ErrUnsupported, path.Leaf.Name, maxSteps)
	}
	c := &ColumnEncoder{leaf: path.Leaf, shredder: newShredder(&path), step: 1024}
	s, err := c.valueShape(v)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", path.Leaf.Name, err)
	}
	if t, ok := path.Leaf.Type.(*arrow.DictionaryType); ok {
		c.dict = newDictionary(t, s)
		s = fixedShape(c.dict.indexBits)
	}
	c.values = newValues(s)
	if s.kind == shapeFixed && c.shredder.lists == 0 {
		c.step = pageBytes*8/s.valueBits() + 1
	}
	c.rules = rulesOf(v, offsetBits(path.Leaf.Type))
	if c.storage, err = newStorageChoice(path.Leaf, v); err != nil {
		return nil, fmt.Errorf("field %q: %w", path.Leaf.Name, err)
	}
	return c, nil
}

// valueShape returns the shape of the leaf's values.
func (c *ColumnEncoder) valueShape(v lance.Version) (*shape, error) {
	t, ok := c.leaf.Type.(*arrow.StructType)
	if !ok {
		return leafShape(c.leaf.Type)
	}
	var err error
	if c.packer, err = newStructPacker(t, v); err != nil {
		return nil, err
	}
	return c.packer.row, nil
}

// maxSteps keeps the numbers of levels below 256.
const maxSteps = 64

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

func offsetBits(t arrow.DataType) uint64 {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return 64
	}
	return 32
}

// leafShape is shapeOf for the types that can be written.
func leafShape(t arrow.DataType) (*shape, error) {
	inner := t
	for inner.ID() == arrow.FIXED_SIZE_LIST {
		inner = storageType(inner.(*arrow.FixedSizeListType).Elem())
	}
	if d, ok := t.(*arrow.DictionaryType); ok {
		inner = storageType(d.ValueType)
	}
	unsupported := fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, t)
	switch inner.ID() {
	case arrow.STRUCT, arrow.DECIMAL32, arrow.DECIMAL64, arrow.INTERVAL_MONTHS,
		arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO, arrow.DICTIONARY:
		return nil, unsupported
	case arrow.FIXED_SIZE_BINARY:
		if inner.(*arrow.FixedSizeBinaryType).ByteWidth < 1 {
			return nil, unsupported
		}
	case arrow.NULL, arrow.BOOL:
		if inner != t && inner.ID() == arrow.NULL || t.ID() == arrow.DICTIONARY {
			return nil, unsupported
		}
	}
	return shapeOf(t)
}

// Append adds the rows of arr, an array of the field where the path begins, and hands
// pages to emit as they fill. Until the next Append or Flush it may hold on to the memory
// of arr, which it never changes and which must stay as it is. The type of arr must be the
// field's, extension types taken off or not; a null in a field that is not nullable is
// an error that names it. After an error the encoder is of no more use.
func (c *ColumnEncoder) Append(arr arrow.Array, emit func(Page) error) error {
	arr = storage(arr)
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

// Size returns how much memory the rows take that no page has been made of.
func (c *ColumnEncoder) Size() int {
	size := c.values.memory() + c.repeats.memory() + 2*len(c.levels.rep) + 2*len(c.levels.def)
	if c.dict != nil {
		size += c.dict.items.memory()
	}
	if c.packer != nil {
		size += c.packer.memory()
	}
	return size
}

// appendPiece adds some rows. It adds none and reports false when they are too many at
// once; then step is smaller or a page has been made of what was there before.
func (c *ColumnEncoder) appendPiece(rows arrow.Array, emit func(Page) error) (bool, error) {
	leaf, err := c.shredder.shred(rows)
	if err != nil {
		return false, err
	}
	size := c.slotBytes(leaf) + 4*c.shredder.n
	if size > 2*pageBytes && rows.Len() > 1 {
		c.step = max(1, rows.Len()/2)
		return false, nil
	}
	if c.levels.n > 0 && (c.Size()+size > 1<<30 || c.dict != nil && c.dict.overflows(leaf.(*array.Dictionary), c.shredder)) {
		return false, c.Flush(emit)
	}
	before := c.Size()
	switch {
	case c.dict != nil:
		err = c.dict.appendIndices(c.values, leaf.(*array.Dictionary), c.shredder)
	case c.packer != nil:
		err = c.packer.appendRows(c.values, leaf, c.shredder.spans, c.shredder.itemLevels())
	case c.borrow(leaf):
	default:
		c.keep()
		err = c.values.appendArray(leaf, c.shredder.spans, c.shredder.itemLevels())
	}
	if err != nil {
		return false, fmt.Errorf("field %q: %w", c.leaf.Name, err)
	}
	if c.repeats.dict != nil {
		if !c.appendRepeats() {
			return false, c.Flush(emit)
		}
		c.levels.add(c.shredder)
		c.step = pageBytes/8/max(1, size/rows.Len()) + 1
		return true, nil
	}
	c.levels.add(c.shredder)
	// The next rows are likely to be about as large; fill the page with them.
	grown, missing := c.Size()-before, max(pageBytes/8, pageBytes-c.Size())
	c.step = min(missing/max(1, grown/rows.Len())+1, 1<<21)
	return true, nil
}

// slotBytes returns how much memory the values of the shredded rows take, about.
func (c *ColumnEncoder) slotBytes(leaf arrow.Array) int {
	if c.packer == nil {
		return slotBytes(leaf, c.values.shape, c.shredder.spans)
	}
	size := 0
	for i := range c.packer.members {
		size += slotBytes(storage(leaf.(*array.Struct).Field(i)), c.packer.members[i].values.shape, c.shredder.spans)
	}
	return size
}

// Flush makes pages of all rows that are left.
func (c *ColumnEncoder) Flush(emit func(Page) error) error {
	if c.levels.n == 0 {
		return nil
	}
	c.storage.trained = trainedSymbols{}
	layers, visible := c.levels.finish(c.shredder)
	p := &pageRows{
		rules:         c.rules,
		storageChoice: c.storage,
		rep:           c.levels.rep,
		def:           c.levels.def,
		n:             c.levels.n,
		maxRep:        uint16(c.shredder.lists),
		layers:        layers,
		chunkLevels:   chunkLevels(c.shredder.lists, layers),
		visible:       visible,
		values:        c.values,
		dict:          c.dict,
		packer:        c.packer,
		distinct:      c.repeats.distinct,
	}
	if c.repeats.dict != nil {
		p.values, p.dict = c.repeats.indices, c.repeats.dict
	}
	encode := p.encode
	if c.leaf.Blob {
		encode = p.encodeBlobs
	}
	err := encode(func(page Page) error {
		page.Priority = c.rows
		c.rows += uint64(page.Rows)
		return emit(page)
	})
	if err != nil {
		return fmt.Errorf("field %q: %w", c.leaf.Name, err)
	}
	c.levels.reset()
	c.giveBack()
	c.endRepeats()
	c.values.reset()
	if c.dict != nil {
		c.dict.reset()
	}
	if c.packer != nil {
		c.packer.reset()
	}
	return nil
}

// pageRows are whole rows to be made one page, or several where one cannot hold them.
type pageRows struct {
	rules
	*storageChoice
	n           int      // entries
	rep, def    []uint16 // empty when all are 0
	maxRep      uint16
	layers      []pb.RepDefLayer
	chunkLevels int    // how many entries fit in a chunk
	visible     uint16 // an entry has a stored value when its def is not above this
	values      *values
	dict        *dictionaryBuilder // what the values are indices into; nil when they are not
	packer      *structPacker      // what made the values, if they are packed rows
	distinct    bool               // the values are known not to be worth a dictionary
}

// rows counts the rows.
func (p *pageRows) rows() int {
	if p.maxRep == 0 {
		return p.n
	}
	return countLevel(p.rep, p.maxRep)
}

// zipBytes is the size from which values are stored one by one rather than in chunks.
const zipBytes = 256

// encode chooses a layout.
func (p *pageRows) encode(emit func(Page) error) error {
	if p.packer != nil {
		return p.encodePacked(emit)
	}
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

// encodeParts makes pages of the entries before end and others of those behind.
func (p *pageRows) encodeParts(end int, emit func(Page) error) error {
	values := p.countValues(end)
	head, err := p.part(0, end, 0, values)
	if err != nil {
		return err
	}
	if err := head.encode(emit); err != nil {
		return err
	}
	tail, err := p.part(end, p.n, values, p.values.n)
	if err != nil {
		return err
	}
	return tail.encode(emit)
}

// encodePacked makes pages of packed structs. Readers expect those of fixed width in
// chunks and others row by row.
func (p *pageRows) encodePacked(emit func(Page) error) error {
	if p.values.shape.kind == shapeFixed {
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
	if p.values.shape.kind == shapeNull || p.values.n == 0 {
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

// part returns entries [from, to) and the values [fromValue, toValue) that they store.
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
	part.values, err = p.values.span(fromValue, toValue)
	return &part, err
}
