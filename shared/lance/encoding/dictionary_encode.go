package encoding

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/pb"
)

// A dictionaryBuilder gathers the distinct values of a page, whose values are then indices into it.
// The items are one block, which in version 2.2 is compressed if that helps:
//
//	fixed      the items
//	variable   u32 32 | u32 start | u32 × (n+1) offsets from 0 | at start: bytes
//	           or the same in u64 with 64
//	LZ4        u32 bytes of the block | LZ4 block of it
//	           or, of items of 64 bits, OutOfLineBitpacking if that is smaller: per 1024
//	           items 16·width u64 words (see bitpack.Pack), and the rest as they are or so
type dictionaryBuilder struct {
	items      *values
	index      map[string]int32
	offsetBits uint64
	indexBits  int
	maxItems   int     // that an index can say
	maxBytes   int     // of the texts of a dictionary that is made for a page
	typed      bool    // the leaf is of a dictionary type
	remap      []int32 // scratch: from an array's dictionary to items
	scratch    []int32 // of slots
}

// newDictionary returns the dictionary for a leaf of a dictionary type.
func newDictionary(t *arrow.DictionaryType, items *shape) *dictionaryBuilder {
	bits := t.IndexType.(arrow.FixedWidthDataType).BitWidth()
	d := &dictionaryBuilder{
		items:      newValues(items),
		index:      map[string]int32{},
		offsetBits: offsetBits(t),
		indexBits:  bits,
		maxItems:   math.MaxInt32,
		typed:      true,
	}
	if bits < 32 {
		d.maxItems = 1 << bits
		if !arrow.IsUnsignedInteger(t.IndexType.ID()) {
			d.maxItems = 1 << (bits - 1)
		}
	}
	return d
}

func (d *dictionaryBuilder) reset() {
	d.items.reset()
	clear(d.index)
}

// mark fills remap: -1 for the items of arr's dictionary that the slots use, -2 for
// others.
func (d *dictionaryBuilder) mark(arr *array.Dictionary, s *shredder) {
	d.remap = d.remap[:0]
	for range arr.Dictionary().Len() {
		d.remap = append(d.remap, -2)
	}
	cut := s.itemLevels()
	k := 0
	for _, sp := range s.spans {
		for _, at := range d.slots(arr, sp) {
			if cut == nil || cut[k] == 0 {
				d.remap[at] = -1
			}
			k++
		}
	}
}

// slots returns the indices in a run of slots, which may be anything where they are null.
func (d *dictionaryBuilder) slots(arr *array.Dictionary, sp span) []int32 {
	from := arr.Data().Offset()
	sp.from, sp.to = sp.from+from, sp.to+from
	b := bufferBytes(arr, 1)
	d.scratch = d.scratch[:0]
	switch d.indexBits {
	case 8:
		d.scratch = appendWide(d.scratch, b[sp.from:sp.to])
	case 16:
		d.scratch = appendWide(d.scratch, viewAs[uint16](b)[sp.from:sp.to])
	case 32:
		d.scratch = appendWide(d.scratch, viewAs[uint32](b)[sp.from:sp.to])
	default:
		d.scratch = appendWide(d.scratch, viewAs[uint64](b)[sp.from:sp.to])
	}
	return d.scratch
}

func appendWide[T bitpack.Integer](out []int32, indices []T) []int32 {
	out = slices.Grow(out, len(indices))[:len(indices)]
	for i, index := range indices {
		out[i] = int32(index)
	}
	return out
}

// overflows reports whether there would be more items than an index can say.
func (d *dictionaryBuilder) overflows(arr *array.Dictionary, s *shredder) bool {
	if d.items.n+arr.Dictionary().Len() <= d.maxItems {
		return false
	}
	d.mark(arr, s)
	n := d.items.n
	items := newValues(d.items.shape)
	for i, used := range d.remap {
		if used == -1 {
			items.reset()
			if err := items.appendArray(storage(arr.Dictionary()), []span{{i, i + 1}}, nil); err != nil {
				return true
			}
			if _, known := d.index[string(items.bytes(0))]; !known {
				n++
			}
		}
	}
	return n > d.maxItems
}

