package pb

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Codec is a CompressiveEncoding: how a block of values became bytes. It is one of the
// pointer types below; nil is an absent one. Codecs nest, at most maxCodecDepth deep.
type Codec interface {
	codecNumber() protowire.Number
	unmarshalCodec(b []byte, depth int) error
	marshal(*Encoder)
}

// maxCodecDepth bounds the nesting of codecs in what is read; writers reach four.
const maxCodecDepth = 8

// Flat is values of fixed width, one after the other.
type Flat struct {
	BitsPerValue uint64             // 1
	Data         *BufferCompression // 2: never set by known writers
}

// Variable is offsets, then bytes.
type Variable struct {
	Offsets Codec              // 1: always *Flat of 32 or 64 bits
	Values  *BufferCompression // 2: never set by known writers
}

// Constant is one value, repeated.
type Constant struct {
	Value []byte // 1: nil when absent
}

// OutOfLineBitpacking is integers of the width of Values, which its *Flat tells.
type OutOfLineBitpacking struct {
	UncompressedBits uint64 // 1
	Values           Codec  // 3
}

// InlineBitpacking is blocks of 1024 integers, each behind its width.
type InlineBitpacking struct {
	UncompressedBits uint64             // 1
	Values           *BufferCompression // 2: never set by known writers
}

// FSST is strings as codes of a symbol table.
type FSST struct {
	SymbolTable []byte // 1
	Values      Codec  // 2
}

// Dictionary is indices into items.
type Dictionary struct {
	Indices  Codec  // 1
	Items    Codec  // 2
	NumItems uint32 // 3
}

// RLE is values and how often each is repeated.
type RLE struct {
	Values     Codec // 1
	RunLengths Codec // 2
}

// ByteStreamSplit is all first bytes of the values, then all second bytes, and so on.
type ByteStreamSplit struct {
	Values Codec // 1
}

// General is the encoded Values, compressed by a general scheme.
type General struct {
	Compression BufferCompression // 1
	Values      Codec             // 3
}

// FixedSizeList is lists of equal length, flattened.
type FixedSizeList struct {
	ItemsPerValue uint64 // 1
	Values        Codec  // 2
	HasValidity   bool   // 3: a bitmap says which items are not null
}

// PackedStruct is structs of fixed width, row by row.
type PackedStruct struct {
	BitsPerValue []uint64 // 1: one per child
	Values       Codec    // 2
}

// VariablePackedStruct is structs with children of variable width, row by row.
type VariablePackedStruct struct {
	Fields []PackedField // 1: one per child
}

// A PackedField is a child of a VariablePackedStruct: of fixed width (BitsPerValue) or
// behind a length (BitsPerLength); the other one is 0.
type PackedField struct {
	Value         Codec  // 1
	BitsPerValue  uint64 // 2
	BitsPerLength uint64 // 3
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

func (*Flat) codecNumber() protowire.Number                 { return 1 }
func (*Variable) codecNumber() protowire.Number             { return 2 }
func (*Constant) codecNumber() protowire.Number             { return 3 }
func (*OutOfLineBitpacking) codecNumber() protowire.Number  { return 4 }
func (*InlineBitpacking) codecNumber() protowire.Number     { return 5 }
func (*FSST) codecNumber() protowire.Number                 { return 6 }
func (*Dictionary) codecNumber() protowire.Number           { return 7 }
func (*RLE) codecNumber() protowire.Number                  { return 8 }
func (*ByteStreamSplit) codecNumber() protowire.Number      { return 9 }
func (*General) codecNumber() protowire.Number              { return 10 }
func (*FixedSizeList) codecNumber() protowire.Number        { return 11 }
func (*PackedStruct) codecNumber() protowire.Number         { return 12 }
func (*VariablePackedStruct) codecNumber() protowire.Number { return 13 }
func (c *UnknownCodec) codecNumber() protowire.Number       { return c.Num }

func newCodec(num protowire.Number) Codec {
	switch num {
	case 1:
		return new(Flat)
	case 2:
		return new(Variable)
	case 3:
		return new(Constant)
	case 4:
		return new(OutOfLineBitpacking)
	case 5:
		return new(InlineBitpacking)
	case 6:
		return new(FSST)
	case 7:
		return new(Dictionary)
	case 8:
		return new(RLE)
	case 9:
		return new(ByteStreamSplit)
	case 10:
		return new(General)
	case 11:
		return new(FixedSizeList)
	case 12:
		return new(PackedStruct)
	case 13:
		return new(VariablePackedStruct)
	default:
		return &UnknownCodec{Num: num}
	}
}

// scanCodec reads the current field of s as a CompressiveEncoding that lies below depth
// others. Of several members the last counts.
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
