package encoding

import (
	"google.golang.org/protobuf/encoding/protowire"

	"tiltyard/shared/lance/pb"
)

// arrayBuffers adds buffers to a page of version 2.0. Its methods return the encoded
// ArrayEncoding of what they add.
//
// Source: protos/encodings_v2_0.proto of the format.
type arrayBuffers struct {
	page *Page
}

// arrayMember is an ArrayEncoding with one member of its oneof.
func arrayMember(num protowire.Number, fields func(*pb.Encoder)) []byte {
	var e pb.Encoder
	e.Message(num, func(e *pb.Encoder) {
		if fields != nil {
			fields(e)
		}
	})
	return e.B
}

// allNulls is nullable=2{all_nulls=3{}}.
func allNulls() []byte {
	return arrayMember(2, func(e *pb.Encoder) { e.Message(3, func(*pb.Encoder) {}) })
}

// flat is flat=1{bits_per_value=1, buffer=2{buffer_index=1}}.
func (b *arrayBuffers) flat(bits int, buffer []byte) []byte {
	index := len(b.page.Buffers)
	b.page.Buffers = append(b.page.Buffers, buffer)
	return arrayMember(1, func(e *pb.Encoder) {
		e.Uint64(1, uint64(bits))
		e.Message(2, func(e *pb.Encoder) { e.Uint64(1, uint64(index)) })
	})
}

// nullable is nullable=2 of no_nulls=1{values=1} or some_nulls=2{validity=1, values=2}.
// The validity comes before the values' buffers.
func (b *arrayBuffers) nullable(valid *bitmap, values func() []byte) []byte {
	return arrayMember(2, func(e *pb.Encoder) {
		if valid.zeros == 0 {
			e.Message(1, func(e *pb.Encoder) { e.AlwaysBytes(1, values()) })
			return
		}
		e.Message(2, func(e *pb.Encoder) {
			e.AlwaysBytes(1, b.flat(1, valid.bytes[:(valid.n+7)/8]))
			e.AlwaysBytes(2, values())
		})
	})
}

// positions is no_nulls of flat 64.
func (b *arrayBuffers) positions(ends []uint64) []byte {
	return b.nullable(&bitmap{n: len(ends)}, func() []byte { return b.flat(64, bytesOf(ends)) })
}

// adjust adds the adjustment to the ends of nulls and returns it.
func adjust(ends []uint64, valid *bitmap) uint64 {
	adjustment := uint64(1)
	if len(ends) > 0 {
		adjustment += ends[len(ends)-1]
	}
	if valid.zeros > 0 {
		for i := range ends {
			if valid.bytes[i/8]>>(i%8)&1 == 0 {
				ends[i] += adjustment
			}
		}
	}
	return adjustment
}

// lists is list=4{offsets=1, null_offset_adjustment=2, num_items=3}.
func (b *arrayBuffers) lists(ends []uint64, valid *bitmap) []byte {
	adjustment := adjust(ends, valid)
	return arrayMember(4, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.positions(ends))
		e.Uint64(2, adjustment)
		e.Uint64(3, adjustment-1)
	})
}

// strings is binary=6{indices=1, bytes=2, null_adjustment=3}, with the bytes compressed
// by c if there is one.
func (b *arrayBuffers) strings(v *values, valid *bitmap, c *compressor) []byte {
	ends := make([]uint64, v.n)
	for i := range ends {
		ends[i] = uint64(v.offsets[i+1])
	}
	adjustment := adjust(ends, valid)
	return arrayMember(6, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.positions(ends))
		e.AlwaysBytes(2, b.packed(v.data, c))
		e.Uint64(3, adjustment)
	})
}

// fixed is the values as they are, with each dimension of vectors from depth on as
// fixed_size_list=3{dimension=1, items=2} of nullable items.
func (b *arrayBuffers) fixed(v *values, depth int) []byte {
	if depth == len(v.shape.dims) {
		return b.flat(v.shape.bits, v.fixed)
	}
	items := &bitmap{}
	if v.hasInvalid(depth) {
		items = &v.valid[depth]
	}
	return arrayMember(3, func(e *pb.Encoder) {
		e.Uint64(1, uint64(v.shape.dims[depth]))
		e.AlwaysBytes(2, b.nullable(items, func() []byte { return b.fixed(v, depth+1) }))
	})
}

// dictionary is dictionary=7{indices=1, items=2, num_dictionary_items=3}.
func (b *arrayBuffers) dictionary(c *ColumnEncoderV20) []byte {
	items, valid := c.dict.items, bitmap{}
	valid.appendOnes(items.n)
	if c.valid.zeros > 0 {
		items.appendEmpty()
		valid.appendZeros(1)
		null := []int32{int32(items.n - 1)}
		for i := range c.slots {
			if c.valid.bytes[i/8]>>(i%8)&1 == 0 {
				putIndices(c.values.fixed[i*c.dict.indexBits/8:], null, c.dict.indexBits)
			}
		}
	}
	return arrayMember(7, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.nullable(&bitmap{n: c.slots}, func() []byte { return b.fixed(c.values, 0) }))
		if items.shape.kind == shapeVariable {
			e.AlwaysBytes(2, b.strings(items, &valid, nil))
		} else {
			e.AlwaysBytes(2, b.nullable(&valid, func() []byte { return b.fixed(items, 0) }))
		}
		e.Uint64(3, uint64(items.n))
	})
}

// appendEmpty appends an empty string or a value of zeros.
func (v *values) appendEmpty() {
	if v.shape.kind == shapeVariable {
		v.offsets = append(v.offsets, int32(len(v.data)))
		v.n++
		return
	}
	clear(v.extendFixed(1))
}
