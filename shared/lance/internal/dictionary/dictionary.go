// Package dictionary reads and writes the values of dictionaries as the first generation of
// the format stores them: one dictionary per field, in every data file and in every
// manifest file of a table. Later generations have one in each page, see package encoding.
//
// The message of a field locates its values in the file that holds the message: their
// position and their number. The values are plain:
//
//	integers          the values, little-endian, at the position
//	text and bytes    n+1 positions (i64) in the file, between which the values are; they come
//	                  right before
//
// There is no validity: texts and bytes of length zero are null. Since positions refer to
// one file, values that move to another file are written again. In an empty file, the texts
// "x" and "yz" are
//
//	0   78 79 7a                  xyz
//	3   00 00 00 00 00 00 00 00   positions 0, 1 and 3
//	11  01 00 00 00 00 00 00 00
//	19  03 00 00 00 00 00 00 00
//
// and their place is Offset 3, Length 2. Begin with [Place.Read] and [Append].
//
// Source: crate lance-file, src/versions/v1/encoding.rs.
package dictionary

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Place locates the values of a dictionary in a file: the position of the integers, or of
// the positions of texts, and the number of values.
type Place struct {
	Offset, Length int64
}

// placeField is the number of the field Field.dictionary, which holds the place: offset=1,
// length=2.
const placeField = 8

// PlaceIn finds the location of dictionary values in the unparsed fields of a Field message. found
// is false if there is none. A malformed location is [lance.ErrCorrupt].
func PlaceIn(unknown []byte) (p Place, found bool, err error) {
	s := pb.NewScanner(unknown)
	for s.Next() {
		if s.Num != placeField {
			continue
		}
		found = true
		s.Message(func(b []byte) error {
			m := pb.NewScanner(b)
			for m.Next() {
				switch m.Num {
				case 1:
					p.Offset = int64(m.Uint64())
				case 2:
					p.Length = int64(m.Uint64())
				}
			}
			return m.Err()
		})
	}
	if err := s.Err(); err != nil || p.Offset < 0 || p.Length < 0 {
		return p, found, corrupt("%d values at %d: %v", p.Length, p.Offset, err)
	}
	return p, found, nil
}

// WithoutPlace returns unknown without the place.
func WithoutPlace(unknown []byte) []byte {
	var rest []byte
	s := pb.NewScanner(unknown)
	for s.Next() {
		if s.Num != placeField {
			rest = append(rest, s.Raw()...)
		}
	}
	return rest
}

// WithPlace returns the unparsed fields with location p in place of the old one.
func WithPlace(unknown []byte, p Place) []byte {
	var place []byte
	for i, v := range []int64{p.Offset, p.Length} {
		place = protowire.AppendTag(place, protowire.Number(i+1), protowire.VarintType)
		place = protowire.AppendVarint(place, uint64(v))
	}
	b := protowire.AppendTag(WithoutPlace(unknown), placeField, protowire.BytesType)
	return protowire.AppendBytes(b, place)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: dictionary of %s", lance.ErrCorrupt, fmt.Sprintf(format, args...))
}

// TypeOf returns the dictionary type of a field, or nil if the field has another type.
func TypeOf(field *schema.Field) *arrow.DictionaryType {
	t, _ := field.Type.(*arrow.DictionaryType)
	return t
}

// Holds reports whether dictionaries can hold values of a type.
func Holds(t arrow.DataType) bool { return arrow.IsInteger(t.ID()) || arrow.IsBaseBinary(t.ID()) }

// positionLen is the length of a position.
const positionLen = 8

// Read reads the values, whose type must satisfy [Holds], from a file of the given size. It
// calls read for ranges within the file only.
func (p Place) Read(t arrow.DataType, size int64, read func(offset, length int64) ([]byte, error)) (arrow.Array, error) {
	if p.Offset > size || p.Length > size {
		return nil, corrupt("%d values at %d of %d bytes", p.Length, p.Offset, size)
	}
	if !arrow.IsBaseBinary(t.ID()) {
		length := p.Length * int64(t.(arrow.FixedWidthDataType).BitWidth()/8)
		if length > size-p.Offset {
			return nil, corrupt("%d values at %d of %d bytes", p.Length, p.Offset, size)
		}
		values, err := read(p.Offset, length)
		if err != nil {
			return nil, err
		}
		data := array.NewData(t, int(p.Length), []*memory.Buffer{nil, memory.NewBufferBytes(slices.Clone(values))}, nil, 0, 0)
		return array.MakeFromData(data), nil
	}
	length := (p.Length + 1) * positionLen
	if length > size-p.Offset {
		return nil, corrupt("%d values at %d of %d bytes", p.Length, p.Offset, size)
	}
	positions, err := read(p.Offset, length)
	if err != nil {
		return nil, err
	}
	return p.readBetween(t, positions, size, read)
}

