package version20

import (
	"google.golang.org/protobuf/encoding/protowire"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// arrayBuffers adds buffers to a page of version 2.0. Each method returns an encoded ArrayEncoding
// for the buffers that it adds. The comments of the methods give the fields of the message as
// name=number.
//
// Source: protos/encodings_v2_0.proto of the format.
type arrayBuffers struct {
	page *encoding.Page
}

// arrayMember returns an ArrayEncoding with one member of its oneof.
func arrayMember(num protowire.Number, fields func(*pb.Encoder)) []byte {
	var e pb.Encoder
	e.Message(num, func(e *pb.Encoder) {
		if fields != nil {
			fields(e)
		}
	})
	return e.B
}

// allNulls returns nullable=2{all_nulls=3{}}.
func allNulls() []byte {
	return arrayMember(2, func(e *pb.Encoder) { e.Message(3, func(*pb.Encoder) {}) })
}

// flat returns flat=1{bits_per_value=1, buffer=2{buffer_index=1}}.
func (b *arrayBuffers) flat(bits int, buffer []byte) []byte {
	index := len(b.page.Buffers)
	b.page.Buffers = append(b.page.Buffers, buffer)
	return arrayMember(1, func(e *pb.Encoder) {
		e.Uint64(1, uint64(bits))
		e.Message(2, func(e *pb.Encoder) { e.Uint64(1, uint64(index)) })
	})
}

// nullable returns nullable=2 with no_nulls=1{values=1} or some_nulls=2{validity=1, values=2}. The
// validity buffer precedes the value buffers.
func (b *arrayBuffers) nullable(valid *values.Bitmap, values func() []byte) []byte {
	return arrayMember(2, func(e *pb.Encoder) {
		if valid.Zeros == 0 {
			e.Message(1, func(e *pb.Encoder) { e.AlwaysBytes(1, values()) })
			return
		}
		e.Message(2, func(e *pb.Encoder) {
			e.AlwaysBytes(1, b.flat(1, valid.Bytes[:(valid.N+7)/8]))
			e.AlwaysBytes(2, values())
		})
	})
}

// positions returns nullable=2 with no_nulls, of flat values of 64 bits.
func (b *arrayBuffers) positions(ends []uint64) []byte {
	return b.nullable(&values.Bitmap{N: len(ends)}, func() []byte { return b.flat(64, values.BytesOf(ends)) })
}

// adjust adds the null adjustment to the ends of nulls and returns it.
func adjust(ends []uint64, valid *values.Bitmap) uint64 {
	adjustment := uint64(1)
	if len(ends) > 0 {
		adjustment += ends[len(ends)-1]
	}
	if valid.Zeros > 0 {
		for i := range ends {
			if valid.Bytes[i/8]>>(i%8)&1 == 0 {
				ends[i] += adjustment
			}
		}
	}
	return adjustment
}

// lists returns list=4{offsets=1, null_offset_adjustment=2, num_items=3}.
func (b *arrayBuffers) lists(ends []uint64, valid *values.Bitmap) []byte {
	adjustment := adjust(ends, valid)
	return arrayMember(4, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.positions(ends))
		e.Uint64(2, adjustment)
		e.Uint64(3, adjustment-1)
	})
}

// strings returns binary=6{indices=1, bytes=2, null_adjustment=3}. It compresses the bytes by c if
// c is not nil.
func (b *arrayBuffers) strings(v *values.Values, valid *values.Bitmap, c *compress.Compressor) []byte {
	ends := make([]uint64, v.N)
	for i := range ends {
		ends[i] = uint64(v.Offsets[i+1])
	}
	adjustment := adjust(ends, valid)
	return arrayMember(6, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.positions(ends))
		e.AlwaysBytes(2, b.packed(v.Data, c))
		e.Uint64(3, adjustment)
	})
}

// fixed returns the encoding of values as they are. Each dimension of vectors from depth on becomes
// fixed_size_list=3{dimension=1, items=2} of nullable items.
func (b *arrayBuffers) fixed(v *values.Values, depth int) []byte {
	if depth == len(v.Shape.Dims) {
		return b.flat(v.Shape.Bits, v.Fixed)
	}
	items := &values.Bitmap{}
	if v.HasInvalid(depth) {
		items = &v.Valid[depth]
	}
	return arrayMember(3, func(e *pb.Encoder) {
		e.Uint64(1, uint64(v.Shape.Dims[depth]))
		e.AlwaysBytes(2, b.nullable(items, func() []byte { return b.fixed(v, depth+1) }))
	})
}

// dictionary returns dictionary=7{indices=1, items=2, num_dictionary_items=3}.
func (b *arrayBuffers) dictionary(c *ColumnEncoder) []byte {
	items, valid := c.dict.Items, values.Bitmap{}
	valid.AppendOnes(items.N)
	if c.valid.Zeros > 0 {
		items.AppendEmpty()
		valid.AppendZeros(1)
		null := []int32{int32(items.N - 1)}
		for i := range c.slots {
			if c.valid.Bytes[i/8]>>(i%8)&1 == 0 {
				column.PutIndices(c.values.Fixed[i*c.dict.IndexBits/8:], null, c.dict.IndexBits)
			}
		}
	}
	return arrayMember(7, func(e *pb.Encoder) {
		e.AlwaysBytes(1, b.nullable(&values.Bitmap{N: c.slots}, func() []byte { return b.fixed(c.values, 0) }))
		if items.Shape.Kind == values.Variable {
			e.AlwaysBytes(2, b.strings(items, &valid, nil))
		} else {
			e.AlwaysBytes(2, b.nullable(&valid, func() []byte { return b.fixed(items, 0) }))
		}
		e.Uint64(3, uint64(items.N))
	})
}

// packedRows returns packed_struct=9{inner=1 repeated, buffer=2} for the rows made by p. The inner
// encodings describe the members; the row buffer is the only one stored.
func (b *arrayBuffers) packedRows(p *column.Packer, rows []byte) []byte {
	b.page.Buffers = append(b.page.Buffers, rows)
	return arrayMember(9, func(e *pb.Encoder) {
		for i := range p.Members {
			inner := arrayBuffers{page: &encoding.Page{}} // numbers its buffers from 0
			member := &values.Values{Shape: p.Members[i].Values.Shape}
			e.AlwaysBytes(1, inner.nullable(&values.Bitmap{}, func() []byte { return inner.fixed(member, 0) }))
		}
		e.Message(2, func(*pb.Encoder) {})
	})
}