// appendIndices appends the indices of the slots to v, adding items as they come up.
func (d *dictionaryBuilder) appendIndices(v *values, arr *array.Dictionary, s *shredder) error {
	d.remap = d.remap[:0]
	for range arr.Dictionary().Len() {
		d.remap = append(d.remap, -1)
	}
	cut := s.itemLevels()
	items := storage(arr.Dictionary())
	k := 0
	for _, sp := range s.spans {
		indices := d.slots(arr, sp)
		for i, at := range indices {
			indices[i] = 0
			if cut == nil || cut[k] == 0 {
				if d.remap[at] < 0 {
					if err := d.intern(items, int(at)); err != nil {
						return err
					}
				}
				indices[i] = d.remap[at]
			}
			k++
		}
		putIndices(v.extendFixed(len(indices)), indices, d.indexBits)
	}
	return nil
}

// intern finds or makes the item for slot i of an array's dictionary.
func (d *dictionaryBuilder) intern(items arrow.Array, i int) error {
	n := d.items.n
	if err := d.items.appendArray(items, []span{{i, i + 1}}, nil); err != nil {
		return err
	}
	key := d.items.bytes(n)
	if at, known := d.index[string(key)]; known {
		d.items.truncate(n)
		d.remap[i] = at
		return nil
	}
	d.index[string(key)] = int32(n)
	d.remap[i] = int32(n)
	return nil
}

// truncate keeps the first n values.
func (v *values) truncate(n int) {
	v.n = n
	if v.shape.kind == shapeVariable {
		v.offsets = v.offsets[:v.n+1]
		v.data = v.data[:v.offsets[v.n]]
		return
	}
	v.fixed = v.fixed[:v.n*v.shape.valueBits()/8]
}

// putIndices puts indices of some width into out.
func putIndices(out []byte, indices []int32, bits int) {
	for i, index := range indices {
		switch bits {
		case 8:
			out[i] = byte(index)
		case 16:
			binary.LittleEndian.PutUint16(out[2*i:], uint16(index))
		case 32:
			binary.LittleEndian.PutUint32(out[4*i:], uint32(index))
		default:
			binary.LittleEndian.PutUint64(out[8*i:], uint64(index))
		}
	}
}

// block encodes the items, compressed by c if there is one and it helps.
func (d *dictionaryBuilder) block(c *compressor) (pb.Codec, []byte) {
	codec, plain := d.plainBlock()
	if c == nil {
		return codec, plain
	}
	compressed := c.append(nil, plain)
	if bitpacked, b := d.bitpackedBlock(); b != nil && len(b) < min(len(plain), len(compressed)) {
		return bitpacked, b
	}
	if len(compressed) >= len(plain) {
		return codec, plain
	}
	return c.wrap(codec), compressed
}

// bitpackedBlock packs the items, all with the same width, if they are of 64 bits.
func (d *dictionaryBuilder) bitpackedBlock() (pb.Codec, []byte) {
	if d.items.shape.kind != shapeFixed || d.items.shape.bits != 64 || d.items.shape.dims != nil {
		return nil, nil
	}
	items := viewAs[uint64](d.items.fixed)
	width := max(1, bitpack.Width(items))
	if width == 64 {
		return nil, nil
	}
	codec := &pb.OutOfLineBitpacking{UncompressedBits: 64, Values: &pb.Flat{BitsPerValue: uint64(width)}}
	return codec, appendBitpacked(nil, items, width)
}

func (d *dictionaryBuilder) plainBlock() (pb.Codec, []byte) {
	v := d.items
	if v.shape.kind != shapeVariable {
		return v.flatCodec(1), v.fixed
	}
	width := int(d.offsetBits / 8)
	start := (v.n + 3) * width
	b := make([]byte, 0, start+len(v.data))
	b = appendWord(b, d.offsetBits, width)
	b = appendWord(b, uint64(start), width)
	for _, o := range v.offsets {
		b = appendWord(b, uint64(o), width)
	}
	return &pb.Variable{Offsets: &pb.Flat{BitsPerValue: d.offsetBits}}, append(b, v.data...)
}

// dictSample is how many values are looked at for whether any comes twice.
const dictSample = 4096

// buildDictionary returns 32-bit indices and a dictionary for the values, or nil when
// that is not done for their type or would not make them much smaller.
func (p *pageRows) buildDictionary() (*values, *dictionaryBuilder) {
	v := p.values
	if p.distinct || v.n < dictMinValues || !p.mayIndex() || looksDistinct(v) {
		return nil, nil
	}
	indices, d := p.indexValues(min(v.n/p.options.dictDivisor, dictMaxItems))
	if d == nil || !p.worthIndexing(d) {
		return nil, nil
	}
	return indices, d
}

