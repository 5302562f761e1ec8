package column

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/internal/encoding/bitpack"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A Dictionary collects the distinct values of a page; the page then stores indices into it. The
// items are one block, which version 2.2 compresses if that makes it smaller:
//
//	fixed      the items
//	variable   u32 32 | u32 start | u32 × (n+1) offsets from 0 | at start: bytes
//	           or the same in u64 with 64
//	LZ4        u32 bytes of the block | LZ4 block of it
//	           or, of items of 64 bits, OutOfLineBitpacking if that is smaller: per 1024
//	           items 16·width u64 words (see bitpack.Pack), and the rest as they are or so
type Dictionary struct {
	Items      *values.Values // each once
	index      map[string]int32
	offsetBits uint64
	IndexBits  int
	MaxItems   int     // bound set by the index width
	maxBytes   int     // of the texts of a dictionary that is made for a page
	Typed      bool    // the leaf is of a dictionary type
	remap      []int32 // scratch: from an array's dictionary to items
	scratch    []int32 // of slots
}

// NewDictionary returns the dictionary for a leaf of a dictionary type.
func NewDictionary(t *arrow.DictionaryType, items *values.Shape) *Dictionary {
	bits := t.IndexType.(arrow.FixedWidthDataType).BitWidth()
	d := &Dictionary{
		Items:      values.New(items),
		index:      map[string]int32{},
		offsetBits: values.OffsetBits(t),
		IndexBits:  bits,
		MaxItems:   math.MaxInt32,
		Typed:      true,
	}
	if bits < 32 {
		d.MaxItems = 1 << bits
		if !arrow.IsUnsignedInteger(t.IndexType.ID()) {
			d.MaxItems = 1 << (bits - 1)
		}
	}
	return d
}

// NewPageDictionary returns a dictionary for a page whose values have this shape: with
// indices of 32 bits to no more than maxItems of items, whose texts have no more than
// maxItems items, whose texts have no more than maxBytes in total. Values of a page with more
// distinct values are stored without a dictionary.
func NewPageDictionary(items *values.Shape, offsetBits uint64, maxItems, maxBytes int) *Dictionary {
	return &Dictionary{
		Items:      values.New(items),
		index:      map[string]int32{},
		offsetBits: offsetBits,
		IndexBits:  32,
		MaxItems:   maxItems,
		maxBytes:   maxBytes,
	}
}

// Reset removes all items and keeps the memory.
func (d *Dictionary) Reset() {
	d.Items.Reset()
	clear(d.index)
}

// mark fills remap: -1 for items of arr's dictionary that a slot refers to, -2 for others.
func (d *Dictionary) mark(arr *array.Dictionary, s *repdef.Shredder) {
	d.remap = d.remap[:0]
	for range arr.Dictionary().Len() {
		d.remap = append(d.remap, -2)
	}
	cut := s.ItemLevels()
	k := 0
	for _, sp := range s.Spans {
		for _, at := range d.slots(arr, sp) {
			if cut == nil || cut[k] == 0 {
				d.remap[at] = -1
			}
			k++
		}
	}
}