// readBetween reads texts or bytes, given the positions between which they lie.
func (p Place) readBetween(t arrow.DataType, positions []byte, size int64, read func(offset, length int64) ([]byte, error)) (arrow.Array, error) {
	at := func(i int64) int64 { return int64(binary.LittleEndian.Uint64(positions[i*positionLen:])) }
	first, last := at(0), at(p.Length)
	large := t.ID() == arrow.LARGE_STRING || t.ID() == arrow.LARGE_BINARY
	if first < 0 || last < first || last > size {
		return nil, corrupt("values from %d to %d of %d bytes", first, last, size)
	}
	if !large && last-first > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a dictionary of %d bytes", lance.ErrUnsupported, last-first)
	}
	var offsets []byte
	// An empty value is null; the format stores no validity.
	valid, nulls := make([]byte, bitutil.BytesForBits(p.Length)), 0
	for i := range p.Length + 1 {
		if i > 0 && at(i) > at(i-1) {
			bitutil.SetBit(valid, int(i-1))
		} else if i > 0 {
			nulls++
		}
		if at(i) > last || i > 0 && at(i) < at(i-1) {
			return nil, corrupt("values of which one ends at %d, between %d and %d", at(i), first, last)
		}
		if large {
			offsets = binary.LittleEndian.AppendUint64(offsets, uint64(at(i)-first))
		} else {
			offsets = binary.LittleEndian.AppendUint32(offsets, uint32(at(i)-first))
		}
	}
	values, err := read(first, last-first)
	if err != nil {
		return nil, err
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes(slices.Clone(values))}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	return array.MakeFromData(array.NewData(t, int(p.Length), buffers, nil, nulls, 0)), nil
}

// Append appends the values of a dictionary to file and returns their place. file holds the
// bytes of a file from position from on. A type that does not satisfy [Holds] is
// [lance.ErrUnsupported]. A null is written as an empty value or as zero.
func Append(file []byte, from int64, values arrow.Array) ([]byte, Place, error) {
	here := func() int64 { return from + int64(len(file)) }
	n := values.Len()
	if !Holds(values.DataType()) {
		return nil, Place{}, fmt.Errorf("%w: dictionaries of type %s in legacy data files", lance.ErrUnsupported, values.DataType())
	}
	value := bytesOf(values)
	if arrow.IsBaseBinary(values.DataType().ID()) {
		positions := binary.LittleEndian.AppendUint64(nil, uint64(here()))
		for i := range n {
			file = append(file, value(i)...)
			positions = binary.LittleEndian.AppendUint64(positions, uint64(here()))
		}
		p := Place{here(), int64(n)}
		return append(file, positions...), p, nil
	}
	p := Place{here(), int64(n)}
	for i := range n {
		file = append(file, value(i)...)
	}
	return file, p, nil
}

// bytesOf returns a function that returns the stored bytes of a value.
func bytesOf(values arrow.Array) func(i int) []byte {
	data := values.Data()
	var stored func(i int) []byte
	zero := []byte{}
	switch a := values.(type) {
	case *array.String:
		stored = func(i int) []byte { return []byte(a.Value(i)) }
	case *array.LargeString:
		stored = func(i int) []byte { return []byte(a.Value(i)) }
	case *array.Binary:
		stored = a.Value
	case *array.LargeBinary:
		stored = a.Value
	default:
		width := data.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
		zero = make([]byte, width)
		stored = func(i int) []byte {
			at := (data.Offset() + i) * width
			return data.Buffers()[1].Bytes()[at : at+width]
		}
	}
	return func(i int) []byte {
		if values.IsNull(i) {
			return zero
		}
		return stored(i)
	}
}

// Stored returns dictionary values as readers see them after a write: empty strings and binaries
// are null, other nulls are zero.
func Stored(values arrow.Array) (arrow.Array, error) {
	file, place, err := Append(nil, 0, values)
	if err != nil {
		return nil, err
	}
	return place.Read(values.DataType(), int64(len(file)), func(offset, length int64) ([]byte, error) {
		return file[offset:][:length], nil
	})
}

// Equal reports whether two dictionaries have the same values in the same order, which is
// how native Lance compares them.
func Equal(a, b arrow.Array) bool { return a == b || array.Equal(a, b) }

// Fields returns the fields of a schema that have dictionaries, by ascending id. Files hold
// the values in this order.
func Fields(s *schema.Schema) []*schema.Field {
	var fields []*schema.Field
	for field := range s.All() {
		if TypeOf(field) != nil {
			fields = append(fields, field)
		}
	}
	slices.SortFunc(fields, func(a, b *schema.Field) int { return int(a.ID) - int(b.ID) })
	return fields
}
