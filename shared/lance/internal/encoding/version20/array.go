package version20

import (
	"fmt"
	"math"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// An arrayReader decodes the array encodings of one page. Where bytes are missing it sets missing
// and continues, so that it asks for all bytes that it can name in one round; the results of that
// round are not valid.
//
//	Nullable         validity, one bit per value, beside the values
//	Flat             values in a buffer; the buffer may be compressed as a whole
//	FixedSizeList    the items, which are Nullable themselves
//	Binary           see binary.go, with FSST
//	Dictionary       indices, which are smaller than the items they stand for
//	FixedSizeBinary  the bytes of all values
//	PackedStruct     rows in a buffer, as in version 2.1
//
// The buffers of a page are numbered; an encoding refers to them by number. A nullable u16 column
// with the rows 7, null, 9 is Nullable{validity: Flat{1 bit, buffer 0}, values: Flat{16 bits,
// buffer 1}} with
//
//	buffer 0   05                  bits 1 0 1
//	buffer 1   07 00 00 00 09 00   the value of a null is arbitrary
//
// Source: protos/encodings_v2_0.proto of the format.
type arrayReader struct {
	page    *PageReader
	fetch   encoding.Fetch
	room    values.Room
	missing bool
}

// read decodes rows of a value of the given shape. The result has as many values as there are rows,
// unless bytes are missing.
func (a *arrayReader) read(enc pb.ArrayEncoding, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	switch enc := enc.(type) {
	case *pb.ArrayNullable:
		return a.nullable(enc, s, rows)
	case *pb.ArrayFlat:
		return a.flat(enc, s, rows)
	case *pb.ArrayFixedSizeList:
		return a.fixedSizeList(enc, s, rows)
	case *pb.ArrayBinary:
		return a.binary(enc, s, rows)
	case *pb.ArrayFSST:
		return a.fsst(enc, s, rows)
	case *pb.ArrayDictionary:
		return a.dictionary(enc, s, rows)
	case *pb.ArrayFixedSizeBinary:
		return a.fixedSizeBinary(enc, s, rows)
	case *pb.ArrayPackedStruct:
		return a.packedStruct(enc, s, rows)
	case *pb.ArraySimpleStruct:
		if s.Kind == values.Packed && len(s.Children) == 0 {
			return a.memberless(s, rows)
		}
	}
	if enc == nil {
		return nil, lance.Corruptf("page without an encoding")
	}
	return nil, fmt.Errorf("%w: values encoded as %s", lance.ErrUnsupported, arrayName(enc))
}

func arrayName(enc pb.ArrayEncoding) string {
	if unknown, ok := enc.(*pb.ArrayUnknown); ok {
		return unknown.Name
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", enc), "*pb.Array")
}

// plainItems returns empty items of a shape.
func (a *arrayReader) plainItems(s *values.Shape) *Items {
	return &Items{items: values.Items{Values: a.room.Values(s)}}
}

// fetchSmallPage fetches all of a small page whose first bytes are missing, which saves rounds of
// requests.
func (a *arrayReader) fetchSmallPage() {
	size := 0
	for _, n := range a.page.sizes {
		size += n
	}
	for i, n := range a.page.sizes {
		if size <= a.page.small {
			a.fetch(i, 0, n)
		}
	}
}

// bytes returns bytes [from, to) of a buffer, or nil when they are missing.
func (a *arrayReader) bytes(ref pb.BufferRef, from, to int) ([]byte, error) {
	if ref.Kind != 0 {
		return nil, fmt.Errorf("%w: buffer outside its page", lance.ErrUnsupported)
	}
	if uint64(ref.Index) >= uint64(len(a.page.sizes)) {
		return nil, lance.Corruptf("buffer %d of %d", ref.Index, len(a.page.sizes))
	}
	if size := a.page.sizes[ref.Index]; from < 0 || to < from || to > size {
		return nil, lance.Corruptf("bytes [%d, %d) of a buffer of %d", from, to, size)
	}
	b := a.fetch(int(ref.Index), from, to)
	a.missing = a.missing || b == nil
	return b, nil
}

// flatBytes returns bytes [from, to) of the values of a Flat encoding.
func (a *arrayReader) flatBytes(enc *pb.ArrayFlat, from, to int) ([]byte, error) {
	if enc.Scheme == "" || enc.Scheme == "none" {
		return a.bytes(enc.Buffer, from, to)
	}
	size := 0
	if int(enc.Buffer.Index) < len(a.page.sizes) {
		size = a.page.sizes[enc.Buffer.Index]
	}
	b, err := a.bytes(enc.Buffer, 0, size)
	if b == nil || err != nil {
		return nil, err
	}
	schemes := map[string]pb.CompressionScheme{"lz4": pb.LZ4, "zstd": pb.Zstd}
	scheme, ok := schemes[enc.Scheme]
	if !ok {
		return nil, fmt.Errorf("%w: compression %q", lance.ErrUnsupported, enc.Scheme)
	}
	if b, err = compress.Decompress(scheme, b, a.room); err != nil {
		return nil, err
	}
	if from < 0 || to < from || to > len(b) {
		return nil, lance.Corruptf("bytes [%d, %d) of %d compressed ones", from, to, len(b))
	}
	return b[from:to:to], nil
}

// flat reads values of a fixed number of bits. Rows that begin within a byte are shifted.
func (a *arrayReader) flat(enc *pb.ArrayFlat, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	if enc.BitsPerValue > 8*values.MaxValueBytes || s.Kind != values.Fixed || s.ValueBits() != int(enc.BitsPerValue) {
		return nil, lance.Corruptf("flat values of %d bits for another type", enc.BitsPerValue)
	}
	bits := int(enc.BitsPerValue)
	out := a.plainItems(s)
	v := out.items.Values
	for _, r := range rows {
		n := r.To - r.From
		if r.To > math.MaxInt/max(bits, 1) {
			return nil, lance.Corruptf("%d values of %d bits", r.To, bits)
		}
		b, err := a.flatBytes(enc, r.From*bits/8, (r.To*bits+7)/8)
		if err != nil {
			return nil, err
		}
		switch {
		case b == nil:
		case s.Bits == 1:
			v.AppendFixedBits(b, r.From*bits&7, n*s.Items)
			v.N += n
		case len(rows) == 1:
			v.Fixed, v.N = b, n // as it was read
		default:
			v.AppendFixed(b, n)
		}
		out.valid.AppendOnes(n)
	}
	return out, nil
}

// nullable combines validity and values. Absent values mean that all rows are null.
func (a *arrayReader) nullable(enc *pb.ArrayNullable, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	n := encoding.CountRows(rows)
	if enc.Values == nil {
		out := a.plainItems(s)
		out.valid.AppendZeros(n)
		return out, out.items.Values.AppendEmpties(n)
	}
	out, err := a.read(enc.Values, s, rows)
	if err != nil || enc.Validity == nil {
		return out, err
	}
	valid, err := a.read(enc.Validity, values.FixedShape(1), rows)
	if err != nil || a.missing {
		return out, err
	}
	out.valid = values.Bitmap{}
	out.valid.AppendBits(valid.items.Values.Fixed, 0, n)
	return out, nil
}

// fixedSizeList reads the items of the lists, dim per row.
func (a *arrayReader) fixedSizeList(enc *pb.ArrayFixedSizeList, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	if s.Kind != values.Fixed || len(s.Dims) == 0 || uint64(enc.Dimension) != uint64(s.Dims[0]) {
		return nil, lance.Corruptf("lists of %d items for another type", enc.Dimension)
	}
	dim := s.Dims[0]
	scaled := make([]encoding.RowRange, len(rows))
	for i, r := range rows {
		if r.To > math.MaxInt/dim {
			return nil, lance.Corruptf("%d lists of %d items", r.To, dim)
		}
		scaled[i] = encoding.RowRange{From: r.From * dim, To: r.To * dim}
	}
	inner := &values.Shape{Kind: values.Fixed, Bits: s.Bits, Dims: s.Dims[1:], Items: s.Items / dim}
	if len(inner.Dims) == 0 {
		inner.Dims = nil
	}
	// The items are read like rows of a type without the outermost dimension.
	items, err := a.read(enc.Items, inner, scaled)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	out := a.plainItems(s)
	v := out.items.Values
	v.Fixed, v.N = items.items.Values.Fixed, encoding.CountRows(rows)
	if items.valid.Bytes != nil || items.items.Values.Valid != nil {
		v.Valid = append([]values.Bitmap{items.valid}, items.items.Values.Valid...)
		for len(v.Valid) < len(s.Dims) {
			v.Valid = append(v.Valid, values.Bitmap{N: v.N * s.Items})
		}
	}
	out.valid.AppendOnes(v.N)
	return out, nil
}

// fixedSizeBinary reads byte strings as rows of ByteWidth single bytes each.
func (a *arrayReader) fixedSizeBinary(enc *pb.ArrayFixedSizeBinary, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	if s.Kind != values.Fixed || s.Bits != 8*int(enc.ByteWidth) {
		return nil, lance.Corruptf("byte strings of %d bytes for another type", enc.ByteWidth)
	}
	scaled := make([]encoding.RowRange, len(rows))
	for i, r := range rows {
		if r.To > math.MaxInt/max(s.Bits, 1) {
			return nil, lance.Corruptf("%d byte strings of %d bytes", r.To, enc.ByteWidth)
		}
		scaled[i] = encoding.RowRange{From: r.From * s.Bits / 8, To: r.To * s.Bits / 8}
	}
	bytes, err := a.read(enc.Bytes, values.FixedShape(8), scaled)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	out := a.plainItems(s)
	out.items.Values.Fixed, out.items.Values.N = bytes.items.Values.Fixed, encoding.CountRows(rows)
	out.valid.AppendOnes(out.items.Values.N)
	return out, nil
}

// dictionary decodes indices into items. The indices of a dictionary type are direct, and a null
// row refers to a null item. In a column of another type, index 0 means null and index k means item
// k-1.
func (a *arrayReader) dictionary(enc *pb.ArrayDictionary, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	bits, err := indexBits(enc.Indices)
	if err != nil {
		return nil, err
	}
	indices, err := a.read(enc.Indices, values.FixedShape(bits), rows)
	if err != nil {
		return nil, err
	}
	items, err := a.read(enc.Items, s, []encoding.RowRange{{To: int(enc.NumItems)}})
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	if a.page.isDictionary {
		return directDictionary(indices, items)
	}
	return a.shiftedDictionary(indices, items)
}

// indexBits returns the width of the indices of a dictionary.
func indexBits(enc pb.ArrayEncoding) (int, error) {
	if nullable, ok := enc.(*pb.ArrayNullable); ok {
		enc = nullable.Values
	}
	if flat, ok := enc.(*pb.ArrayFlat); ok {
		switch flat.BitsPerValue {
		case 8, 16, 32, 64:
			return int(flat.BitsPerValue), nil
		}
	}
	return 0, fmt.Errorf("%w: dictionary indices encoded as %s", lance.ErrUnsupported, arrayName(enc))
}

// directDictionary pairs indices with items. A row is null if its index or its item is null.
func directDictionary(indices, dict *Items) (*Items, error) {
	n := dict.items.Values.N
	direct, err := indices.items.Values.AsIndices(n)
	if err != nil {
		return nil, err
	}
	out := &Items{items: values.Items{Values: dict.items.Values, Indices: direct}, valid: indices.valid}
	if dict.valid.Bytes == nil {
		return out, nil
	}
	out.valid = values.Bitmap{}
	for i, index := range direct {
		isNull := dict.valid.Bytes[index>>3]>>(index&7)&1 == 0
		if indices.valid.Bytes != nil {
			isNull = isNull || indices.valid.Bytes[i>>3]>>(i&7)&1 == 0
		}
		out.valid.AppendBit(!isNull)
	}
	return out, nil
}

// shiftedDictionary pairs items with indices in which 0 is null and i+1 refers to item i.
func (a *arrayReader) shiftedDictionary(indices, items *Items) (*Items, error) {
	v := items.items.Values
	shifted, err := indices.items.Values.AsIndices(v.N + 1)
	if err != nil {
		return nil, err
	}
	// Nulls take the value of an item that is appended for them.
	all := a.room.Values(v.Shape)
	if err := all.AppendRange(v, 0, v.N); err != nil {
		return nil, err
	}
	if err := all.AppendEmpties(1); err != nil {
		return nil, err
	}
	out := a.plainItems(v.Shape)
	lookup := make([]uint32, len(shifted))
	for i, index := range shifted {
		out.valid.AppendBit(index != 0)
		lookup[i] = index - 1
		if index == 0 {
			lookup[i] = uint32(v.N)
		}
	}
	return out, out.items.Values.Take(all, lookup)
}

// memberless returns structs without members. None of them is null.
func (a *arrayReader) memberless(s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	out := a.plainItems(s)
	n := encoding.CountRows(rows)
	out.valid.AppendOnes(n)
	return out, out.items.Values.AppendEmpties(n)
}

// packedStruct reads rows of members of fixed width from one buffer.
func (a *arrayReader) packedStruct(enc *pb.ArrayPackedStruct, s *values.Shape, rows []encoding.RowRange) (*Items, error) {
	layout := &pb.PackedStruct{}
	for _, child := range s.Children {
		layout.BitsPerValue = append(layout.BitsPerValue, uint64(child.ValueBits()))
	}
	if len(enc.Inner) != len(s.Children) {
		return nil, lance.Corruptf("packed struct of %d members for a type of %d", len(enc.Inner), len(s.Children))
	}
	packed, err := codec.ParsePackedStruct(layout, s)
	if err != nil {
		return nil, err
	}
	out := a.plainItems(s)
	for _, r := range rows {
		if r.To > math.MaxInt/packed.RowBytes {
			return nil, lance.Corruptf("%d packed rows of %d bytes", r.To, packed.RowBytes)
		}
		b, err := a.bytes(enc.Buffer, r.From*packed.RowBytes, r.To*packed.RowBytes)
		if err != nil {
			return nil, err
		}
		out.valid.AppendOnes(r.To - r.From)
		if b == nil {
			continue
		}
		if err := packed.Decode(out.items.Values, [][]byte{b}, r.To-r.From); err != nil {
			return nil, err
		}
	}
	return out, nil
}
