package encoding

import (
	"math"
	"slices"

	"tiltyard/shared/lance/encoding/fsst"
	"tiltyard/shared/lance/pb"
)

// A variableValue decodes the value form of codecs of variable width: one value by
// itself, whose length is known.
//
//	Variable              its bytes
//	FSST                  its bytes as codes
//	General               its bytes compressed; an empty value stays empty
//	VariablePackedStruct  its members, see packedRow
type variableValue interface {
	decode(dst *values, b []byte) error
}

func newVariableValue(c pb.Codec, s *shape) (variableValue, error) {
	if packed, ok := c.(*pb.VariablePackedStruct); ok {
		return newPackedRow(packed, s)
	}
	if c != nil && s.kind != shapeVariable {
		return nil, corruptf("values of variable width for a type of fixed width")
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
		return compressedValue{c.Compression.Scheme}, checkScheme(c.Compression.Scheme)
	}
	return nil, unsupportedCodec("single values", c)
}

type plainValue struct{}

func (plainValue) decode(dst *values, b []byte) error { return dst.appendValue(b) }

type fsstValue struct{ table *fsst.Table }

func (v fsstValue) decode(dst *values, b []byte) error {
	var err error
	if dst.data, err = appendText(v.table, dst.data, b); err != nil {
		return err
	}
	return dst.endValue()
}

type compressedValue struct{ scheme pb.CompressionScheme }

func (v compressedValue) decode(dst *values, b []byte) error {
	plain, err := decompress(v.scheme, b, dst.room)
	if err != nil {
		return err
	}
	return dst.appendValue(plain)
}

// A packedRow decodes packed structs with members of variable width. The members follow
// each other: those of fixed width as they are, the others behind their length, an
// integer of 1 to 8 bytes.
type packedRow struct {
	members []packedMember
}

type packedMember struct {
	fixed    *fixedValue
	variable variableValue
	length   int // bytes of the length
}

func newPackedRow(c *pb.VariablePackedStruct, s *shape) (*packedRow, error) {
	if s.kind != shapePacked || len(s.children) != len(c.Fields) {
		return nil, corruptf("packed struct of %d members for a type of %d", len(c.Fields), len(s.children))
	}
	row := &packedRow{members: make([]packedMember, len(c.Fields))}
	for i, f := range c.Fields {
		m := &row.members[i]
		var err error
		switch f.BitsPerLength {
		case 0:
			m.fixed, err = newFixedValue(f.Value, s.children[i])
			if err == nil && uint64(m.fixed.size())*8 != f.BitsPerValue {
				err = corruptf("packed member of %d bits, want %d", f.BitsPerValue, m.fixed.size()*8)
			}
		case 8, 16, 32, 64:
			m.length = int(f.BitsPerLength / 8)
			m.variable, err = newVariableValue(f.Value, s.children[i])
		default:
			err = corruptf("packed member with a length of %d bits", f.BitsPerLength)
		}
		if err != nil {
			return nil, err
		}
	}
	return row, nil
}

func (p *packedRow) decode(dst *values, b []byte) error {
	for i, m := range p.members {
		size := 0
		if m.fixed != nil {
			size = m.fixed.size()
		} else {
			if len(b) < m.length {
				return corruptf("packed row ends in the length of member %d", i)
			}
			n := readPosition(b, m.length)
			b = b[m.length:]
			size = int(min(n, math.MaxInt))
		}
		if size > len(b) {
			return corruptf("packed row ends in member %d", i)
		}
		var err error
		if m.fixed != nil {
			err = m.fixed.decode(dst.children[i], b, 1, size)
		} else {
			err = m.variable.decode(dst.children[i], b[:size])
		}
		if err != nil {
			return err
		}
		b = b[size:]
	}
	if len(b) != 0 {
		return corruptf("packed row with %d bytes too many", len(b))
	}
	dst.n++
	return nil
}

// appendEmpties appends n values that stand for nulls: zeros, or nothing.
func (v *values) appendEmpties(n int) error {
	switch v.shape.kind {
	case shapeNull, shapeOpaque:
		v.n += n
	case shapeVariable:
		if err := v.room.takeItems(n, 4); err != nil {
			return err
		}
		last := v.offsets[v.n]
		v.offsets = slices.Grow(v.offsets, n)
		for range n {
			v.offsets = append(v.offsets, last)
		}
		v.n += n
	case shapeFixed:
		return v.appendZeros(n)
	case shapePacked:
		for _, child := range v.children {
			if err := child.appendEmpties(n); err != nil {
				return err
			}
		}
		v.n += n
	}
	return nil
}

func (v *values) appendZeros(n int) error {
	if v.valid != nil {
		for depth := range v.valid {
			v.valid[depth].appendOnes(n * itemsAt(v.shape, depth))
		}
	}
	return v.appendElements(n)
}
