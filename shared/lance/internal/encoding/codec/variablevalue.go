package codec

import (
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/fsst"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A VariableValue decodes the value form of codecs of variable width: one value by itself, whose
// length the caller knows.
//
//	Variable              its bytes
//	FSST                  its bytes as codes
//	General               its bytes compressed; an empty value stays empty
//	VariablePackedStruct  its members, see packedRow
type VariableValue interface {
	Decode(dst *values.Values, b []byte) error
}

// NewVariableValue returns the decoder of single values of a shape of variable width, or of
// packed structs with members of variable width.
func NewVariableValue(c pb.Codec, s *values.Shape) (VariableValue, error) {
	if packed, ok := c.(*pb.VariablePackedStruct); ok {
		return newPackedRow(packed, s)
	}
	if c != nil && s.Kind != values.Variable {
		return nil, lance.Corruptf("values of variable width for a type of fixed width")
	}
	switch c := c.(type) {
	case *pb.Variable:
		return plainValue{}, nil
	case *pb.FSST:
		if _, ok := c.Values.(*pb.Variable); !ok {
			return nil, unsupportedCodec("compressed text", c.Values)
		}
		table, err := fsst.ParseTable(c.SymbolTable)
		return fsstValue{table}, err
	case *pb.General:
		if _, ok := c.Values.(*pb.Variable); !ok {
			return nil, unsupportedCodec("compressed values", c.Values)
		}
		return compressedValue{c.Compression.Scheme}, compress.CheckScheme(c.Compression.Scheme)
	}
	return nil, unsupportedCodec("single values", c)
}

type plainValue struct{}

func (plainValue) Decode(dst *values.Values, b []byte) error { return dst.AppendValue(b) }

type fsstValue struct{ table *fsst.Table }

// Decode expands the codes of one text.
func (v fsstValue) Decode(dst *values.Values, b []byte) error {
	var err error
	if dst.Data, err = AppendText(v.table, dst.Data, b); err != nil {
		return err
	}
	return dst.EndValue()
}

type compressedValue struct{ scheme pb.CompressionScheme }

// Decode decompresses one value.
func (v compressedValue) Decode(dst *values.Values, b []byte) error {
	plain, err := compress.Decompress(v.scheme, b, dst.Room)
	if err != nil {
		return err
	}
	return dst.AppendValue(plain)
}

// A packedRow decodes packed structs with members of variable width. The members follow each other:
// a member of fixed width as it is, any other after its length, an integer of 1, 2, 4 or 8 bytes.
// The row {u8 7, "ab"} with a length of 32 bits is
//
//	07 02 00 00 00 61 62
type packedRow struct {
	members []packedMember
}

type packedMember struct {
	fixed    *FixedValue
	variable VariableValue
	length   int // bytes of the length
}

// newPackedRow checks the members' widths against the type.
func newPackedRow(c *pb.VariablePackedStruct, s *values.Shape) (*packedRow, error) {
	if s.Kind != values.Packed || len(s.Children) != len(c.Fields) {
		return nil, lance.Corruptf("packed struct of %d members for a type of %d", len(c.Fields), len(s.Children))
	}
	row := &packedRow{members: make([]packedMember, len(c.Fields))}
	for i, f := range c.Fields {
		m := &row.members[i]
		var err error
		switch f.BitsPerLength {
		case 0:
			m.fixed, err = NewFixedValue(f.Value, s.Children[i])
			if err == nil && uint64(m.fixed.Size())*8 != f.BitsPerValue {
				err = lance.Corruptf("packed member of %d bits, want %d", f.BitsPerValue, m.fixed.Size()*8)
			}
		case 8, 16, 32, 64:
			m.length = int(f.BitsPerLength / 8)
			m.variable, err = NewVariableValue(f.Value, s.Children[i])
		default:
			err = lance.Corruptf("packed member with a length of %d bits", f.BitsPerLength)
		}
		if err != nil {
			return nil, err
		}
	}
	return row, nil
}

// Decode appends one value to each member of dst.
func (p *packedRow) Decode(dst *values.Values, b []byte) error {
	for i, m := range p.members {
		size := 0
		if m.fixed != nil {
			size = m.fixed.Size()
		} else {
			if len(b) < m.length {
				return lance.Corruptf("packed row ends in the length of member %d", i)
			}
			n := Word(b, m.length)
			b = b[m.length:]
			size = int(min(n, math.MaxInt))
		}
		if size > len(b) {
			return lance.Corruptf("packed row ends in member %d", i)
		}
		var err error
		if m.fixed != nil {
			err = m.fixed.Decode(dst.Children[i], b, 1, size)
		} else {
			err = m.variable.Decode(dst.Children[i], b[:size])
		}
		if err != nil {
			return err
		}
		b = b[size:]
	}
	if len(b) != 0 {
		return lance.Corruptf("packed row with %d bytes too many", len(b))
	}
	dst.N++
	return nil
}