// slots returns the indices in a run of slots. The index of a null slot is arbitrary.
func (d *Dictionary) slots(arr *array.Dictionary, sp values.Span) []int32 {
	from := arr.Data().Offset()
	sp.From, sp.To = sp.From+from, sp.To+from
	b := values.BufferBytes(arr, 1)
	d.scratch = d.scratch[:0]
	switch d.IndexBits {
	case 8:
		d.scratch = appendWide(d.scratch, b[sp.From:sp.To])
	case 16:
		d.scratch = appendWide(d.scratch, values.ViewAs[uint16](b)[sp.From:sp.To])
	case 32:
		d.scratch = appendWide(d.scratch, values.ViewAs[uint32](b)[sp.From:sp.To])
	default:
		d.scratch = appendWide(d.scratch, values.ViewAs[uint64](b)[sp.From:sp.To])
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

// Overflows reports whether the slots would add more items than an index can address.
func (d *Dictionary) Overflows(arr *array.Dictionary, s *repdef.Shredder) bool {
	if d.Items.N+arr.Dictionary().Len() <= d.MaxItems {
		return false
	}
	d.mark(arr, s)
	n := d.Items.N
	items := values.New(d.Items.Shape)
	for i, used := range d.remap {
		if used == -1 {
			items.Reset()
			if err := items.AppendArray(values.Storage(arr.Dictionary()), []values.Span{{From: i, To: i + 1}}, nil); err != nil {
				return true
			}
			if _, known := d.index[string(items.Bytes(0))]; !known {
				n++
			}
		}
	}
	return n > d.MaxItems
}

// AppendIndices appends the indices of the slots to v, and adds items that are new.
func (d *Dictionary) AppendIndices(v *values.Values, arr *array.Dictionary, s *repdef.Shredder) error {
	d.remap = d.remap[:0]
	for range arr.Dictionary().Len() {
		d.remap = append(d.remap, -1)
	}
	cut := s.ItemLevels()
	items := values.Storage(arr.Dictionary())
	k := 0
	for _, sp := range s.Spans {
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
		PutIndices(v.ExtendFixed(len(indices)), indices, d.IndexBits)
	}
	return nil
}

// intern finds or adds the item for slot i of an array's dictionary.
func (d *Dictionary) intern(items arrow.Array, i int) error {
	n := d.Items.N
	if err := d.Items.AppendArray(items, []values.Span{{From: i, To: i + 1}}, nil); err != nil {
		return err
	}
	key := d.Items.Bytes(n)
	if at, known := d.index[string(key)]; known {
		d.Items.Truncate(n)
		d.remap[i] = at
		return nil
	}
	d.index[string(key)] = int32(n)
	d.remap[i] = int32(n)
	return nil
}

// PutIndices writes indices of the given width in bits to out.
func PutIndices(out []byte, indices []int32, bits int) {
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

// Block encodes the items. It compresses them by c if c is not nil and the result is smaller.
func (d *Dictionary) Block(c *compress.Compressor) (pb.Codec, []byte) {
	codec, plain := d.plainBlock()
	if c == nil {
		return codec, plain
	}
	compressed := c.Append(nil, plain)
	if bitpacked, b := d.bitpackedBlock(); b != nil && len(b) < min(len(plain), len(compressed)) {
		return bitpacked, b
	}
	if len(compressed) >= len(plain) {
		return codec, plain
	}
	return c.Wrap(codec), compressed
}

// bitpackedBlock packs the items if they have 64 bits, all with the same width.
func (d *Dictionary) bitpackedBlock() (pb.Codec, []byte) {
	if d.Items.Shape.Kind != values.Fixed || d.Items.Shape.Bits != 64 || d.Items.Shape.Dims != nil {
		return nil, nil
	}
	items := values.ViewAs[uint64](d.Items.Fixed)
	width := max(1, bitpack.Width(items))
	if width == 64 {
		return nil, nil
	}
	bitpacked := &pb.OutOfLineBitpacking{UncompressedBits: 64, Values: &pb.Flat{BitsPerValue: uint64(width)}}
	return bitpacked, codec.AppendBitpacked(nil, items, width)
}

// plainBlock returns the items as an uncompressed block. For texts that is the offset width, the
// position of the bytes, the offsets, and the bytes.
func (d *Dictionary) plainBlock() (pb.Codec, []byte) {
	v := d.Items
	if v.Shape.Kind != values.Variable {
		return codec.FlatCodec(v, 1), v.Fixed
	}
	width := int(d.offsetBits / 8)
	start := (v.N + 3) * width
	b := make([]byte, 0, start+len(v.Data))
	b = codec.AppendWord(b, d.offsetBits, width)
	b = codec.AppendWord(b, uint64(start), width)
	for _, o := range v.Offsets {
		b = codec.AppendWord(b, uint64(o), width)
	}
	return &pb.Variable{Offsets: &pb.Flat{BitsPerValue: d.offsetBits}}, append(b, v.Data...)
}

// AppendValues appends the indices of all values to indices, and adds items that are new. A value
// whose level is not 0 is null and gets an arbitrary index. It stops and returns false when there
// are too many items.
func (d *Dictionary) AppendValues(indices, v *values.Values, levels []uint16) bool {
	out := values.ViewAs[uint32](indices.ExtendFixed(v.N))
	at := int32(0)
	for i := range out {
		if len(levels) == 0 || levels[i] == 0 {
			var ok bool
			if at, ok = d.IndexOf(v.Bytes(i)); !ok {
				return false
			}
		}
		out[i] = uint32(at)
	}
	return true
}

// IndexBytes estimates the packed size of n indices.
func (d *Dictionary) IndexBytes(n int) int {
	return n * bitpack.Width([]uint32{uint32(d.Items.N - 1)}) / 8
}

// IndexOf finds or adds the item with these bytes. It returns false when there are too many items.
func (d *Dictionary) IndexOf(b []byte) (int32, bool) {
	at, known := d.index[string(b)]
	if known {
		return at, true
	}
	if d.Items.N == d.MaxItems || len(d.Items.Data)+len(b) > d.maxBytes {
		return 0, false
	}
	at = int32(d.Items.N)
	d.index[string(b)] = at
	if d.Items.Shape.Kind == values.Variable {
		return at, d.Items.AppendValue(b) == nil
	}
	d.Items.AppendFixed(b, 1)
	return at, true
}
