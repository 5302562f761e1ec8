package pb

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Codec is a CompressiveEncoding: the way in which a block of values became bytes. It is
// one of the pointer types below; nil is an absent one. Codecs nest, at most maxCodecDepth
// deep.
type Codec interface {
	codecNumber() protowire.Number
	unmarshalCodec(b []byte, depth int) error
	marshal(*Encoder)
}

// maxCodecDepth bounds the nesting of codecs that are read; known writers reach four.
const maxCodecDepth = 8

// Flat is values of fixed width, one after the other.
//
//pb:codec 1
type Flat struct {
	BitsPerValue uint64             `pb:"1"`
	Data         *BufferCompression `pb:"2"` // never set by known writers
}

// Variable is offsets, then bytes.
//
//pb:codec 2
type Variable struct {
	Offsets Codec              `pb:"1"` // always *Flat of 32 or 64 bits
	Values  *BufferCompression `pb:"2"` // never set by known writers
}

// Constant is one value, repeated.
//
//pb:codec 3
type Constant struct {
	Value []byte `pb:"1,optional"` // nil when absent
}

// OutOfLineBitpacking is packed integers. Values is a *Flat with their packed width.
//
//pb:codec 4
type OutOfLineBitpacking struct {
	UncompressedBits uint64 `pb:"1"`
	Values           Codec  `pb:"3"`
}

// InlineBitpacking is blocks of 1024 integers, each block after its width.
//
//pb:codec 5
type InlineBitpacking struct {
	UncompressedBits uint64             `pb:"1"`
	Values           *BufferCompression `pb:"2"` // never set by known writers
}

// FSST is strings as codes of a symbol table.
//
//pb:codec 6
type FSST struct {
	SymbolTable []byte `pb:"1"`
	Values      Codec  `pb:"2"`
}

// Dictionary is indices into items.
//
//pb:codec 7
type Dictionary struct {
	Indices  Codec  `pb:"1"`
	Items    Codec  `pb:"2"`
	NumItems uint32 `pb:"3"`
}

// RLE is values and the number of times that each is repeated.
//
//pb:codec 8
type RLE struct {
	Values     Codec `pb:"1"`
	RunLengths Codec `pb:"2"`
}

// ByteStreamSplit is all first bytes of the values, then all second bytes, and so on.
//
//pb:codec 9
type ByteStreamSplit struct {
	Values Codec `pb:"1"`
}

// General is the encoded Values, compressed by a general scheme.
//
//pb:codec 10
type General struct {
	Compression BufferCompression `pb:"1"`
	Values      Codec             `pb:"3"`
}

// FixedSizeList is lists of equal length, flattened.
//
//pb:codec 11
type FixedSizeList struct {
	ItemsPerValue uint64 `pb:"1"`
	Values        Codec  `pb:"2"`
	HasValidity   bool   `pb:"3"` // a bitmap says which items are not null
}

// PackedStruct is structs of fixed width, row by row.
//
//pb:codec 12
type PackedStruct struct {
	BitsPerValue []uint64 `pb:"1"` // one per child
	Values       Codec    `pb:"2"`
}

// VariablePackedStruct is structs with children of variable width, row by row.
//
//pb:codec 13
type VariablePackedStruct struct {
	Fields []PackedField `pb:"1"` // one per child
}

// A PackedField is a child of a VariablePackedStruct: of fixed width (BitsPerValue), or
// stored after a length (BitsPerLength). The other number is 0.
//
//pb:codec part
type PackedField struct {
	Value         Codec  `pb:"1"`
	BitsPerValue  uint64 `pb:"2,oneof"`
	BitsPerLength uint64 `pb:"3,oneof"`
}

// UnknownCodec stands for a member of the oneof that is newer than this package.
type UnknownCodec struct {
	Num protowire.Number
	raw []byte
}

// A CompressionScheme is a general compression algorithm.
type CompressionScheme uint32

// The compression schemes.
const (
	LZ4  CompressionScheme = 1
	Zstd CompressionScheme = 2
)

// BufferCompression names a scheme. The level, which only a writer needs, is not kept.
type BufferCompression struct {
	Scheme CompressionScheme // 1
}

// scanCodec reads the current field of s as a CompressiveEncoding inside of depth others.
// If several members of the oneof occur, the last one counts, as in protobuf.
func scanCodec(s *Scanner, c *Codec, depth int) {
	s.Message(func(b []byte) error {
		if depth >= maxCodecDepth {
			return fmt.Errorf("%w: encodings nested more than %d deep", ErrWire, maxCodecDepth)
		}
		*c = nil
		member := NewScanner(b)
		for member.Next() {
			m := newCodec(member.Num)
			member.Message(func(b []byte) error { return m.unmarshalCodec(b, depth+1) })
			*c = m
		}
		return member.Err()
	})
}

func encodeCodec(e *Encoder, num protowire.Number, c Codec) {
	if c != nil {
		e.Message(num, func(e *Encoder) { e.Message(c.codecNumber(), c.marshal) })
	}
}

func scanCompression(s *Scanner, c *BufferCompression) {
	s.Message(func(b []byte) error {
		inner := NewScanner(b)
		for inner.Next() {
			if inner.Num == 1 {
				c.Scheme = CompressionScheme(inner.Uint32())
			}
		}
		return inner.Err()
	})
}

func encodeCompression(e *Encoder, num protowire.Number, c *BufferCompression) {
	if c != nil {
		e.Message(num, func(e *Encoder) { e.Uint64(1, uint64(c.Scheme)) })
	}
}

// scanPackedField reads the current field of s as one more child of a struct.
func scanPackedField(s *Scanner, list *[]PackedField, depth int) {
	var f PackedField
	s.Message(func(b []byte) error { return f.unmarshal(b, depth) })
	*list = append(*list, f)
}

func (c *UnknownCodec) codecNumber() protowire.Number { return c.Num }

func (c *UnknownCodec) unmarshalCodec(b []byte, _ int) error {
	c.raw = b
	return nil
}

func (c *UnknownCodec) marshal(e *Encoder) { e.Unknown(c.raw) }
