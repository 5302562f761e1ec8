package version20

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/fsst"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// maxTexts bounds the distinct texts of a page with a dictionary. Indices of texts take one byte,
// of which 0 is null.
const maxTexts = 99

// texts encodes the page's variable values: as indices if few are distinct, compressed if the
// field's metadata requests it, and plain otherwise.
func (b *arrayBuffers) texts(c *ColumnEncoder) []byte {
	if c.node.Type.ID() == arrow.STRING {
		if indices, items := c.fewTexts(); items != nil {
			return b.shiftedDictionary(indices, items)
		}
	}
	if c.storage.Options.Symbols {
		if symbols := codec.TrainText(c.values); symbols != nil {
			return b.symbols(codec.CompressText(symbols, c.values), &c.valid, symbols)
		}
	}
	if general := c.storage.General; general != nil {
		return b.strings(c.values, &c.valid, general[0])
	}
	return b.strings(c.values, &c.valid, nil)
}

// fewTexts returns the page's values as indices, 0 for null and k for item k-1. The items are nil
// if a dictionary does not save anything.
func (c *ColumnEncoder) fewTexts() ([]byte, *values.Values) {
	v := c.values
	if v.N < column.DictMinValues {
		return nil, nil
	}
	d := column.NewPageDictionary(v.Shape, 64, maxTexts, column.DictMaxBytes)
	indices := make([]byte, v.N)
	for i := range v.N {
		if c.valid.Zeros > 0 && c.valid.Bytes[i/8]>>(i%8)&1 == 0 {
			continue
		}
		at, ok := d.IndexOf(v.Bytes(i))
		if !ok {
			return nil, nil
		}
		indices[i] = byte(at + 1)
	}
	if d.Items.N == 0 {
		return nil, nil
	}
	return indices, d.Items
}

// shiftedDictionary returns dictionary=7{indices=1, items=2, num_dictionary_items=3} with indices
// of a byte.
func (b *arrayBuffers) shiftedDictionary(indices []byte, items *values.Values) []byte {
	all := &values.Bitmap{}
	return arrayMember(7, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.nullable(all, func() []byte { return b.flat(8, indices) }))
		e.AlwaysBytes(2, b.strings(items, all, nil))
		e.Uint64(3, uint64(items.N))
	})
}

// symbols returns fsst=8{binary=1, symbol_table=2}.
func (b *arrayBuffers) symbols(packed *values.Values, valid *values.Bitmap, encoder *fsst.Encoder) []byte {
	return arrayMember(8, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.strings(packed, valid, nil))
		e.AlwaysBytes(2, encoder.Table())
	})
}

// packed returns flat=1 of bytes, with compression=3{scheme=1} if c is not nil and makes them
// smaller.
func (b *arrayBuffers) packed(plain []byte, c *compress.Compressor) []byte {
	if c == nil || len(plain) == 0 {
		return b.flat(8, plain)
	}
	packed := c.Append(nil, plain)
	if len(packed) >= len(plain) {
		return b.flat(8, plain)
	}
	scheme := "lz4"
	if c.Scheme == pb.Zstd {
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
