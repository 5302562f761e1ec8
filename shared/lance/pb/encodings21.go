package pb

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The encodings of pages in data files 2.1 and 2.2: a layout says how levels and values
// are arranged in a page's buffers, codecs say how each of them is compressed. Both are
// oneofs of the format and sealed interfaces here, to be taken apart by a type switch.
//
// Source: protos/encodings_v2_1.proto of the format.

// A Layout is a PageLayout: a *MiniBlockLayout, *ConstantLayout, *FullZipLayout or
// *BlobLayout.
type Layout interface {
	layoutNumber() protowire.Number
	marshal(*Encoder)
}

// A RepDefLayer says what a layer of a nested type (an item or a list) may hold besides
// valid values, and so how many definition levels it takes.
type RepDefLayer uint32

// The kinds of layers.
const (
	AllValidItem     RepDefLayer = 1
	AllValidList     RepDefLayer = 2
	NullableItem     RepDefLayer = 3
	NullableList     RepDefLayer = 4
	EmptyableList    RepDefLayer = 5
	NullAndEmptyList RepDefLayer = 6
)

// A MiniBlockLayout arranges small values in chunks of a few kilobytes.
type MiniBlockLayout struct {
	RepCompression       Codec         // 1: nil without repetition levels
	DefCompression       Codec         // 2: nil without definition levels
	ValueCompression     Codec         // 3
	Dictionary           Codec         // 4: nil unless values are indices into a dictionary
	NumDictionaryItems   uint64        // 5
	Layers               []RepDefLayer // 6: innermost first
	NumBuffers           uint64        // 7: value buffers of each chunk
	RepetitionIndexDepth uint32        // 8
	NumItems             uint64        // 9: stored values
	HasLargeChunk        bool          // 10: true in 2.2, false in 2.1
}

// A ConstantLayout is a page whose valid values are all equal, or that has none.
type ConstantLayout struct {
	Layers         []RepDefLayer // 5: innermost first
	InlineValue    []byte        // 6: nil when absent; at most 32 bytes
	RepCompression Codec         // 7: nil for raw u16 levels
	DefCompression Codec         // 8: nil for raw u16 levels
	NumRepValues   uint64        // 9
	NumDefValues   uint64        // 10
}

// A FullZipLayout stores large values one by one, each behind its levels.
type FullZipLayout struct {
	BitsRep          uint32        // 1
	BitsDef          uint32        // 2
	BitsPerValue     uint32        // 3: fixed width values; otherwise 0
	BitsPerOffset    uint32        // 4: variable width values; otherwise 0
	NumItems         uint32        // 5
	NumVisibleItems  uint32        // 6
	ValueCompression Codec         // 7
	Layers           []RepDefLayer // 8: innermost first
}

// A BlobLayout stores descriptions of values that lie elsewhere in the file.
type BlobLayout struct {
	Inner  Layout        // 1: layout of the descriptions; never a *BlobLayout
	Layers []RepDefLayer // 2: innermost first
}

func (*MiniBlockLayout) layoutNumber() protowire.Number { return 1 }
func (*ConstantLayout) layoutNumber() protowire.Number  { return 2 }
func (*FullZipLayout) layoutNumber() protowire.Number   { return 3 }
func (*BlobLayout) layoutNumber() protowire.Number      { return 4 }

// UnmarshalLayout reads an encoded PageLayout. Of several members the last counts; nil
// means that there is none that we know. It keeps b.
func UnmarshalLayout(b []byte) (Layout, error) { return unmarshalLayout(b, true) }

func unmarshalLayout(b []byte, mayBeBlob bool) (Layout, error) {
	var layout Layout
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			m := new(MiniBlockLayout)
			s.Message(m.unmarshal)
			layout = m
		case 2:
			c := new(ConstantLayout)
			s.Message(c.unmarshal)
			layout = c
		case 3:
			z := new(FullZipLayout)
			s.Message(z.unmarshal)
			layout = z
		case 4:
			if !mayBeBlob {
				s.Fail(fmt.Errorf("%w: blob layout inside a blob layout", ErrWire))
				break
			}
			l := new(BlobLayout)
			s.Message(l.unmarshal)
			layout = l
		}
	}
	return layout, s.Err()
}

// MarshalLayout returns the encoded PageLayout that holds l.
func MarshalLayout(l Layout) []byte {
	var e Encoder
	e.Message(l.layoutNumber(), l.marshal)
	return e.B
}

