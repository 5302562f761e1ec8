package pb

import "fmt"

// The encodings of pages in data files 2.0: a tree of array encodings whose leaves name
// buffers of the page. Package version20 writes the few that it needs by hand, so only a
// reader is here.
//
// Source: protos/encodings_v2_0.proto of the format.

// An ArrayEncoding is one of the pointer types below; nil is an absent one. They nest,
// at most maxCodecDepth deep.
type ArrayEncoding interface {
	unmarshalArray(b []byte, depth int) error
}

// ArrayFlat is values of fixed width, one after the other in a buffer.
type ArrayFlat struct {
	BitsPerValue uint64
	Buffer       BufferRef
	Scheme       string // compression of the whole buffer; "" for none
}

// A BufferRef names a buffer.
//
//pb:message read
type BufferRef struct {
	Index uint32 `pb:"1"`
	Kind  uint32 `pb:"2"` // 0: a buffer of the page; no other is in use
}

// ArrayNullable is values some of which may be null.
type ArrayNullable struct {
	Validity ArrayEncoding // nil when nothing or everything is null
	Values   ArrayEncoding // nil when everything is null
}

// ArrayFixedSizeList is lists of equal length, flattened.
//
//pb:array
type ArrayFixedSizeList struct {
	Dimension uint32        `pb:"1"`
	Items     ArrayEncoding `pb:"2"`
}

// ArrayList is the ends of lists. The items are another column.
//
//pb:array
type ArrayList struct {
	Offsets              ArrayEncoding `pb:"1"`
	NullOffsetAdjustment uint64        `pb:"2"`
	NumItems             uint64        `pb:"3"`
}

// ArraySimpleStruct is nothing; the members are other columns.
type ArraySimpleStruct struct{}

// ArrayBinary is the ends of values, and their bytes.
//
//pb:array
type ArrayBinary struct {
	Indices        ArrayEncoding `pb:"1"`
	Bytes          ArrayEncoding `pb:"2"`
	NullAdjustment uint64        `pb:"3"`
}

// ArrayDictionary is indices into items.
//
//pb:array
type ArrayDictionary struct {
	Indices  ArrayEncoding `pb:"1"`
	Items    ArrayEncoding `pb:"2"`
	NumItems uint32        `pb:"3"`
}

// ArrayFSST is strings as codes of a symbol table.
//
//pb:array
type ArrayFSST struct {
	Binary      ArrayEncoding `pb:"1"`
	SymbolTable []byte        `pb:"2"`
}

// ArrayPackedStruct is structs of fixed width, row by row in a buffer.
//
//pb:array
type ArrayPackedStruct struct {
	Inner  []ArrayEncoding `pb:"1"`
	Buffer BufferRef       `pb:"2"`
}

// ArrayFixedSizeBinary is byte strings of equal length.
//
//pb:array
type ArrayFixedSizeBinary struct {
	Bytes     ArrayEncoding `pb:"1"`
	ByteWidth uint32        `pb:"2"`
}

// ArrayUnknown stands for a member that released files do not use.
type ArrayUnknown struct {
	Name string
}

// UnmarshalArrayEncoding reads an encoded ArrayEncoding. If several members occur, the last
// one counts; nil means that there is none.
func UnmarshalArrayEncoding(b []byte) (ArrayEncoding, error) { return unmarshalArray(b, 0) }

func unmarshalArray(b []byte, depth int) (ArrayEncoding, error) {
	if depth >= maxCodecDepth {
		return nil, fmt.Errorf("%w: encodings nested more than %d deep", ErrWire, maxCodecDepth)
	}
	var enc ArrayEncoding
	s := NewScanner(b)
	for s.Next() {
		enc = newArrayEncoding(int(s.Num))
		s.Message(func(b []byte) error { return enc.unmarshalArray(b, depth+1) })
	}
	return enc, s.Err()
}

// unusedArrays are members of the oneof that were never written by a release.
var unusedArrays = map[int]string{
	10: "Bitpacked", 12: "BitpackedForNonNeg", 13: "Constant", 14: "InlineBitpacking",
	15: "OutOfLineBitpacking", 16: "Variable", 17: "PackedStructFixedWidthMiniBlock",
	18: "Block", 19: "Rle", 20: "GeneralMiniBlock", 21: "ByteStreamSplit",
}

func newArrayEncoding(num int) ArrayEncoding {
	switch num {
	case 1:
		return new(ArrayFlat)
	case 2:
		return new(ArrayNullable)
	case 3:
		return new(ArrayFixedSizeList)
	case 4:
		return new(ArrayList)
	case 5:
		return new(ArraySimpleStruct)
	case 6:
		return new(ArrayBinary)
	case 7:
		return new(ArrayDictionary)
	case 8:
		return new(ArrayFSST)
	case 9:
		return new(ArrayPackedStruct)
	case 11:
		return new(ArrayFixedSizeBinary)
	}
	name, ok := unusedArrays[num]
	if !ok {
		name = fmt.Sprintf("number %d", num)
	}
	return &ArrayUnknown{Name: name}
}

// scanArray reads the current field of s as an ArrayEncoding at the given depth.
func scanArray(s *Scanner, e *ArrayEncoding, depth int) {
	s.Message(func(b []byte) (err error) {
		*e, err = unmarshalArray(b, depth)
		return err
	})
}

func (a *ArrayFlat) unmarshalArray(b []byte, _ int) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			a.BitsPerValue = s.Uint64()
		case 2:
			s.Message(a.Buffer.Unmarshal)
		case 3:
			s.Message(a.unmarshalCompression)
		}
	}
	return s.Err()
}

func (a *ArrayFlat) unmarshalCompression(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			a.Scheme = s.String()
		}
	}
	return s.Err()
}

// unmarshalArray reads Nullable: a oneof of no_nulls=1{values=1}, some_nulls=2{validity=1,
// values=2} and all_nulls=3{}.
func (a *ArrayNullable) unmarshalArray(b []byte, depth int) error {
	s := NewScanner(b)
	for s.Next() {
		values := s.Num // in no_nulls and some_nulls: number of the values' field
		if values > 3 {
			continue
		}
		*a = ArrayNullable{}
		s.Message(func(b []byte) error {
			inner := NewScanner(b)
			for inner.Next() {
				switch {
				case values < 3 && inner.Num == values:
					scanArray(inner, &a.Values, depth)
				case values == 2 && inner.Num == 1:
					scanArray(inner, &a.Validity, depth)
				}
			}
			return inner.Err()
		})
	}
	return s.Err()
}

// scanArrays reads the current field of s as one more ArrayEncoding at the given depth.
func scanArrays(s *Scanner, list *[]ArrayEncoding, depth int) {
	var e ArrayEncoding
	scanArray(s, &e, depth)
	*list = append(*list, e)
}

func (a *ArraySimpleStruct) unmarshalArray([]byte, int) error { return nil }

func (a *ArrayUnknown) unmarshalArray([]byte, int) error { return nil }
