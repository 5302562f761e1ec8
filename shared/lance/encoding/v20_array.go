package encoding

import (
	"fmt"
	"math"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// An arrayReader decodes array encodings of one page. When bytes are missing it notes
// that and goes on, so that it asks for all that it can in one round; its results mean
// nothing then.
//
//	Nullable         validity, one bit per value, beside the values
//	Flat             values in a buffer; the buffer may be compressed as a whole
//	FixedSizeList    the items, which are Nullable themselves
//	Binary           see v20_binary.go, with FSST
//	Dictionary       indices, which are smaller than the items they stand for
//	FixedSizeBinary  the bytes of all values
//	PackedStruct     rows in a buffer, as in version 2.1
type arrayReader struct {
	page    *PageReaderV20
	fetch   Fetch
	room    Room
	missing bool
}

// read decodes rows of a value of the given shape. Unless bytes are missing the result
// has as many values as there are rows.
func (a *arrayReader) read(enc pb.ArrayEncoding, s *shape, rows []RowRange) (*ItemsV20, error) {
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
		if s.kind == shapePacked && len(s.children) == 0 {
			return a.memberless(s, rows)
		}
	}
	if enc == nil {
		return nil, corruptf("page without an encoding")
	}
	return nil, fmt.Errorf("%w: values encoded as %s", lance.ErrUnsupported, arrayName(enc))
}

func arrayName(enc pb.ArrayEncoding) string {
	if unknown, ok := enc.(*pb.ArrayUnknown); ok {
		return unknown.Name
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", enc), "*pb.Array")
}

// plainItems returns items of a shape without any.
func (a *arrayReader) plainItems(s *shape) *ItemsV20 {
	return &ItemsV20{items: Items{values: a.room.values(s)}}
}

// fetchSmallPage asks for all of a small page whose first bytes are missing, which saves
// rounds of reading.
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
		return nil, corruptf("buffer %d of %d", ref.Index, len(a.page.sizes))
	}
	if size := a.page.sizes[ref.Index]; from < 0 || to < from || to > size {
		return nil, corruptf("bytes [%d, %d) of a buffer of %d", from, to, size)
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
	if b, err = decompress(scheme, b, a.room); err != nil {
		return nil, err
	}
	if from < 0 || to < from || to > len(b) {
		return nil, corruptf("bytes [%d, %d) of %d compressed ones", from, to, len(b))
	}
	return b[from:to:to], nil
}

func (a *arrayReader) flat(enc *pb.ArrayFlat, s *shape, rows []RowRange) (*ItemsV20, error) {
	if enc.BitsPerValue > 8*maxValueBytes || s.kind != shapeFixed || s.valueBits() != int(enc.BitsPerValue) {
		return nil, corruptf("flat values of %d bits for another type", enc.BitsPerValue)
	}
	bits := int(enc.BitsPerValue)
	out := a.plainItems(s)
	v := out.items.values
	for _, r := range rows {
		n := r.To - r.From
		if r.To > math.MaxInt/max(bits, 1) {
			return nil, corruptf("%d values of %d bits", r.To, bits)
		}
		b, err := a.flatBytes(enc, r.From*bits/8, (r.To*bits+7)/8)
		if err != nil {
			return nil, err
		}
		switch {
		case b == nil:
		case s.bits == 1:
			v.appendFixedBits(b, r.From*bits&7, n*s.items)
			v.n += n
		case len(rows) == 1:
			v.fixed, v.n = b, n // as it was read
		default:
			v.appendFixed(b, n)
		}
		out.valid.appendOnes(n)
	}
	return out, nil
}

func (a *arrayReader) nullable(enc *pb.ArrayNullable, s *shape, rows []RowRange) (*ItemsV20, error) {
	n := countRows(rows)
	if enc.Values == nil {
		out := a.plainItems(s)
		out.valid.appendZeros(n)
		return out, out.items.values.appendEmpties(n)
	}
	out, err := a.read(enc.Values, s, rows)
	if err != nil || enc.Validity == nil {
		return out, err
	}
	valid, err := a.read(enc.Validity, fixedShape(1), rows)
	if err != nil || a.missing {
		return out, err
	}
	out.valid = bitmap{}
	out.valid.appendBits(valid.items.values.fixed, 0, n)
	return out, nil
}

func (a *arrayReader) fixedSizeList(enc *pb.ArrayFixedSizeList, s *shape, rows []RowRange) (*ItemsV20, error) {
	if s.kind != shapeFixed || len(s.dims) == 0 || uint64(enc.Dimension) != uint64(s.dims[0]) {
		return nil, corruptf("lists of %d items for another type", enc.Dimension)
	}
	dim := s.dims[0]
	scaled := make([]RowRange, len(rows))
	for i, r := range rows {
		if r.To > math.MaxInt/dim {
			return nil, corruptf("%d lists of %d items", r.To, dim)
		}
		scaled[i] = RowRange{r.From * dim, r.To * dim}
	}
	inner := &shape{kind: shapeFixed, bits: s.bits, dims: s.dims[1:], items: s.items / dim}
	if len(inner.dims) == 0 {
		inner.dims = nil
	}
	items, err := a.read(enc.Items, inner, scaled)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	out := a.plainItems(s)
	v := out.items.values
	v.fixed, v.n = items.items.values.fixed, countRows(rows)
	if items.valid.bytes != nil || items.items.values.valid != nil {
		v.valid = append([]bitmap{items.valid}, items.items.values.valid...)
		for len(v.valid) < len(s.dims) {
			v.valid = append(v.valid, bitmap{n: v.n * s.items})
		}
	}
	out.valid.appendOnes(v.n)
	return out, nil
}

