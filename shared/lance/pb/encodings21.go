package pb

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The encodings of pages in data files 2.1 and 2.2: a layout arranges levels and values in
// a page's buffers, and codecs compress each of them. Both are oneofs of the format and
// sealed interfaces here, for use in a type switch.
//
// Source: protos/encodings_v2_1.proto of the format.

// A Layout is a PageLayout: a *MiniBlockLayout, *ConstantLayout, *FullZipLayout or
// *BlobLayout.
type Layout interface {
	layoutNumber() protowire.Number
	marshal(*Encoder)
}

// A RepDefLayer describes a layer of a nested type (an item or a list): the values other
// than valid ones that occur in it, and thus how many definition levels it takes.
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
//
//pb:layout 1
type MiniBlockLayout struct {
	RepCompression       Codec         `pb:"1"` // nil without repetition levels
	DefCompression       Codec         `pb:"2"` // nil without definition levels
	ValueCompression     Codec         `pb:"3"`
	Dictionary           Codec         `pb:"4"` // nil unless values are indices into a dictionary
	NumDictionaryItems   uint64        `pb:"5"`
	Layers               []RepDefLayer `pb:"6"` // innermost first
	NumBuffers           uint64        `pb:"7"` // value buffers of each chunk
	RepetitionIndexDepth uint32        `pb:"8"`
	NumItems             uint64        `pb:"9"`  // stored values
	HasLargeChunk        bool          `pb:"10"` // true in 2.2, false in 2.1
}

// A ConstantLayout is a page whose valid values are all equal, or that has none.
//
//pb:layout 2
type ConstantLayout struct {
	Layers         []RepDefLayer `pb:"5"`          // innermost first
	InlineValue    []byte        `pb:"6,optional"` // nil when absent; at most 32 bytes
	RepCompression Codec         `pb:"7"`          // nil for raw u16 levels
	DefCompression Codec         `pb:"8"`          // nil for raw u16 levels
	NumRepValues   uint64        `pb:"9"`
	NumDefValues   uint64        `pb:"10"`
}

// A FullZipLayout stores large values one by one, each after its levels.
//
//pb:layout 3
type FullZipLayout struct {
	BitsRep          uint32        `pb:"1"`
	BitsDef          uint32        `pb:"2"`
	BitsPerValue     uint32        `pb:"3,oneof"` // fixed width values; otherwise 0
	BitsPerOffset    uint32        `pb:"4,oneof"` // variable width values; otherwise 0
	NumItems         uint32        `pb:"5"`
	NumVisibleItems  uint32        `pb:"6"`
	ValueCompression Codec         `pb:"7"`
	Layers           []RepDefLayer `pb:"8"` // innermost first
}

// A BlobLayout stores descriptions of values that lie elsewhere in the file.
//
//pb:layout 4
type BlobLayout struct {
	Inner  Layout        `pb:"1"` // layout of the descriptions; never a *BlobLayout
	Layers []RepDefLayer `pb:"2"` // innermost first
}

// UnmarshalLayout reads an encoded PageLayout. If several members occur, the last one
// counts; nil means that none is known. The result shares memory with b.
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

// scanInnerLayout reads the current field as the layout inside of a BlobLayout.
func scanInnerLayout(s *Scanner, l *Layout) {
	s.Message(func(b []byte) (err error) {
		*l, err = unmarshalLayout(b, false)
		return err
	})
}

func encodeLayout(e *Encoder, num protowire.Number, l Layout) {
	if l != nil {
		e.Message(num, func(e *Encoder) { e.Message(l.layoutNumber(), l.marshal) })
	}
}

func scanLayers(s *Scanner, layers *[]RepDefLayer) {
	s.Varints(func(v uint64) {
		// An enum value past 32 bits must not turn into one that we know.
		*layers = append(*layers, RepDefLayer(min(v, 1<<31)))
	})
}

// present returns a non-nil slice for an optional field that is there but empty, so that
// nil means absent.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