// indexValues is buildDictionary for values that are to have up to maxItems of items,
// whether they take less room then or not.
func (p *pageRows) indexValues(maxItems int) (*values, *dictionaryBuilder) {
	d := &dictionaryBuilder{
		items:      newValues(p.values.shape),
		index:      map[string]int32{},
		offsetBits: p.offsetBits,
		indexBits:  32,
		maxItems:   maxItems,
		maxBytes:   p.options.dictMaxBytes,
	}
	// A null number goes on with the item before it. Null texts are empty ones, as in
	// arrays, which the native writer takes as they are.
	var levels []uint16
	if p.values.shape.kind == shapeFixed {
		levels = p.valueLevels()
	}
	indices := newValues(fixedShape(32))
	if !d.appendValues(indices, p.values, levels) {
		return nil, nil
	}
	return indices, d
}

// appendValues appends the indices of all values to indices, adding items as they come
// up. Values with a level other than 0 may have any. It stops and reports false when
// there are too many items.
func (d *dictionaryBuilder) appendValues(indices, v *values, levels []uint16) bool {
	out := viewAs[uint32](indices.extendFixed(v.n))
	at := int32(0)
	for i := range out {
		if len(levels) == 0 || levels[i] == 0 {
			var ok bool
			if at, ok = d.indexOf(v.bytes(i)); !ok {
				return false
			}
		}
		out[i] = uint32(at)
	}
	return true
}

// indexBytes returns about how much the indices of n values take.
func (d *dictionaryBuilder) indexBytes(n int) int {
	return n * bitpack.Width([]uint32{uint32(d.items.n - 1)}) / 8
}

// worthIndexing reports whether the values take much less room with the dictionary.
func (p *pageRows) worthIndexing(d *dictionaryBuilder) bool {
	n := p.values.n
	if n < dictMinValues || d.items.n > n/p.options.dictDivisor {
		return false
	}
	indexed := d.items.memory() + d.indexBytes(n)
	return float64(indexed) < p.options.dictRatio*float64(p.plainBytes()) && indexed < p.textBytes(indexed)
}

// mayIndex reports whether values of this shape may become indices in this version.
func (p *pageRows) mayIndex() bool {
	s := p.values.shape
	if s.kind == shapeVariable {
		return true
	}
	return s.kind == shapeFixed && s.dims == nil && (s.bits == 128 || s.bits == 64 && p.wideItems)
}

// plainBytes is about what the values take without a dictionary.
func (p *pageRows) plainBytes() int {
	v := p.values
	if v.shape.kind == shapeVariable {
		return len(v.data) + v.n*int(p.offsetBits/8)
	}
	if v.shape.bits == 64 && !p.options.compression.none && !p.zips() {
		return min(len(v.fixed), 8*packedSize(viewAs[uint64](v.fixed)))
	}
	return len(v.fixed)
}

// textBytes is about what the values take when they are compressed by symbols, if that
// may come near indexed bytes.
func (p *pageRows) textBytes(indexed int) int {
	if p.values.shape.kind != shapeVariable || 5*indexed < p.plainBytes() || !p.wantsSymbols() {
		return math.MaxInt
	}
	symbols := p.symbols()
	if symbols == nil {
		return math.MaxInt
	}
	return p.values.n*int(p.offsetBits/8) + int(float64(len(p.values.data))*symbols.Ratio)
}

// indexOf finds or makes the item with these bytes, unless there are too many.
func (d *dictionaryBuilder) indexOf(b []byte) (int32, bool) {
	at, known := d.index[string(b)]
	if known {
		return at, true
	}
	if d.items.n == d.maxItems || len(d.items.data)+len(b) > d.maxBytes {
		return 0, false
	}
	at = int32(d.items.n)
	d.index[string(b)] = at
	if d.items.shape.kind == shapeVariable {
		return at, d.items.appendValue(b) == nil
	}
	d.items.appendFixed(b, 1)
	return at, true
}

// looksDistinct reports whether hardly a value of a sample comes twice.
func looksDistinct(v *values) bool {
	step := max(1, v.n/dictSample)
	seen := make(map[uint64]struct{}, min(v.n, dictSample)) // hashes do for a guess
	seed := maphash.MakeSeed()
	sampled := 0
	for i := 0; i < v.n; i += step {
		seen[maphash.Bytes(seed, v.bytes(i))] = struct{}{}
		sampled++
	}
	return len(seen)*100 >= sampled*98
}