func (a *arrayReader) fixedSizeBinary(enc *pb.ArrayFixedSizeBinary, s *shape, rows []RowRange) (*ItemsV20, error) {
	if s.kind != shapeFixed || s.bits != 8*int(enc.ByteWidth) {
		return nil, corruptf("byte strings of %d bytes for another type", enc.ByteWidth)
	}
	scaled := make([]RowRange, len(rows))
	for i, r := range rows {
		if r.To > math.MaxInt/max(s.bits, 1) {
			return nil, corruptf("%d byte strings of %d bytes", r.To, enc.ByteWidth)
		}
		scaled[i] = RowRange{r.From * s.bits / 8, r.To * s.bits / 8}
	}
	bytes, err := a.read(enc.Bytes, fixedShape(8), scaled)
	if err != nil || a.missing {
		return a.plainItems(s), err
	}
	out := a.plainItems(s)
	out.items.values.fixed, out.items.values.n = bytes.items.values.fixed, countRows(rows)
	out.valid.appendOnes(out.items.values.n)
	return out, nil
}

// dictionary decodes indices into items. Those of a dictionary type are direct, and null
// rows point at a null item; of other types 0 stands for null and k for item k-1.
func (a *arrayReader) dictionary(enc *pb.ArrayDictionary, s *shape, rows []RowRange) (*ItemsV20, error) {
	bits, err := indexBits(enc.Indices)
	if err != nil {
		return nil, err
	}
	indices, err := a.read(enc.Indices, fixedShape(bits), rows)
	if err != nil {
		return nil, err
	}
	items, err := a.read(enc.Items, s, []RowRange{{0, int(enc.NumItems)}})
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

func directDictionary(indices, items *ItemsV20) (*ItemsV20, error) {
	n := items.items.values.n
	direct, err := indices.items.values.asIndices(n)
	if err != nil {
		return nil, err
	}
	out := &ItemsV20{items: Items{values: items.items.values, indices: direct}, valid: indices.valid}
	if items.valid.bytes == nil {
		return out, nil
	}
	out.valid = bitmap{}
	for i, index := range direct {
		isNull := items.valid.bytes[index>>3]>>(index&7)&1 == 0
		if indices.valid.bytes != nil {
			isNull = isNull || indices.valid.bytes[i>>3]>>(i&7)&1 == 0
		}
		out.valid.appendBit(!isNull)
	}
	return out, nil
}

func (a *arrayReader) shiftedDictionary(indices, items *ItemsV20) (*ItemsV20, error) {
	v := items.items.values
	shifted, err := indices.items.values.asIndices(v.n + 1)
	if err != nil {
		return nil, err
	}
	// Nulls take the value of an item that is appended for them.
	all := a.room.values(v.shape)
	if err := all.appendRange(v, 0, v.n); err != nil {
		return nil, err
	}
	if err := all.appendEmpties(1); err != nil {
		return nil, err
	}
	out := a.plainItems(v.shape)
	lookup := make([]uint32, len(shifted))
	for i, index := range shifted {
		out.valid.appendBit(index != 0)
		lookup[i] = index - 1
		if index == 0 {
			lookup[i] = uint32(v.n)
		}
	}
	return out, out.items.values.take(all, lookup)
}

// memberless returns structs without members, none of which is null.
func (a *arrayReader) memberless(s *shape, rows []RowRange) (*ItemsV20, error) {
	out := a.plainItems(s)
	n := countRows(rows)
	out.valid.appendOnes(n)
	return out, out.items.values.appendEmpties(n)
}

func (a *arrayReader) packedStruct(enc *pb.ArrayPackedStruct, s *shape, rows []RowRange) (*ItemsV20, error) {
	layout := &pb.PackedStruct{}
	for _, child := range s.children {
		layout.BitsPerValue = append(layout.BitsPerValue, uint64(child.valueBits()))
	}
	if len(enc.Inner) != len(s.children) {
		return nil, corruptf("packed struct of %d members for a type of %d", len(enc.Inner), len(s.children))
	}
	packed, err := parsePacked(layout, s)
	if err != nil {
		return nil, err
	}
	out := a.plainItems(s)
	for _, r := range rows {
		if r.To > math.MaxInt/packed.row {
			return nil, corruptf("%d packed rows of %d bytes", r.To, packed.row)
		}
		b, err := a.bytes(enc.Buffer, r.From*packed.row, r.To*packed.row)
		if err != nil {
			return nil, err
		}
		out.valid.appendOnes(r.To - r.From)
		if b == nil {
			continue
		}
		if err := packed.decode(out.items.values, [][]byte{b}, r.To-r.From); err != nil {
			return nil, err
		}
	}
	return out, nil
}
