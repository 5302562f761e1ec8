package pb

import (
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// RowIDSequence is the ids of the rows of a fragment, in order, as a list of segments.
//
// Source: protos/rowids.proto of the format.
//
//pb:message
type RowIDSequence struct {
	Segments []U64Segment `pb:"1"`
	Unknown  []byte
}

// SegmentKind is the field number of the member of a U64Segment's oneof that is set.
type SegmentKind uint8

// Kinds of segments. Ends are exclusive.
const (
	SegmentMissing     SegmentKind = 0 // none that we know
	SegmentRange       SegmentKind = 1 // Start to End
	SegmentHoles       SegmentKind = 2 // Start to End without the values of Array, ascending
	SegmentBitmap      SegmentKind = 3 // Start plus each set bit of Bitmap, low bits of a byte first
	SegmentSortedArray SegmentKind = 4 // the values of Array, ascending
	SegmentArray       SegmentKind = 5 // the values of Array
)

// U64Segment is a run of numbers in one of several forms.
type U64Segment struct {
	Kind       SegmentKind
	Start, End uint64
	Bitmap     []byte
	Array      EncodedU64Array
	Unknown    []byte
}

// EncodedU64Array is numbers of the same width, little-endian. A Width of 2 or 4 bytes
// means offsets from Base. A Width of 8 means the numbers themselves; Base is 0. A Width of
// 0 is an absent array.
type EncodedU64Array struct {
	Width   int
	Base    uint64
	Values  []byte
	Unknown []byte
}

// RowVersionSequence is the versions in which the rows of a fragment were created or last
// changed, in order.
//
//pb:message
type RowVersionSequence struct {
	Runs    []RowVersionRun `pb:"1"`
	Unknown []byte
}

// RowVersionRun gives one version to as many rows as Span has values; the values themselves
// have no meaning.
//
//pb:message
type RowVersionRun struct {
	Span    U64Segment `pb:"1"`
	Version uint64     `pb:"2"`
	Unknown []byte
}

// Unmarshal reads an encoded U64Segment. The result shares memory with b.
func (g *U64Segment) Unmarshal(b []byte) error {
	*g = U64Segment{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1, 2, 3:
			kind := SegmentKind(s.Num)
			s.Message(func(b []byte) error { return g.unmarshalRange(kind, b) })
		case 4, 5:
			*g = U64Segment{Kind: SegmentKind(s.Num), Unknown: g.Unknown}
			s.Message(g.Array.Unmarshal)
		default:
			g.Unknown = append(g.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// unmarshalRange reads a Range, RangeWithHoles or RangeWithBitmap.
func (g *U64Segment) unmarshalRange(kind SegmentKind, b []byte) error {
	*g = U64Segment{Kind: kind, Unknown: g.Unknown}
	s := NewScanner(b)
	for s.Next() {
		switch {
		case s.Num == 1:
			g.Start = s.Uint64()
		case s.Num == 2:
			g.End = s.Uint64()
		case s.Num == 3 && kind == SegmentHoles:
			s.Message(g.Array.Unmarshal)
		case s.Num == 3 && kind == SegmentBitmap:
			g.Bitmap = s.Bytes()
		}
	}
	return s.Err()
}

// Marshal writes the U64Segment.
func (g *U64Segment) Marshal(e *Encoder) {
	switch g.Kind {
	case SegmentRange, SegmentHoles, SegmentBitmap:
		e.Message(protowire.Number(g.Kind), func(e *Encoder) {
			e.Uint64(1, g.Start)
			e.Uint64(2, g.End)
			if g.Kind == SegmentHoles {
				e.Message(3, g.Array.Marshal)
			}
			e.Bytes(3, g.Bitmap)
		})
	case SegmentSortedArray, SegmentArray:
		e.Message(protowire.Number(g.Kind), g.Array.Marshal)
	}
	e.Unknown(g.Unknown)
}

// Unmarshal reads an encoded EncodedU64Array. The result shares memory with b.
func (a *EncodedU64Array) Unmarshal(b []byte) error {
	*a = EncodedU64Array{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num > 3 {
			a.Unknown = append(a.Unknown, s.Raw()...)
			continue
		}
		width := 1 << s.Num // fields 1, 2, 3 are arrays of 2, 4, 8 bytes
		s.Message(func(b []byte) error { return a.unmarshalWidth(width, b) })
	}
	return s.Err()
}

func (a *EncodedU64Array) unmarshalWidth(width int, b []byte) error {
	*a = EncodedU64Array{Width: width, Unknown: a.Unknown}
	s := NewScanner(b)
	for s.Next() {
		switch {
		case s.Num == 1 && width < 8:
			a.Base = s.Uint64()
		case s.Num == 2:
			a.Values = s.Bytes()
		}
	}
	return s.Err()
}

// Marshal writes the EncodedU64Array.
func (a *EncodedU64Array) Marshal(e *Encoder) {
	if a.Width > 0 {
		e.Message(protowire.Number(bits.TrailingZeros(uint(a.Width))), func(e *Encoder) {
			e.Uint64(1, a.Base)
			e.Bytes(2, a.Values)
		})
	}
	e.Unknown(a.Unknown)
}