func (l *MiniBlockLayout) unmarshal(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			scanCodec(s, &l.RepCompression, 0)
		case 2:
			scanCodec(s, &l.DefCompression, 0)
		case 3:
			scanCodec(s, &l.ValueCompression, 0)
		case 4:
			scanCodec(s, &l.Dictionary, 0)
		case 5:
			l.NumDictionaryItems = s.Uint64()
		case 6:
			scanLayers(s, &l.Layers)
		case 7:
			l.NumBuffers = s.Uint64()
		case 8:
			l.RepetitionIndexDepth = s.Uint32()
		case 9:
			l.NumItems = s.Uint64()
		case 10:
			l.HasLargeChunk = s.Bool()
		}
	}
	return s.Err()
}

func (l *MiniBlockLayout) marshal(e *Encoder) {
	encodeCodec(e, 1, l.RepCompression)
	encodeCodec(e, 2, l.DefCompression)
	encodeCodec(e, 3, l.ValueCompression)
	encodeCodec(e, 4, l.Dictionary)
	e.Uint64(5, l.NumDictionaryItems)
	Packed(e, 6, l.Layers)
	e.Uint64(7, l.NumBuffers)
	e.Uint64(8, uint64(l.RepetitionIndexDepth))
	e.Uint64(9, l.NumItems)
	e.Bool(10, l.HasLargeChunk)
}

func (l *ConstantLayout) unmarshal(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 5:
			scanLayers(s, &l.Layers)
		case 6:
			l.InlineValue = present(s.Bytes())
		case 7:
			scanCodec(s, &l.RepCompression, 0)
		case 8:
			scanCodec(s, &l.DefCompression, 0)
		case 9:
			l.NumRepValues = s.Uint64()
		case 10:
			l.NumDefValues = s.Uint64()
		}
	}
	return s.Err()
}

func (l *ConstantLayout) marshal(e *Encoder) {
	Packed(e, 5, l.Layers)
	if l.InlineValue != nil {
		e.AlwaysBytes(6, l.InlineValue)
	}
	encodeCodec(e, 7, l.RepCompression)
	encodeCodec(e, 8, l.DefCompression)
	e.Uint64(9, l.NumRepValues)
	e.Uint64(10, l.NumDefValues)
}

func (l *FullZipLayout) unmarshal(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			l.BitsRep = s.Uint32()
		case 2:
			l.BitsDef = s.Uint32()
		case 3:
			l.BitsPerValue, l.BitsPerOffset = s.Uint32(), 0
		case 4:
			l.BitsPerOffset, l.BitsPerValue = s.Uint32(), 0
		case 5:
			l.NumItems = s.Uint32()
		case 6:
			l.NumVisibleItems = s.Uint32()
		case 7:
			scanCodec(s, &l.ValueCompression, 0)
		case 8:
			scanLayers(s, &l.Layers)
		}
	}
	return s.Err()
}

func (l *FullZipLayout) marshal(e *Encoder) {
	e.Uint64(1, uint64(l.BitsRep))
	e.Uint64(2, uint64(l.BitsDef))
	e.Uint64(3, uint64(l.BitsPerValue))
	e.Uint64(4, uint64(l.BitsPerOffset))
	e.Uint64(5, uint64(l.NumItems))
	e.Uint64(6, uint64(l.NumVisibleItems))
	encodeCodec(e, 7, l.ValueCompression)
	Packed(e, 8, l.Layers)
}

func (l *BlobLayout) unmarshal(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Message(func(b []byte) (err error) {
				l.Inner, err = unmarshalLayout(b, false)
				return err
			})
		case 2:
			scanLayers(s, &l.Layers)
		}
	}
	return s.Err()
}

func (l *BlobLayout) marshal(e *Encoder) {
	if l.Inner != nil {
		e.Message(1, func(e *Encoder) { e.Message(l.Inner.layoutNumber(), l.Inner.marshal) })
	}
	Packed(e, 2, l.Layers)
}

func scanLayers(s *Scanner, layers *[]RepDefLayer) {
	s.Varints(func(v uint64) {
		// An enum value past 32 bits must not turn into one that we know.
		*layers = append(*layers, RepDefLayer(min(v, 1<<31)))
	})
}

// present keeps an optional bytes field that is there but empty apart from an absent one.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
