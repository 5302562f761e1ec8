package column

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A Packer makes one value of each row of a packed struct: the bytes of its members one after the
// other, a member of variable width after its length (see packedRow). The rows are then stored like
// binary values, of fixed width if all members are numbers; no codec that looks into the values,
// such as bit packing, applies to them. A null row is zeros, or empty. A member cannot be null.
//
// Rows of variable width are packed only when the page is made, because a member is compressed as a
// column would be, and that takes all its values.
type Packer struct {
	Members []Member
	Row     *values.Shape // of the packed rows
}

// A Member is a member of packed structs, with the values that wait for packing.
type Member struct {
	name    string
	Width   uint64   // bits of the length of a variable member
	Storage *Storage // compression of texts
	Values  *values.Values
	Codec   pb.Codec // of the values, when the page is made
}

// IsVariable reports whether the member's values are of variable width.
func (m *Member) IsVariable() bool { return m.Values.Shape.Kind == values.Variable }

// NewPacker returns a packer for structs of a type. Only version 2.2 allows members that are texts
// or vectors.
func NewPacker(t *arrow.StructType, v lance.Version) (*Packer, error) {
	p := &Packer{Row: &values.Shape{Kind: values.Fixed, Items: 1}}
	for _, f := range t.Fields() {
		mt := values.StorageType(f.Type)
		s, err := values.ShapeToWrite(mt)
		if err == nil && (mt.ID() == arrow.DICTIONARY || s.Kind == values.Null || s.Bits == 1) {
			err = fmt.Errorf("%w: a member of type %s in a packed struct", lance.ErrUnsupported, mt)
		}
		m := Member{name: f.Name, Width: values.OffsetBits(mt)}
		if err == nil {
			m.Storage, err = NewStorage(repdef.Leaf{Type: mt}, v)
		}
		if err != nil {
			return nil, fmt.Errorf("member %q: %w", f.Name, err)
		}
		m.Values = values.New(s)
		p.Members = append(p.Members, m)
		p.Row.Bits += s.ValueBits()
		// After version 2.0, rows with vectors are stored like rows of variable width.
		if s.Kind == values.Variable || s.Dims != nil && v != lance.V2_0 {
			p.Row.Kind = values.Variable
		}
	}
	if p.Row.Kind == values.Variable && v != lance.V2_2 {
		return nil, fmt.Errorf("%w: packed structs with texts or vectors in version %s", lance.ErrUnsupported, v)
	}
	switch most := packedRowBytes(v); {
	case p.Row.Kind == values.Variable:
		p.Row.Bits = 0
	case p.Row.Bits > 8*most:
		return nil, fmt.Errorf("%w: packed structs of more than %d bytes in version %s", lance.ErrUnsupported, most, v)
	}
	return p, nil
}

// packedRowBytes is the largest fixed-width packed row of which two fit in a chunk.
func packedRowBytes(v lance.Version) int {
	if v == lance.V2_1 {
		return codec.ChunkBytes / 2
	}
	return 1 << 20
}

// AppendRows appends the rows in the given slots of arr. Fixed-width rows go to v; others wait in
// the members. slots and cut are as in values.AppendArray.
func (p *Packer) AppendRows(v *values.Values, arr arrow.Array, spans []values.Span, cut []uint16) error {
	rows := arr.(*array.Struct)
	for i := range p.Members {
		m := &p.Members[i]
		member := values.Storage(rows.Field(i))
		if hasNull(member, spans, cut) {
			return fmt.Errorf("%w: a null in member %q of a packed struct", lance.ErrUnsupported, m.name)
		}
		if err := m.Values.AppendArray(member, spans, nil); err != nil {
			return err
		}
		m.Values.Valid = nil // values under null rows
	}
	if p.Row.Kind == values.Fixed {
		p.appendFixed(v, p.Members[0].Values.N, cut)
		p.Reset()
	}
	return nil
}

// Reset removes all rows and keeps the memory.
func (p *Packer) Reset() {
	for i := range p.Members {
		p.Members[i].Values.Reset()
	}
}

// Memory returns the bytes of rows that wait for packing.
func (p *Packer) Memory() int {
	size := 0
	for _, m := range p.Members {
		size += m.Values.Memory()
	}
	return size
}

// appendFixed appends n rows of members of fixed width.
func (p *Packer) appendFixed(v *values.Values, n int, cut []uint16) {
	out := v.ExtendFixed(n)
	row := p.Row.Bits / 8
	at := 0
	for i := range p.Members {
		m := p.Members[i].Values
		size := m.Shape.ValueBits() / 8
		for k := range n {
			copy(out[k*row+at:], m.Fixed[k*size:(k+1)*size])
		}
		at += size
	}
	for k := range n {
		if cut != nil && cut[k] != 0 {
			clear(out[k*row : (k+1)*row])
		}
	}
}

// AppendRow appends the packed bytes of a waiting row.
func (p *Packer) AppendRow(b []byte, row int) []byte {
	for i := range p.Members {
		value := p.Members[i].Values.Bytes(row)
		if p.Members[i].IsVariable() {
			b = codec.AppendWord(b, uint64(len(value)), int(p.Members[i].Width/8))
		}
		b = append(b, value...)
	}
	return b
}

// hasNull reports whether a slot of arr that is not cut off is null, or holds a vector with a null
// item.
func hasNull(arr arrow.Array, spans []values.Span, cut []uint16) bool {
	k := 0
	for _, sp := range spans {
		for i := sp.From; i < sp.To; i, k = i+1, k+1 {
			if (cut == nil || cut[k] == 0) && isPartlyNull(arr, i) {
				return true
			}
		}
	}
	return false
}

// isPartlyNull reports whether value i is null or, for fixed-size lists, has a null item.
func isPartlyNull(arr arrow.Array, i int) bool {
	if arr.IsNull(i) {
		return true
	}
	list, ok := arr.(*array.FixedSizeList)
	if !ok {
		return false
	}
	items := values.Storage(list.ListValues())
	from, to := list.ValueOffsets(i)
	for k := from; k < to; k++ {
		if isPartlyNull(items, int(k)) {
			return true
		}
	}
	return false
}

// Codec returns the description of the packed rows.
func (p *Packer) Codec() pb.Codec {
	if p.Row.Kind == values.Fixed {
		c := &pb.PackedStruct{Values: &pb.Flat{BitsPerValue: uint64(p.Row.Bits)}}
		for _, m := range p.Members {
			c.BitsPerValue = append(c.BitsPerValue, uint64(m.Values.Shape.ValueBits()))
		}
		return c
	}
	c := &pb.VariablePackedStruct{}
	for _, m := range p.Members {
		field := pb.PackedField{Value: m.Codec}
		if m.IsVariable() {
			field.BitsPerLength = m.Width
		} else {
			field.BitsPerValue = uint64(m.Values.Shape.ValueBits())
		}
		c.Fields = append(c.Fields, field)
	}
	return c
}

// Footprint returns the memory allocated for rows in the members.
func (p *Packer) Footprint() int {
	size := 0
	for i := range p.Members {
		size += p.Members[i].Values.Footprint()
	}
	return size
}

// Trim frees that memory.
func (p *Packer) Trim() {
	for i := range p.Members {
		p.Members[i].Values = values.New(p.Members[i].Values.Shape)
	}
}
