package encoding

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/encoding/fsst"
	"tiltyard/shared/lance/pb"
)

// maxItemsV20 is how many distinct texts a page may have to be given a dictionary.
const maxItemsV20 = 99

// texts is the page's variable values: as indices when they are few different texts,
// compressed when the field's metadata asks for it, or else as they are.
func (b *arrayBuffers) texts(c *ColumnEncoderV20) []byte {
	if c.node.Type.ID() == arrow.STRING {
		if indices, items := c.fewTexts(); items != nil {
			return b.shiftedDictionary(indices, items)
		}
	}
	if c.storage.options.symbols {
		if symbols := trainText(c.values); symbols != nil {
			return b.symbols(compressText(symbols, c.values), &c.valid, symbols)
		}
	}
	if general := c.storage.general; general != nil {
		return b.strings(c.values, &c.valid, general[0])
	}
	return b.strings(c.values, &c.valid, nil)
}

// fewTexts returns the page's values as indices, 0 for null and k for item k-1. There
// are no items when it does not pay.
func (c *ColumnEncoderV20) fewTexts() ([]byte, *values) {
	v := c.values
	if v.n < dictMinValues {
		return nil, nil
	}
	d := &dictionaryBuilder{
		items:    newValues(v.shape),
		index:    map[string]int32{},
		maxItems: maxItemsV20,
		maxBytes: dictMaxBytes,
	}
	indices := make([]byte, v.n)
	for i := range v.n {
		if c.valid.zeros > 0 && c.valid.bytes[i/8]>>(i%8)&1 == 0 {
			continue
		}
		at, ok := d.indexOf(v.bytes(i))
		if !ok {
			return nil, nil
		}
		indices[i] = byte(at + 1)
	}
	if d.items.n == 0 {
		return nil, nil
	}
	return indices, d.items
}

// shiftedDictionary is dictionary=7{indices=1, items=2, num_dictionary_items=3} of bytes.
func (b *arrayBuffers) shiftedDictionary(indices []byte, items *values) []byte {
	all := &bitmap{}
	return arrayMember(7, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.nullable(all, func() []byte { return b.flat(8, indices) }))
		e.AlwaysBytes(2, b.strings(items, all, nil))
		e.Uint64(3, uint64(items.n))
	})
}

// symbols is fsst=8{binary=1, symbol_table=2}.
func (b *arrayBuffers) symbols(packed *values, valid *bitmap, encoder *fsst.Encoder) []byte {
	return arrayMember(8, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.strings(packed, valid, nil))
		e.AlwaysBytes(2, encoder.Table())
	})
}

// packed is a flat=1 of bytes with compression=3{scheme=1}, when that is wanted.
func (b *arrayBuffers) packed(plain []byte, c *compressor) []byte {
	if c == nil || len(plain) == 0 {
		return b.flat(8, plain)
	}
	packed := c.append(nil, plain)
	if len(packed) >= len(plain) {
		return b.flat(8, plain)
	}
	scheme := "lz4"
	if c.scheme == pb.Zstd {
		scheme = "zstd"
	}
	index := len(b.page.Buffers)
	b.page.Buffers = append(b.page.Buffers, packed)
	return arrayMember(1, func(e *pb.Encoder) {
		e.Uint64(1, 8)
		e.Message(2, func(e *pb.Encoder) { e.Uint64(1, uint64(index)) })
		e.Message(3, func(e *pb.Encoder) { e.String(1, scheme) })
	})
}
